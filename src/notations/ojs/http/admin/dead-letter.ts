/** /ojs/v1/dead-letter: jobs that failed for good and were kept for a person to decide over. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../../../engine/api.ts'
import { RequestError } from '../../../../http/request-error.ts'
import type { RunRow } from '../../../../model/rows.ts'
import { actorOf, type Caller } from '../../../../operations/caller.ts'
import { onlyKnown, type Query, textParam } from '../../../../wire/requests/query.ts'
import { timeText } from '../../project/time.ts'
import type { OjsContext } from '../context.ts'
import { jobPage } from '../jobs/job-page.ts'
import { jobProblem } from '../jobs/job-problem.ts'
import { jobReplies, maySee } from '../jobs/job-reply.ts'
import { PAGE_PARAMS } from '../paging.ts'

type ById = { Params: { readonly id: string } }

export function deadLetterRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  app.get('/ojs/v1/dead-letter', async (request) => {
    const params = request.query as Query
    onlyKnown(params, ['queue', 'type', ...PAGE_PARAMS])
    const filter = {
      status: null,
      queue: textParam(params, 'queue'),
      type: textParam(params, 'type'),
      deadLetter: true,
      tenant: request.caller.tenant,
    }
    const { jobs, pagination } = await jobPage(engine, params, filter)
    return { jobs, pagination }
  })

  app.post<ById>('/ojs/v1/dead-letter/:id/retry', async (request) => {
    const { id } = await find(engine, request.params.id, request.caller)
    const run = await engine
      .redrive({ runId: id, actor: actorOf(request.caller) })
      .catch((error: unknown) => Promise.reject(jobProblem(error, id, 'discarded')))
    const [job] = await jobReplies(engine, [run], { now: run.runAt, results: false })
    return { job: { ...job, re_enqueued_at: timeText(run.runAt) } }
  })

  app.delete<ById>('/ojs/v1/dead-letter/:id', async (request) => {
    const { id } = await find(engine, request.params.id, request.caller)
    await engine
      .dismiss({ id, actor: actorOf(request.caller) })
      .catch((error: unknown) => Promise.reject(jobProblem(error, id, 'discarded')))
    return { deleted: true, job_id: id }
  })
}

async function find(engine: EngineApi, id: string, caller: Caller): Promise<RunRow> {
  const run = await engine.queries.run(id)
  if (run?.deadLetter === true && maySee(caller, run)) return run
  throw new RequestError('not_found', `there is no dead letter ${id}`, {
    details: { resource_type: 'dead_letter_job', resource_id: id },
    hint: 'Only jobs whose retry policy says on_exhaustion "dead_letter" are kept here; GET /ojs/v1/dead-letter lists them.',
  })
}
