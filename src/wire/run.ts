/** Runs of instances. inbox-run.ts has runs with the names of the table. */
import { unscopedName } from '../kernel/scoped-names.ts'
import { PARKED_AT, type RunRow, type RunStatus } from '../model/rows.ts'
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
import { json, shown, time } from './value.ts'

export const RUN_STATUSES: readonly RunStatus[] = ['pending', 'leased', 'succeeded', 'failed', 'cancelled']

export const Run = named(
  'Run',
  object({
    id: uuid(),
    type: text(),
    queue: text(),
    fair_key: nullable(text('The key that it shares its queue under.')),
    status: word(RUN_STATUSES),
    instance_id: nullable(uuid()),
    node: nullable(text()),
    item: nullable(whole('In a list.')),
    role: text('work, undo or final.'),
    attempt: whole('Failed executions so far.'),
    max_attempts: whole(),
    priority: whole('Smaller is earlier.'),
    deferred: flag('Completed later, by its id.'),
    unknown: flag('The outcome is unknown: it timed out, or its worker was lost.'),
    dead_letter: flag(),
    paused: flag('It waits until its workflow or its type is resumed; run_at is then far in the future.'),
    run_at: moment('The earliest start.'),
    created_at: moment(),
    started_at: nullable(moment()),
    finished_at: nullable(moment()),
    leased_by: nullable(text('The worker that holds it.')),
    error: anything('Why it failed.'),
    result: anything('Its result.'),
  }),
)

/** It waits for the end of a pause. */
export function isParked({ status, runAt }: Pick<RunRow, 'status' | 'runAt'>): boolean {
  return status === 'pending' && runAt >= PARKED_AT
}

export function runWire(row: RunRow): Value<typeof Run> {
  return {
    id: row.id,
    type: row.type,
    queue: row.queue,
    fair_key: unscopedName(row.fairKey),
    status: row.status,
    instance_id: row.instanceId,
    node: row.node,
    item: row.item < 0 ? null : row.item,
    role: row.role,
    attempt: row.attempt,
    max_attempts: row.maxAttempts,
    priority: row.priority,
    deferred: row.deferred,
    unknown: row.unknown,
    dead_letter: row.deadLetter,
    paused: isParked(row),
    run_at: time(row.plannedAt ?? row.runAt),
    created_at: time(row.createdAt),
    started_at: time(row.startedAt),
    finished_at: time(row.finishedAt),
    leased_by: unscopedName(row.leasedBy),
    error: json(row.error) ?? (row.lastError === null ? null : { code: 'error', message: row.lastError }),
    result: shown(row.result, `/v1/runs/${row.id}`),
  }
}
