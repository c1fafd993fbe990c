/** /v1/runs: submit, look, list, history, cancel, delete. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { bodyObject } from '../../http/body.ts'
import { actorOf, type Caller } from '../../http/caller.ts'
import { onlyKnown, type Query, wholeParam } from '../../http/query.ts'
import { runEventWire } from '../../wire/event.ts'
import { inboxRunWire, submitWire } from '../../wire/inbox-run.ts'
import { wireEach } from '../../wire/value.ts'
import { readBody } from './fields.ts'
import { RUN_PARAMS, readInboxQuery } from './list.ts'
import { findRun, knownId, runProblem } from './run-problem.ts'
import { readSubmit, type Submitter, submit } from './submit.ts'

const MOST_EVENTS = 10_000

type ById = { Params: { readonly id: string } }

export function runRoutes(app: FastifyInstance, engine: EngineApi): void {
  app.post('/v1/runs', async (request, reply) => {
    const body = bodyObject(request, { empty: 'refused' })
    const made = await submit(engine, byOf(request.caller), readSubmit(body), (headers) => reply.headers(headers))
    reply.code(made.created ? 201 : 200)
    if (made.created) reply.header('location', `/v1/runs/${made.id}`)
    return submitWire(made)
  })

  app.get('/v1/runs', async (request) => {
    const query = request.query as Query
    onlyKnown(query, RUN_PARAMS)
    const asked = readInboxQuery(query, request.caller.tenant)
    const page = await engine.queries.listInbox(asked)
    return { runs: wireEach(engine.faults, page.runs, inboxRunWire), next_before: page.next }
  })

  app.get<ById>('/v1/runs/:id', async (request) => {
    onlyKnown(request.query as Query, [])
    return { run: inboxRunWire(await findRun(engine, request.params.id, request.caller)) }
  })

  app.get<ById>('/v1/runs/:id/events', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit'])
    const after = wholeParam(query, 'after', { least: 0, most: 2 ** 31 - 1, fallback: 0 })
    const limit = wholeParam(query, 'limit', { least: 1, most: MOST_EVENTS, fallback: MOST_EVENTS })
    const { id: runId } = await findRun(engine, request.params.id, request.caller)
    const events = await engine.queries.runHistoryPage({ runId, after, limit: limit + 1 })
    return {
      events: events.slice(0, limit).map(runEventWire),
      next_after: events.length > limit ? after + limit : null,
    }
  })

  app.post<ById>('/v1/runs/:id/cancel', async (request) => {
    readBody(bodyObject(request, { empty: 'allowed' }), [], 'a cancel', () => null)
    const id = await knownId(engine, request.params.id, request.caller)
    const cancelled = await engine
      .cancelRun({ id, actor: actorOf(request.caller) })
      .catch((error: unknown) => Promise.reject(runProblem(error, id, 'change')))
    return { run: inboxRunWire(cancelled) }
  })

  app.delete<ById>('/v1/runs/:id', async (request) => {
    const id = await knownId(engine, request.params.id, request.caller)
    const deleted = await engine
      .deleteRun({ id, actor: actorOf(request.caller) })
      .catch((error: unknown) => Promise.reject(runProblem(error, id, 'change')))
    return { run: inboxRunWire(deleted) }
  })
}

function byOf(caller: Caller): Submitter {
  return { tenant: caller.tenant, actor: actorOf(caller) }
}
