/**
 * Progress of active jobs, and what a job came to. Each report that counts is recorded as the event job.progress. A job
 * that completes has come to 1. POST /workers/progress is the same in percent.
 */
import { RequestError } from '../../../../http/request-error.ts'
import { showRun } from '../../../../operations/runs/look.ts'
import { reportProgress, showProgress } from '../../../../operations/runs/progress.ts'
import { anything, named, object, optional, text, time, type Value, word } from '../../../../wire/schema.ts'
import { JOB_STATES } from '../../project/state.ts'
import { type OjsAsked, type OjsContext, route } from '../context.ts'
import { ofJob } from '../jobs/job-problem.ts'
import { jobReplies } from '../jobs/job-reply.ts'
import { JobError, type JobWire } from '../wire/job.ts'
import { PercentRequest, Progress, ProgressRequest, progressText, progressWire } from '../wire/progress.ts'

const AS_KEPT = { '200': { description: 'As it is stored.', schema: Progress } }

const JobResult = named(
  'JobResult',
  object({
    job_id: text(),
    state: word(JOB_STATES),
    result: optional(anything('Its result.')),
    error: optional(JobError),
    completed_at: optional(time()),
  }),
)

export const PROGRESS_ROUTES = [
  route(
    'PUT /ojs/v1/jobs/:id/progress',
    {
      tag: 'Checkpoints',
      summary: 'Report progress',
      description:
        'With `progress`, `data` or both. Renews the lease of the job. A report about a job that is not active, or that ' +
        'is lower than the one before, changes nothing: `accepted` is false.',
      does: reportProgress,
      body: { schema: ProgressRequest, example: { progress: 0.5, message: 'half' } },
      answers: AS_KEPT,
      errors: ['not_found', 'payload_too_large'],
    },
    async (asked, context) =>
      report(asked, context, { id: asked.params.id, body: asked.body, fraction: fractionOf(asked.body.progress, 1) }),
  ),

  route(
    'POST /ojs/v1/workers/progress',
    {
      tag: 'Workers',
      summary: 'Report progress in percent',
      does: reportProgress,
      body: { schema: PercentRequest },
      answers: AS_KEPT,
      errors: ['not_found', 'payload_too_large'],
    },
    async (asked, context) => {
      const { body } = asked
      const fraction = fractionOf(body.percentage, 100) ?? fractionOf(body.progress, 1)
      return report(asked, context, { id: body.job_id, body, fraction })
    },
  ),

  route(
    'GET /ojs/v1/jobs/:id/progress',
    {
      tag: 'Checkpoints',
      summary: 'Read the progress of a job',
      does: showProgress,
      otherQuery: 'ignored',
      answers: { '200': { description: 'The last report; `reported` is false if there was none.', schema: Progress } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => progressWire(await ofJob(params.id, '', perform(showProgress, params))),
  ),

  route(
    'GET /ojs/v1/jobs/:id/result',
    {
      tag: 'Jobs',
      summary: 'Read the result of a job',
      does: showRun,
      otherQuery: 'ignored',
      answers: { '200': { description: 'Its result or error, if it has ended.', schema: JobResult } },
      errors: ['not_found'],
    },
    async ({ params, perform }, { reading }) => {
      const run = await ofJob(params.id, '', perform(showRun, params))
      const [job] = await jobReplies(reading, [run], { now: await reading.queries.now(), results: false })
      const { state, result, error, completed_at } = job as JobWire
      return {
        job_id: run.id,
        state,
        ...(result === undefined ? {} : { result }),
        ...(error === undefined ? {} : { error }),
        ...(completed_at === undefined ? {} : { completed_at }),
      }
    },
  ),
]

/** Out of range is set to the nearest end: handlers that count a little too far are not refused for it. */
function fractionOf(value: number | null | undefined, whole: number): number | null {
  return value == null ? null : Math.min(Math.max(value / whole, 0), 1)
}

interface Report {
  readonly id: string
  readonly body: Value<typeof ProgressRequest>
  readonly fraction: number | null
}

async function report(
  { perform, request }: Pick<OjsAsked, 'perform' | 'request'>,
  { voices }: OjsContext,
  { id, body, fraction }: Report,
): Promise<Value<typeof Progress>> {
  const { message = null, data = null, worker_id: worker = null } = body
  if (fraction === null && data === null) {
    throw new RequestError('invalid_request', 'a report has progress, data, or both', {
      details: { field: 'progress' },
      hint: '{ "progress": 0.5, "data": { "rows": 14000 } }',
    })
  }
  const compose = (before: Parameters<typeof progressText>[0]) => progressText(before, { fraction, message, data })
  const asked = { id, worker, speaker: voices.speakerOf(request), compose }
  const seen = await ofJob(id, 'active', perform(reportProgress, asked))
  return { ...progressWire(seen), accepted: seen.accepted }
}
