/** /v1/runs: submit, look, list, history, cancel, delete. */

import { wholeOf } from '../../http/describe/params.ts'
import { actorOf } from '../../operations/caller.ts'
import { RunEvent, runEventWire } from '../../wire/event.ts'
import { InboxRunList, InboxRunReply, inboxRunWire, SubmitReply, submitWire } from '../../wire/inbox-run.ts'
import { list, named, nullable, object, whole } from '../../wire/schema.ts'
import { wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'
import { INBOX_PARAMS, inboxQuery } from './list.ts'
import { findRun, knownId, runProblem } from './run-problem.ts'
import { SubmitRequest, submit, submitParams } from './submit.ts'

const MOST_EVENTS = 10_000

export const AS_IT_IS = { description: 'As it is now.', schema: InboxRunReply }

const RunEvents = named(
  'RunEvents',
  object({
    events: list(RunEvent),
    next_after: nullable(whole('Ask for more after this many; null: these are the last.')),
  }),
)

export const RUN_ROUTES = [
  route(
    'POST /v1/runs',
    {
      tag: 'Inbox',
      summary: 'Submit a run',
      description: 'Written when this is answered. A key that is taken answers with the run that has it, and 200.',
      body: {
        schema: SubmitRequest,
        example: { type: 'billing.invoice.v1', payload: { order: 7 }, idempotency_key: 'invoice:7' },
      },
      answers: {
        '201': { description: 'It is written.', schema: SubmitReply, headers: ['Location'] },
        '200': { description: 'The key was taken.', schema: SubmitReply },
      },
      errors: ['QUEUE_FULL'],
    },
    async ({ body, caller, reply }, { engine }) => {
      const by = { tenant: caller.tenant, actor: actorOf(caller) }
      const made = await submit(engine, by, submitParams(body), (headers) => reply.headers(headers))
      reply.code(made.created ? 201 : 200)
      if (made.created) reply.header('location', `/v1/runs/${made.id}`)
      return submitWire(made)
    },
  ),

  route(
    'GET /v1/runs',
    {
      tag: 'Inbox',
      summary: 'List runs of the inbox',
      description:
        'Those submitted here, by a client of the table or by plain SQL. Jobs and steps are listed elsewhere.',
      query: INBOX_PARAMS,
      answers: { '200': { description: 'Newest first.', schema: InboxRunList } },
      errors: ['invalid_request'],
    },
    async ({ query, caller: { tenant } }, { engine }) => {
      const page = await engine.queries.listInbox(inboxQuery(query, tenant))
      return { runs: wireEach(engine.faults, page.runs, inboxRunWire), next_before: page.next }
    },
  ),

  route(
    'GET /v1/runs/:id',
    {
      tag: 'Inbox',
      summary: 'Look at a run',
      description: 'Any run: of the inbox, a job, a step of a workflow.',
      answers: { '200': AS_IT_IS },
      errors: ['not_found'],
    },
    async ({ params, caller }, { engine }) => ({ run: inboxRunWire(await findRun(engine, params.id, caller)) }),
  ),

  route(
    'GET /v1/runs/:id/events',
    {
      tag: 'Inbox',
      summary: 'The history of a run',
      query: {
        after: wholeOf({ least: 0, most: 2 ** 31 - 1, fallback: 0 }, 'How many to pass over.'),
        limit: wholeOf({ least: 1, most: MOST_EVENTS, fallback: MOST_EVENTS }, 'At most so many.'),
      },
      answers: { '200': { description: 'Oldest first. Data beyond 1 MiB in all is left out.', schema: RunEvents } },
      errors: ['not_found'],
    },
    async ({ params, query: { after, limit }, caller }, { engine }) => {
      const { id: runId } = await findRun(engine, params.id, caller)
      const events = await engine.queries.runHistoryPage({ runId, after, limit: limit + 1 })
      return {
        events: events.slice(0, limit).map(runEventWire),
        next_after: events.length > limit ? after + limit : null,
      }
    },
  ),

  route(
    'POST /v1/runs/:id/cancel',
    {
      tag: 'Inbox',
      summary: 'Cancel a run',
      description: 'At once, also while a worker holds it: its next heartbeat or report is answered with 409.',
      nothing: 'a cancel',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, caller }, { engine }) => {
      const id = await knownId(engine, params.id, caller)
      const cancelled = await engine
        .cancelRun({ id, actor: actorOf(caller) })
        .catch((error: unknown) => Promise.reject(runProblem(error, id, 'change')))
      return { run: inboxRunWire(cancelled) }
    },
  ),

  route(
    'DELETE /v1/runs/:id',
    {
      tag: 'Inbox',
      summary: 'Delete a run',
      description:
        'It stays in the table, marked: nobody takes it any more, lists leave it out, its key stays taken. A step of a ' +
        'workflow is cancelled. What a worker holds is cancelled first, then deleted.',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, caller }, { engine }) => {
      const id = await knownId(engine, params.id, caller)
      const deleted = await engine
        .deleteRun({ id, actor: actorOf(caller) })
        .catch((error: unknown) => Promise.reject(runProblem(error, id, 'change')))
      return { run: inboxRunWire(deleted) }
    },
  ),
]
