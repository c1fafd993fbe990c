/** Groups of failures. */
import {
  changesOf,
  ERROR_GROUP_STATES,
  type ErrorGroupPage,
  type ErrorGroupRow,
  groupCursorText,
} from '../../model/errors/groups.ts'
import type { RunRow } from '../../model/rows.ts'
import { InboxRun, inboxRunWire } from '../inbox-run.ts'
import { flag, list, time as moment, named, nullable, object, text, uuid, type Value, whole, word } from '../schema.ts'
import { time } from '../value.ts'

export const ErrorGroup = named(
  'ErrorGroup',
  object({
    fingerprint: text('Its name. The filter `group:` finds its instances and runs.'),
    state: word(ERROR_GROUP_STATES),
    regressed: flag('It had been resolved, and has failed again since.'),
    type: text('Of the work that failed.'),
    code: text(),
    node: nullable(text('Which step; null: a bare run.')),
    message: text('Without numbers and ids.'),
    tenant: nullable(text()),
    count: whole('Failures for good; attempts that were retried do not count.'),
    first_seen: moment(),
    last_seen: moment(),
    definitions: list(text(), 'Names of workflows in which it failed, the last ones first; at most 20.'),
    workers: list(text(), 'Names of workers that held it, the last ones first; at most 20.'),
    builds: list(text(), 'Builds of those workers that state one, likewise.'),
    last_message: text('Of the last failure, as it was reported.'),
    last_run_id: uuid(),
    last_instance_id: nullable(uuid()),
    state_since: moment(),
    state_by: nullable(text('Who set the state; null: a failure did.')),
    reason: nullable(text('Given with the state.')),
    ignored_until_count: nullable(whole('Opens when it has this count.')),
    changes: list(
      object({
        state: word(ERROR_GROUP_STATES),
        at: moment(),
        by: nullable(text('null: a failure opened it again.')),
        reason: nullable(text()),
      }),
      'Of the state, the newest first; at most 20.',
    ),
    ignored_until: nullable(moment('Opens with the first failure after this time.')),
  }),
)

export const ErrorGroupList = named(
  'ErrorGroupList',
  object({
    groups: list(ErrorGroup),
    next_before: nullable(text('Send it as `before`; null: this is the last page.')),
  }),
)
export const ErrorGroupReply = named('ErrorGroupReply', object({ group: ErrorGroup }))
export const ErrorGroupView = named('ErrorGroupView', object({ group: ErrorGroup, example: nullable(InboxRun) }))

export function errorGroupWire(row: ErrorGroupRow): Value<typeof ErrorGroup> {
  return {
    fingerprint: row.fingerprint,
    state: row.state,
    regressed: row.regressed,
    type: row.type,
    code: row.code,
    node: row.node,
    message: row.message,
    tenant: row.tenant,
    count: row.count,
    first_seen: time(row.firstAt),
    last_seen: time(row.lastAt),
    definitions: row.definitions,
    workers: row.workers,
    builds: row.builds,
    last_message: row.lastMessage,
    last_run_id: row.lastRunId,
    last_instance_id: row.lastInstanceId,
    state_since: time(row.stateAt),
    state_by: row.stateBy,
    reason: row.reason,
    ignored_until_count: row.ignoredCount,
    changes: changesOf(row).map((change) => ({ ...change, at: time(change.at) })),
    ignored_until: time(row.ignoredUntil),
  }
}

export function errorGroupsWire({ rows, next }: ErrorGroupPage): Value<typeof ErrorGroupList> {
  return { groups: rows.map(errorGroupWire), next_before: next === null ? null : groupCursorText(next) }
}

export function errorGroupViewWire(p: {
  readonly group: ErrorGroupRow
  readonly example: RunRow | null
}): Value<typeof ErrorGroupView> {
  return { group: errorGroupWire(p.group), example: p.example === null ? null : inboxRunWire(p.example) }
}
