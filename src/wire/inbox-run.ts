/** Runs with the names of the table, for its clients. */
import { unscopedName } from '../kernel/scoped-names.ts'
import type { Enqueued } from '../model/enqueue.ts'
import type { RunRow } from '../model/rows.ts'
import { COMPLETE } from './requests/search.ts'
import { isParked, RUN_STATUSES } from './run.ts'
import {
  anything,
  flag,
  time as moment,
  named,
  nullable,
  object,
  text,
  uuid,
  type Value,
  whole,
  word,
} from './schema.ts'
import { json, rows, shown, time } from './value.ts'

/** Names of the table; queue, tenant and the following ones are Petrel's own. */
export const INBOX_RUN = {
  id: uuid(),
  type: text('Dotted, and ends in a version: `billing.invoice.v1`.'),
  payload: anything('The submitted payload.'),
  status: word(RUN_STATUSES),
  priority: whole('Smaller is earlier; 100 is the default.'),
  run_at: moment('The earliest start.'),
  paused: flag('It waits until its workflow or its type is resumed; run_at is when it is due without that.'),
  idempotency_key: nullable(text('Taken permanently.')),
  attempt: whole('Executions that failed so far.'),
  max_attempts: whole('Executions in total.'),
  leased_by: nullable(text('The worker that holds it.')),
  lease_until: nullable(
    moment('The run is taken back then unless a heartbeat arrives; null while a session holds it.'),
  ),
  last_error: nullable(text()),
  result: anything('The result returned by its worker.'),
  created_at: moment(),
  deleted_at: nullable(moment('Deleted at this time: it can no longer be taken, and lists omit it.')),
  queue: text(),
  fair_key: nullable(text('The key that it shares its queue under.')),
  tenant: nullable(text()),
  instance_id: nullable(uuid('The workflow it is a step of.')),
  node: nullable(text('Which step.')),
  item: nullable(whole('In a list.')),
  role: text('work, undo or final.'),
  deferred: flag('Completed later, by its id.'),
  unknown: flag('The outcome is unknown: it timed out, or its worker was lost.'),
  dead_letter: flag('It failed for good and is kept, so that it can be redriven.'),
  started_at: nullable(moment('Of its last execution.')),
  finished_at: nullable(moment()),
  cancel_requested: flag('Its worker should stop.'),
  error: anything('The last error: code, message, details.'),
}

export const InboxRun = named('InboxRun', object(INBOX_RUN))
export const InboxRunReply = named('InboxRunReply', object({ run: InboxRun }))
export const InboxRunList = named(
  'InboxRunList',
  object({
    runs: rows(InboxRun),
    next_before: nullable(text('Send it as `before`; null: this is the last page.')),
    complete: COMPLETE,
  }),
)

export function inboxRunWire(row: RunRow): Value<typeof InboxRun> {
  return {
    id: row.id,
    type: row.type,
    payload: shown(row.payload, `/v1/runs/${row.id}`),
    status: row.status,
    priority: row.priority,
    run_at: time(row.plannedAt ?? row.runAt),
    paused: isParked(row),
    idempotency_key: unscopedName(row.idempotencyKey),
    attempt: row.attempt,
    max_attempts: row.maxAttempts,
    leased_by: unscopedName(row.leasedBy),
    lease_until: time(row.leaseUntil),
    last_error: row.lastError,
    result: shown(row.result, `/v1/runs/${row.id}`),
    created_at: time(row.createdAt),
    deleted_at: time(row.deletedAt),
    queue: row.queue,
    fair_key: unscopedName(row.fairKey),
    tenant: row.tenant,
    instance_id: row.instanceId,
    node: row.node,
    item: row.item < 0 ? null : row.item,
    role: row.role,
    deferred: row.deferred,
    unknown: row.unknown,
    dead_letter: row.deadLetter,
    started_at: time(row.startedAt),
    finished_at: time(row.finishedAt),
    cancel_requested: row.cancelRequestedAt !== null,
    error: json(row.error),
  }
}

export const SubmitReply = named(
  'SubmitReply',
  object({
    id: uuid(),
    created: flag('false: the key was already used, and this is the run that has it.'),
    run: nullable(InboxRun),
  }),
)

export function submitWire({ id, created, run }: Enqueued): Value<typeof SubmitReply> {
  return { id, created, run: run === null ? null : inboxRunWire(run) }
}
