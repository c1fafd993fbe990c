/** Workers as operators see them. */
import { unscopedName } from '../../kernel/scoped-names.ts'
import type { WorkerRow } from '../../model/rows.ts'
import { list, time as moment, named, nullable, object, text, type Value, whole, word } from '../schema.ts'
import { time } from '../value.ts'

export const Worker = named(
  'WorkerSeen',
  object({
    id: text(),
    name: text(),
    build: nullable(text('The build of its program; null: it states none.')),
    state: word(['running', 'quiet', 'terminate', 'dead'], 'quiet: takes no more work. terminate: is to stop.'),
    host: text(),
    pid: whole(),
    runtime: text(),
    queues: list(text(), 'Empty: all.'),
    concurrency: whole(),
    active: nullable(whole('Runs that it holds; null: too many are active to count.')),
    started_at: moment(),
    heartbeat_at: moment(),
    tenant: nullable(text()),
  }),
)

export const WorkerList = named(
  'WorkerList',
  object({ workers: list(Worker), next_after: nullable(text('Send it as `after`.')) }),
)

/** `active` null: not counted. */
export function workerWire(row: WorkerRow, active: number | null): Value<typeof Worker> {
  const { id, build, state, host, pid, runtime, queues, concurrency, tenant } = row
  return {
    id,
    name: unscopedName(row.name),
    build,
    state,
    host,
    pid,
    runtime,
    queues,
    concurrency,
    active,
    started_at: time(row.startedAt),
    heartbeat_at: time(row.heartbeatAt),
    tenant,
  }
}
