/** Orders of bulk operations, and the filters of their lists. */
import { MAX_BULK_RATE, MAX_REASON_LENGTH } from '../../kernel/limits.ts'
import { ITEM_STATES, OPERATION_STATES } from '../../model/bulk/rows.ts'
import { idOf, pageSize, wordOf, wordsOf } from '../requests/params.ts'
import { asked, flag, line, named, nullable, optional, text, type Value, whole, word } from '../schema.ts'
import { BULK_ACTIONS, BULK_TARGETS } from './operation.ts'

const RATE = whole({
  minimum: 1,
  maximum: MAX_BULK_RATE,
  description: 'At most so many items per minute, of all servers together. Left out: no limit.',
  hint: `a whole number from 1 to ${MAX_BULK_RATE}`,
})

export const BulkRequest = named(
  'BulkRequest',
  asked('a bulk operation', {
    action: word(BULK_ACTIONS, {
      description:
        'On instances: cancel, roll_back, retry, pause, resume, delete. On runs: cancel, redrive, delete, dismiss.',
    }),
    target: optional(word(BULK_TARGETS, { default: 'instances' })),
    q: optional(text('The search for instances or runs. Left out, or empty: everything.')),
    rate_per_minute: optional(RATE),
    reason: optional(line(MAX_REASON_LENGTH, 'Why; shown with the operation.')),
    timeouts: optional(
      word(['stop', 'run'], { description: 'Of a pause: what happens to times meanwhile. Default `stop`.' }),
    ),
    confirm: optional(
      word(['everything'], { description: 'Needed by a search without any filter: everything is meant.' }),
    ),
    dry_run: optional(flag('true: nothing is changed; the answer is a preview.')),
  }),
)

export interface BulkAsked {
  readonly action: Value<typeof BulkRequest>['action']
  readonly target: 'instances' | 'runs'
  readonly query: string
  readonly rate: number | null
  readonly reason: string | null
  readonly timeouts: 'stop' | 'run' | null
  readonly confirm: string | null
}

export function bulkAsked(body: Value<typeof BulkRequest>): BulkAsked {
  const { action, target, q, rate_per_minute: rate, reason, timeouts, confirm } = body
  return {
    action,
    target: target ?? 'instances',
    query: q ?? '',
    rate: rate ?? null,
    reason: reason ?? null,
    timeouts: timeouts ?? null,
    confirm: confirm ?? null,
  }
}

export const BulkRateRequest = named(
  'BulkRateRequest',
  asked('a change of a bulk operation', { rate_per_minute: nullable(RATE) }),
)

export const BULK_PARAMS = {
  state: wordsOf(OPERATION_STATES, 'Only in these states: `running,stopped`.'),
  limit: pageSize(),
  before: idOf('the id of a bulk operation', '`next_before` of the previous page.'),
}

export const BULK_ITEM_PARAMS = {
  state: wordOf(ITEM_STATES, null, 'Only with this result.'),
  limit: pageSize(1000, 100),
  before: idOf('the id of an item', '`next_before` of the previous page.'),
}
