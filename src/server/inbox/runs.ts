/** /v1/runs: submit, get, list, history, cancel, delete. */

import { pressureHeaders } from '../../http/queue-pressure.ts'
import { debounceRun } from '../../operations/debounced/debounced.ts'
import { cancelRun, deleteRun, redriveRun, retryRunNow } from '../../operations/runs/change.ts'
import { submitRun } from '../../operations/runs/enqueue.ts'
import { explainRun, listInboxRuns, runHistory, showRun } from '../../operations/runs/look.ts'
import { countFoundRuns, findRuns } from '../../operations/search/search.ts'
import { RunEvent, runEventWire } from '../../wire/event.ts'
import { InboxRunList, InboxRunReply, inboxRunWire, SubmitReply, submitWire } from '../../wire/inbox-run.ts'
import { DebouncedReply, debouncedWire } from '../../wire/operate/debounced.ts'
import { INBOX_PARAMS, inboxAsked, runsFound } from '../../wire/requests/inbox-list.ts'
import { wholeOf } from '../../wire/requests/params.ts'
import { Counts, countsWire, QUERY } from '../../wire/requests/search.ts'
import { SubmitRequest, submitAsked, submitDebounce } from '../../wire/requests/submit.ts'
import { list, named, nullable, object, whole } from '../../wire/schema.ts'
import { wireEach } from '../../wire/value.ts'
import { WhyRunReply, whyRunWire } from '../../wire/why.ts'
import { route } from '../context.ts'
import { aboutRun } from './run-problem.ts'

const MOST_EVENTS = 10_000

export const AS_IT_IS = { description: 'Its current state.', schema: InboxRunReply }

const RunEvents = named(
  'RunEvents',
  object({
    events: list(RunEvent),
    next_after: nullable(whole('The offset of the next page; null: this is the last.')),
  }),
)

export const RUN_ROUTES = [
  route(
    'POST /v1/runs',
    {
      tag: 'Inbox',
      summary: 'Submit a run',
      does: submitRun,
      description: 'Stored before the reply. With a used key the reply is 200 with the run that has it.',
      body: {
        schema: SubmitRequest,
        example: { type: 'billing.invoice.v1', payload: { order: 7 }, idempotency_key: 'invoice:7' },
      },
      answers: {
        '201': { description: 'It is stored.', schema: SubmitReply, headers: ['Location'] },
        '200': { description: 'The key was already used.', schema: SubmitReply },
        '202': { description: 'With `debounce`: it is enqueued when it is due.', schema: DebouncedReply },
      },
      errors: ['QUEUE_FULL'],
    },
    async ({ body, perform, reply }) => {
      const debounce = submitDebounce(body)
      if (debounce !== null) {
        const run = { ...submitAsked(body), inbox: true }
        const { row, pressure } = await perform(debounceRun, { run, debounce })
        reply.code(202).headers(pressureHeaders(pressure))
        return { debounced: debouncedWire(row) }
      }
      const { made, pressure } = await perform(submitRun, submitAsked(body))
      reply.code(made.created ? 201 : 200).headers(pressureHeaders(pressure))
      if (made.created) reply.header('location', `/v1/runs/${made.id}`)
      return submitWire(made)
    },
  ),

  route(
    'GET /v1/runs',
    {
      tag: 'Inbox',
      summary: 'List runs of the inbox',
      does: listInboxRuns,
      description:
        'Those submitted here, by a client of the table or by plain SQL. Jobs and steps have their own lists. With `q`, which may be ' +
        'empty: runs of any origin that the query finds; a page checks at most 10,000 of them, so it may have fewer entries than `limit` ' +
        'although more follow.',
      query: INBOX_PARAMS,
      answers: { '200': { description: 'Newest first.', schema: InboxRunList } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }, { faults }) => {
      const asked = runsFound(query)
      if (asked !== null) {
        const { rows, next, complete } = await perform(findRuns, asked)
        return { runs: wireEach(faults, rows, inboxRunWire), next_before: next, complete }
      }
      const page = await perform(listInboxRuns, inboxAsked(query))
      return { runs: wireEach(faults, page.runs, inboxRunWire), next_before: page.next }
    },
  ),

  route(
    'GET /v1/runs/counts',
    {
      tag: 'Inbox',
      summary: 'Count the runs that a query finds, by status',
      does: countFoundRuns,
      description: 'At most 10,000 runs are checked, the newest; `more` then says that there are others.',
      query: { q: QUERY },
      answers: { '200': { description: 'Statuses without runs are left out.', schema: Counts } },
      errors: ['invalid_request'],
    },
    async ({ query: { q }, perform }) => countsWire(await perform(countFoundRuns, { q: q ?? '' })),
  ),

  route(
    'GET /v1/runs/:id',
    {
      tag: 'Inbox',
      summary: 'Get a run',
      does: showRun,
      description: 'Any run: of the inbox, a job, a step of a workflow.',
      answers: { '200': AS_IT_IS },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ run: inboxRunWire(await aboutRun('change', perform(showRun, params))) }),
  ),

  route(
    'GET /v1/runs/:id/events',
    {
      tag: 'Inbox',
      summary: 'The history of a run',
      does: runHistory,
      query: {
        after: wholeOf({ least: 0, most: 2 ** 31 - 1, fallback: 0 }, 'The offset.'),
        limit: wholeOf({ least: 1, most: MOST_EVENTS, fallback: MOST_EVENTS }, 'The maximal number.'),
      },
      answers: { '200': { description: 'Oldest first. Data beyond a total of 1 MiB is omitted.', schema: RunEvents } },
      errors: ['not_found'],
    },
    async ({ params: { id }, query, perform }) => {
      const { rows, more } = await aboutRun('change', perform(runHistory, { id, ...query }))
      return { events: rows.map(runEventWire), next_after: more ? query.after + query.limit : null }
    },
  ),

  route(
    'GET /v1/runs/:id/why',
    {
      tag: 'Inbox',
      summary: 'What a run waits for',
      does: explainRun,
      description: 'Any run. Every reason has a `kind`, its facts and a sentence.',
      answers: { '200': { description: 'The reasons, as of `now`.', schema: WhyRunReply } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => whyRunWire(await aboutRun('change', perform(explainRun, params))),
  ),

  route(
    'POST /v1/runs/:id/cancel',
    {
      tag: 'Inbox',
      summary: 'Cancel a run',
      does: cancelRun,
      description: 'At once, even while a worker holds it: its next heartbeat or report gets 409.',
      nothing: 'a cancel',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }) => ({ run: inboxRunWire(await aboutRun('change', perform(cancelRun, params))) }),
  ),

  route(
    'POST /v1/runs/:id/retry-now',
    {
      tag: 'Inbox',
      summary: 'Cut the wait of a run short',
      does: retryRunNow,
      description:
        'A run that is due later, or waits between two attempts, is due at once. Its attempts stay as they are.',
      nothing: 'a retry now',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }) => ({ run: inboxRunWire(await aboutRun('change', perform(retryRunNow, params))) }),
  ),

  route(
    'POST /v1/runs/:id/redrive',
    {
      tag: 'Inbox',
      summary: 'Run an ended run again',
      does: redriveRun,
      description:
        'A run that failed for good or was cancelled is pending again, at its first attempt: also one of a workflow that ' +
        'continues, as long as nothing has followed from its failure. Of one in an ended workflow a new run is made.',
      nothing: 'a redrive',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }) => ({ run: inboxRunWire(await aboutRun('change', perform(redriveRun, params))) }),
  ),

  route(
    'DELETE /v1/runs/:id',
    {
      tag: 'Inbox',
      summary: 'Delete a run',
      does: deleteRun,
      description:
        'It stays in the table, marked: it can no longer be taken, lists omit it, its key stays used. A step of a ' +
        'workflow is cancelled. A held run must be cancelled before it can be deleted.',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }) => ({ run: inboxRunWire(await aboutRun('change', perform(deleteRun, params))) }),
  ),
]
