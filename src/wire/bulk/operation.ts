/** Bulk operations and their items. */
import {
  type Action,
  ITEM_STATES,
  OPERATION_STATES,
  type Operation,
  type OperationItemRow,
  type Target,
} from '../../model/bulk/rows.ts'
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import { instanceWire } from '../instance.ts'
import { runWire } from '../run.ts'
import {
  anything,
  flag,
  list,
  time as moment,
  named,
  nullable,
  object,
  text,
  uuid,
  type Value,
  whole,
  word,
} from '../schema.ts'
import { rows, time } from '../value.ts'

export const BULK_ACTIONS: readonly Action[] = [
  'cancel',
  'roll_back',
  'retry',
  'pause',
  'resume',
  'redrive',
  'delete',
  'dismiss',
]
export const BULK_TARGETS: readonly Target[] = ['instances', 'runs']

export const BulkOrder = named(
  'BulkOrder',
  object({
    id: uuid(),
    action: word(BULK_ACTIONS),
    target: word(BULK_TARGETS),
    q: text('The search, in its canonical form; empty: everything.'),
    filter: anything('Instead of a search: the filter of a list of jobs.'),
    reason: nullable(text()),
    actor: nullable(text('The person or program that ordered it.')),
    tenant: nullable(text('Only what belongs to this tenant; null: of all tenants.')),
    rate_per_minute: nullable(whole('null: no limit.')),
    state: word(OPERATION_STATES),
    selecting: flag('true: what the search finds is still being counted and recorded.'),
    matched: whole('Items recorded so far.'),
    pending: whole('Items without a result.'),
    succeeded: whole(),
    refused: whole('The action was not allowed in the state of the item.'),
    failed: whole('The action could not be performed because of an error.'),
    created_at: moment('Only what existed at that time is changed.'),
    ended_at: nullable(moment('When it was completed or stopped.')),
  }),
)

export const BulkItem = named(
  'BulkItem',
  object({
    id: uuid('Of the instance or run.'),
    state: word(ITEM_STATES),
    code: nullable(text('Why it was refused, or how it failed: an error code.')),
    message: nullable(text()),
    new_id: nullable(uuid('The instance or run that a retry or redrive created.')),
    settled_at: nullable(moment()),
  }),
)

export const BulkPreview = named(
  'BulkPreview',
  object({
    action: word(BULK_ACTIONS),
    target: word(BULK_TARGETS),
    q: text('The search, in its canonical form.'),
    count: whole(),
    count_is_at_least: flag('There are more than were counted.'),
    everything: flag('The search has no filter: the order needs "confirm": "everything".'),
    examples: list(anything('An instance or a run.'), 'The newest five.'),
    refusals: list(
      object({ reason: text(), count: whole() }),
      'What would be refused now, among those examined; the most frequent reason first.',
    ),
    examined: whole('How many of the newest were examined.'),
  }),
)

export const BulkReply = named('BulkReply', object({ operation: BulkOrder }))
export const BulkPreviewReply = named('BulkPreviewReply', object({ preview: BulkPreview }))
export const BulkList = named(
  'BulkList',
  object({ operations: rows(BulkOrder), next_before: nullable(text('Send it as `before`.')) }),
)
export const BulkItems = named(
  'BulkItems',
  object({ items: list(BulkItem), next_before: nullable(text('Send it as `before`.')) }),
)

export function operationWire(row: Operation): Value<typeof BulkOrder> {
  return {
    id: row.id,
    action: row.action,
    target: row.target,
    q: row.query,
    filter: row.parameters.filter ?? null,
    reason: row.reason,
    actor: row.actor,
    tenant: row.tenant,
    rate_per_minute: row.rate,
    state: row.state,
    selecting: row.selecting && row.state !== 'completed',
    matched: row.matched,
    pending: row.pending,
    succeeded: row.succeeded,
    refused: row.refused,
    failed: row.failed,
    created_at: time(row.createdAt),
    ended_at: time(row.endedAt),
  }
}

export function itemWire({ itemId, state, code, message, newId, settledAt }: OperationItemRow): Value<typeof BulkItem> {
  return { id: itemId, state, code, message, new_id: newId, settled_at: time(settledAt) }
}

interface Previewed {
  readonly action: Action
  readonly target: Target
  readonly query: string
  readonly count: number
  readonly more: boolean
  readonly everything: boolean
  readonly instances: readonly InstanceRow[]
  readonly runs: readonly RunRow[]
  readonly refusals: readonly { readonly reason: string; readonly count: number }[]
  readonly examined: number
}

export function previewWire(found: Previewed): Value<typeof BulkPreview> {
  const { action, target, query, count, more, everything, instances, runs, refusals, examined } = found
  const examples = [...instances.map(instanceWire), ...runs.map(runWire)]
  return { action, target, q: query, count, count_is_at_least: more, everything, examples, refusals, examined }
}
