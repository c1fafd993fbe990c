/** Workers as operators see them. */
import type { WorkerRow } from '../../model/rows.ts'
import { list, time as moment, named, nullable, object, text, type Value, whole, word } from '../schema.ts'
import { time } from '../value.ts'

export const Worker = named(
  'WorkerShown',
  object({
    id: text(),
    name: text(),
    host: text(),
    pid: whole(),
    runtime: text(),
    state: word(
      ['running', 'quiet', 'terminate', 'dead'],
      'quiet: it takes no more work. terminate: it stops. dead: its time is over.',
    ),
    holds: word(
      ['session', 'lease'],
      'session: of a Petrel process. lease: over HTTP; each of its runs has a lease of its own.',
    ),
    queues: list(text(), 'Empty: all.'),
    types: list(text(), 'Empty: all. `%` stands for any characters.'),
    slots: whole('Runs that it may execute at the same time.'),
    slots_used: nullable(whole('Runs that it holds. null: more than 2,000 runs are active in total.')),
    since: moment(),
    last_heartbeat_at: moment(),
    expires_at: moment('It counts as dead then, if no heartbeat comes.'),
    tenant: nullable(text()),
  }),
)

export const WorkerList = named('WorkerShownList', object({ workers: list(Worker, 'By id.') }))

export const WorkerDirected = named(
  'WorkerDirected',
  object({
    worker: Worker,
    reached: word(
      ['next_heartbeat', 'not'],
      'next_heartbeat: it receives this with its next heartbeat, in whatever process it is. not: it is dead.',
    ),
  }),
)

/** `used` null: unknown. */
export function workerWire(row: WorkerRow, used: number | null): Value<typeof Worker> {
  return {
    id: row.id,
    name: row.name,
    host: row.host,
    pid: row.pid,
    runtime: row.runtime,
    state: row.state,
    holds: row.holds,
    queues: row.queues,
    types: row.types,
    slots: row.concurrency,
    slots_used: used,
    since: time(row.startedAt),
    last_heartbeat_at: time(row.heartbeatAt),
    expires_at: time(row.expiresAt),
    tenant: row.tenant,
  }
}

export function directedWire(row: WorkerRow): Value<typeof WorkerDirected> {
  return { worker: workerWire(row, null), reached: row.state === 'dead' ? 'not' : 'next_heartbeat' }
}
