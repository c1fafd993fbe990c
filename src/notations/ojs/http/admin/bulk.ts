/** /ojs/v1/admin/jobs/bulk: retry and cancel many jobs, and empty a queue. Each must be confirmed. */
import type { FastifyReply } from 'fastify'
import { notFound, RequestError } from '../../../../http/request-error.ts'
import { type BulkChange, cancelRuns, redriveRuns, showBulkChange } from '../../../../operations/runs/bulk.ts'
import { flag, list, named, object, optional, text, time, type Value, whole, word } from '../../../../wire/schema.ts'
import { JOB_STATES, type JobState } from '../../project/state.ts'
import { timeText } from '../../project/time.ts'
import { route } from '../context.ts'
import { type BulkAsked, bulkFields, bulkFilter, WAITING } from '../jobs/job-query.ts'
import { queueName } from './queue-name.ts'

const LOOK_FIRST = 'Look first with GET /ojs/v1/admin/jobs and the same filter, then send "confirm": true.'

const BULK = {
  operation_id: text(),
  action: word(['retry', 'cancel', 'purge']),
  status: word(['running', 'completed', 'stopped']),
  matched: whole(),
  succeeded: whole(),
  failed: whole(),
  errors: list(object({ job_id: text(), error: text() }), 'The first few.'),
  started_at: time(),
  ended_at: optional(time()),
}

export const BulkOperation = named('BulkOperation', object(BULK))

export const Purged = named(
  'PurgeOperation',
  object({ ...BULK, purged_count: whole('So far.'), states: optional(list(word(JOB_STATES))) }),
)

/** What changes many jobs must be meant. */
export function bulkRequest(allowed: readonly JobState[]) {
  const confirm = flag({ description: 'Must be true: this changes many jobs.', hint: LOOK_FIRST })
  return object({ confirm, ...bulkFields(allowed) })
}

export function answersOf<S extends typeof BulkOperation | typeof Purged>(schema: S) {
  return {
    '200': { description: 'Done.', schema },
    '202': { description: 'It continues; Location has its address.', schema, headers: ['Location'] },
  }
}

const RETRIED: readonly JobState[] = ['discarded', 'cancelled']
const CANCELLED: readonly JobState[] = [...WAITING, 'active']

export const BULK_ROUTES = [
  route(
    'POST /ojs/v1/admin/jobs/bulk/retry',
    {
      tag: 'Administration',
      summary: 'Retry many jobs',
      description: 'Discarded ones, unless the filter names cancelled ones. Each is decided separately.',
      does: redriveRuns,
      body: { schema: bulkRequest(RETRIED), optional: true },
      answers: answersOf(BulkOperation),
    },
    async ({ body, perform, reply }) => {
      const { filter } = confirmed(body, ['discarded'])
      return begun(reply, await perform(redriveRuns, { filter }))
    },
  ),

  route(
    'POST /ojs/v1/admin/jobs/bulk/cancel',
    {
      tag: 'Administration',
      summary: 'Cancel many jobs',
      description: 'All matching jobs that have not ended. Each is decided separately.',
      does: cancelRuns,
      body: { schema: bulkRequest(CANCELLED), optional: true },
      answers: answersOf(BulkOperation),
    },
    async ({ body, perform, reply }) => {
      const { filter } = confirmed(body, CANCELLED)
      return begun(reply, await perform(cancelRuns, { filter }))
    },
  ),

  route(
    'GET /ojs/v1/admin/jobs/bulk/:id',
    {
      tag: 'Administration',
      summary: 'Get a bulk operation',
      does: showBulkChange,
      otherQuery: 'ignored',
      answers: { '200': { description: 'Its progress.', schema: BulkOperation } },
      errors: ['not_found'],
    },
    async ({ params: { id }, perform }) => {
      const found = await perform(showBulkChange, { id })
      if (found !== null) return bulkWire(found)
      throw notFound('bulk operation', id, 'It is removed thirty days after it has ended.')
    },
  ),

  route(
    'DELETE /ojs/v1/admin/queues/:name/jobs',
    {
      tag: 'Administration',
      summary: 'Cancel the waiting jobs of a queue',
      description: 'Their history stays. Ended jobs are removed by retention, not here.',
      does: cancelRuns,
      body: { schema: bulkRequest(WAITING), optional: true, example: { confirm: true, states: ['available'] } },
      answers: answersOf(Purged),
    },
    async ({ params, body, perform, reply }) => {
      const { filter, states } = confirmed(body, WAITING)
      const own = { ...filter, queue: queueName(params.name) }
      return { ...purged(reply, await perform(cancelRuns, { filter: own, word: 'purge' })), states }
    },
  ),
]

/** `fallback`: states that are meant if none is named. */
export function confirmed(
  body: BulkAsked & { readonly confirm: boolean },
  fallback: readonly JobState[],
): ReturnType<typeof bulkFilter> {
  if (body.confirm) return bulkFilter(body, fallback)
  throw new RequestError('invalid_request', 'this changes many jobs and needs "confirm": true', {
    details: { field: 'confirm' },
    hint: LOOK_FIRST,
  })
}

/** 202 while it continues. */
export function begun(reply: FastifyReply, change: BulkChange): Value<typeof BulkOperation> {
  const { id, state } = change.operation
  if (state === 'running') reply.code(202).header('location', `/ojs/v1/admin/jobs/bulk/${id}`)
  return bulkWire(change)
}

export function purged(reply: FastifyReply, change: BulkChange): Value<typeof Purged> {
  return { ...begun(reply, change), purged_count: change.operation.succeeded }
}

type Word = 'retry' | 'cancel' | 'purge'

/** Of every action on runs. */
const WORDS: { readonly [action: string]: Word } = {
  redrive: 'retry',
  cancel: 'cancel',
  delete: 'purge',
  dismiss: 'purge',
}

function bulkWire({ operation, errors }: BulkChange): Value<typeof BulkOperation> {
  const { id, action, state, parameters, matched, succeeded, refused, failed, createdAt, endedAt } = operation
  return {
    operation_id: id,
    action: (parameters.word ?? WORDS[action] ?? 'cancel') as Word,
    status: state,
    matched,
    succeeded,
    failed: refused + failed,
    errors: errors.map(({ itemId, message }) => ({ job_id: itemId, error: message ?? '' })),
    started_at: timeText(createdAt),
    ...(endedAt === null ? {} : { ended_at: timeText(endedAt) }),
  }
}
