/** /ojs/v1/jobs: enqueue, one and many; look; cancel; activate. */
import { bodyObject } from '../../../http/body.ts'
import { RequestError } from '../../../http/request-error.ts'
import { kindOf } from '../../../kernel/reading/part.ts'
import { activateRun, cancelRun } from '../../../operations/runs/change.ts'
import { enqueueRuns } from '../../../operations/runs/enqueue.ts'
import { showRun } from '../../../operations/runs/look.ts'
import { stateBeforeCancel } from '../project/state.ts'
import { timeText } from '../project/time.ts'
import { route } from './context.ts'
import { type EnqueuedJob, enqueueJobs } from './enqueue.ts'
import { ofJob } from './jobs/job-problem.ts'
import { jobReplies } from './jobs/job-reply.ts'
import { JobActivated, JobBatchReply, JobCancelled, JobEnqueued, JobReply, type JobWire } from './wire/job.ts'
import { JobBatch, JobRequest } from './wire/job-request.ts'

/** One transaction writes them all. */
const MOST_IN_BATCH = 1000

const EXAMPLE = {
  type: 'email.send',
  args: ['anna@example.org', 'welcome'],
  options: { queue: 'email', retry: { max_attempts: 5 } },
}

export const JOB_ROUTES = [
  route(
    'POST /ojs/v1/jobs',
    {
      tag: 'Jobs',
      summary: 'Enqueue a job',
      does: enqueueRuns,
      description: 'When the response is 201, the job is stored and will not be lost.',
      body: { schema: JobRequest, readByRoute: true, example: EXAMPLE },
      answers: {
        '201': { description: 'It is enqueued.', schema: JobEnqueued, headers: ['Location'] },
        '200': { description: 'An equal job exists, and the policy is `ignore`.', schema: JobEnqueued },
      },
      errors: ['duplicate', 'validation_error'],
    },
    async (asked, { reading }) => {
      const { request, reply } = asked
      const body = bodyObject(request, { empty: 'refused' })
      const [made] = await enqueueJobs(asked, reading, [body], () => [])
      const { job, created } = made as EnqueuedJob
      reply.code(created ? 201 : 200)
      if (created) reply.header('location', `/ojs/v1/jobs/${job.id}`)
      return { job, id: job.id, state: job.state, ...(created ? {} : { deduplicated: true }) }
    },
  ),

  route(
    'POST /ojs/v1/jobs/batch',
    {
      tag: 'Jobs',
      summary: 'Enqueue many jobs, all or none',
      does: enqueueRuns,
      body: { schema: JobBatch, readByRoute: true, example: { jobs: [EXAMPLE] } },
      answers: { '201': { description: 'All are enqueued.', schema: JobBatchReply } },
      errors: ['duplicate', 'validation_error'],
    },
    async (asked, { reading }) => {
      const bodies = jobsIn(bodyObject(asked.request, { empty: 'refused' })['jobs'])
      const made = await enqueueJobs(asked, reading, bodies, (i) => ['jobs', i])
      asked.reply.code(201)
      return { jobs: made.map((one) => one.job), count: made.length }
    },
  ),

  route(
    'GET /ojs/v1/jobs/:id',
    {
      tag: 'Jobs',
      summary: 'Get a job',
      does: showRun,
      otherQuery: 'ignored',
      answers: { '200': { description: 'The current state of the job.', schema: JobReply } },
      errors: ['not_found'],
    },
    async ({ params, perform }, { reading }) => {
      const [run, now] = await Promise.all([ofJob(params.id, '', perform(showRun, params)), reading.queries.now()])
      const [job] = await jobReplies(reading, [run], { now, results: true, saved: true })
      return { job: job as JobWire }
    },
  ),

  route(
    'DELETE /ojs/v1/jobs/:id',
    {
      tag: 'Jobs',
      summary: 'Cancel a job',
      does: cancelRun,
      description: 'An active job is cancelled too: later reports of its worker are refused.',
      answers: { '200': { description: 'It is cancelled.', schema: JobCancelled } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }, { reading }) => {
      const run = await ofJob(params.id, 'not ended', perform(cancelRun, params))
      const [job] = await jobReplies(reading, [run], { now: run.finishedAt ?? run.runAt, results: false })
      return { job: { ...(job as JobWire), previous_state: stateBeforeCancel(run) } }
    },
  ),

  route(
    'POST /ojs/v1/jobs/:id/activate',
    {
      tag: 'Jobs',
      summary: 'Make a pending job available',
      does: activateRun,
      answers: { '200': { description: 'It is available.', schema: JobActivated } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }, { reading }) => {
      const run = await ofJob(params.id, 'pending', perform(activateRun, params))
      const [job] = await jobReplies(reading, [run], { now: run.runAt, results: false })
      return { job: { ...(job as JobWire), activated_at: timeText(run.runAt), previous_state: 'pending' as const } }
    },
  ),
]

function jobsIn(jobs: unknown): readonly unknown[] {
  if (Array.isArray(jobs) && jobs.length > 0 && jobs.length <= MOST_IN_BATCH) return jobs
  const found = Array.isArray(jobs) ? `${jobs.length} of them` : kindOf(jobs)
  throw new RequestError('invalid_request', `jobs must be a list of 1 to ${MOST_IN_BATCH} jobs, not ${found}`, {
    details: { field: 'jobs', max: MOST_IN_BATCH },
    hint: '{ "jobs": [ { "type": "email.send", "args": [] } ] }',
  })
}
