/** /ojs/v1/jobs: enqueue, one and many; look; cancel; activate. */
import type { FastifyInstance } from 'fastify'
import { bodyObject } from '../../../http/body.ts'
import { RequestError } from '../../../http/request-error.ts'
import { actorOf } from '../../../operations/caller.ts'
import { kindOf } from '../../source/reader.ts'
import { stateBeforeCancel } from '../project/state.ts'
import { timeText } from '../project/time.ts'
import type { OjsContext } from './context.ts'
import { enqueueJobs } from './enqueue.ts'
import { jobProblem } from './jobs/job-problem.ts'
import { findRun, jobReplies } from './jobs/job-reply.ts'

type ById = { Params: { readonly id: string } }

/** One transaction writes them all. */
const MOST_IN_BATCH = 1000

export function jobRoutes(app: FastifyInstance, { engine, operations }: OjsContext): void {
  app.post('/ojs/v1/jobs', async (request, reply) => {
    const body = bodyObject(request, { empty: 'refused' })
    const [made] = await enqueueJobs(
      { engine, perform: operations.for(request.caller) },
      request.caller,
      [body],
      () => [],
      (headers) => reply.headers(headers),
    )
    if (made === undefined) throw new Error('one job in, none out')
    const { job, created } = made
    reply.code(created ? 201 : 200)
    if (created) reply.header('location', `/ojs/v1/jobs/${job['id']}`)
    return { job, id: job['id'], state: job['state'], ...(created ? {} : { deduplicated: true }) }
  })

  app.post('/ojs/v1/jobs/batch', async (request, reply) => {
    const { jobs } = bodyObject(request, { empty: 'refused' })
    if (!Array.isArray(jobs) || jobs.length === 0 || jobs.length > MOST_IN_BATCH) {
      const found = Array.isArray(jobs) ? `${jobs.length} of them` : kindOf(jobs)
      throw new RequestError('invalid_request', `jobs is a list of 1 to ${MOST_IN_BATCH} jobs, this is ${found}`, {
        details: { field: 'jobs', max: MOST_IN_BATCH },
        hint: '{ "jobs": [ { "type": "email.send", "args": [] } ] }',
      })
    }
    const made = await enqueueJobs(
      { engine, perform: operations.for(request.caller) },
      request.caller,
      jobs,
      (i) => ['jobs', i],
      (headers) => reply.headers(headers),
    )
    reply.code(201)
    return { jobs: made.map((one) => one.job), count: made.length }
  })

  app.get<ById>('/ojs/v1/jobs/:id', async (request) => {
    const [run, now] = await Promise.all([findRun(engine, request.params.id, request.caller), engine.queries.now()])
    const [job] = await jobReplies(engine, [run], { now, results: true, saved: true })
    return { job }
  })

  app.delete<ById>('/ojs/v1/jobs/:id', async (request) => {
    const { id } = request.params
    if (request.caller.tenant !== null) await findRun(engine, id, request.caller)
    const run = await engine
      .cancelRun({ id, actor: actorOf(request.caller) })
      .catch((error: unknown) => Promise.reject(jobProblem(error, id, 'not ended')))
    const [job] = await jobReplies(engine, [run], { now: run.finishedAt ?? run.runAt, results: false })
    return { job: { ...job, previous_state: stateBeforeCancel(run) } }
  })

  app.post<ById>('/ojs/v1/jobs/:id/activate', async (request) => {
    const { id } = request.params
    if (request.caller.tenant !== null) await findRun(engine, id, request.caller)
    const run = await engine
      .activate({ id, actor: actorOf(request.caller) })
      .catch((error: unknown) => Promise.reject(jobProblem(error, id, 'pending')))
    const [job] = await jobReplies(engine, [run], { now: run.runAt, results: false })
    return { job: { ...job, activated_at: timeText(run.runAt), previous_state: 'pending' } }
  })
}
