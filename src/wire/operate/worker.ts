/** Workers as operators see them. */
import { unscopedName } from '../../kernel/scoped-names.ts'
import { type DueOfKind, type Kind, MAX_OF_KIND } from '../../model/queries/kinds.ts'
import type { WorkerRow } from '../../model/rows.ts'
import {
  flag,
  list,
  time as moment,
  named,
  nullable,
  number,
  object,
  text,
  type Value,
  whole,
  word,
} from '../schema.ts'
import { time } from '../value.ts'

export const Worker = named(
  'WorkerSeen',
  object({
    id: text(),
    name: text(),
    build: nullable(text('The build of its program; null: it states none.')),
    state: word(
      ['running', 'quiet', 'terminate', 'dead'],
      'quiet: takes no more work. terminate: is to stop. dead: its time is over.',
    ),
    host: text(),
    pid: whole(),
    runtime: text(),
    holds: word(
      ['session', 'lease'],
      'session: of a Petrel process. lease: over HTTP; each of its runs has a lease of its own.',
    ),
    queues: list(text(), 'Empty: all.'),
    types: list(text(), 'Empty: all. `%` stands for any characters.'),
    concurrency: whole('Runs that it may execute at the same time.'),
    active: nullable(whole('Runs that it holds; null: too many are active to count.')),
    started_at: moment(),
    heartbeat_at: moment(),
    expires_at: moment('It counts as dead then, if no heartbeat comes.'),
    tenant: nullable(text()),
  }),
)

export const WorkerList = named(
  'WorkerList',
  object({ workers: list(Worker), next_after: nullable(text('Send it as `after`.')) }),
)

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

export const WorkersMissing = named(
  'WorkersMissing',
  object({
    missing: list(
      object({
        queue: text(),
        type: text(),
        due: whole(`Runs of it that are due, among the first ${MAX_OF_KIND.toLocaleString('en-US')}.`),
        more: flag('There may be more of them.'),
        oldest_due_at: moment(),
        oldest_age_seconds: number(),
      }),
      'Due longest first; at most 50.',
    ),
    more: flag(
      'There may be other types: more than 50 are missing, or more than 1,000 pairs of a queue and a type wait.',
    ),
  }),
)

export function missingWire(found: {
  readonly now: number
  readonly kinds: readonly (Kind & DueOfKind)[]
  readonly more: boolean
}): Value<typeof WorkersMissing> {
  return {
    missing: found.kinds.map(({ queue, type, due, more, oldestAt }) => ({
      queue,
      type,
      due,
      more,
      oldest_due_at: time(oldestAt ?? found.now),
      oldest_age_seconds: (found.now - (oldestAt ?? found.now)) / 1000,
    })),
    more: found.more,
  }
}

/** `active` null: not counted. */
export function workerWire(row: WorkerRow, active: number | null): Value<typeof Worker> {
  const { id, build, state, host, pid, runtime, holds, queues, types, concurrency, tenant } = row
  return {
    id,
    name: unscopedName(row.name),
    build,
    state,
    host,
    pid,
    runtime,
    holds,
    queues,
    types,
    concurrency,
    active,
    started_at: time(row.startedAt),
    heartbeat_at: time(row.heartbeatAt),
    expires_at: time(row.expiresAt),
    tenant,
  }
}

export function directedWire(row: WorkerRow): Value<typeof WorkerDirected> {
  return { worker: workerWire(row, null), reached: row.state === 'dead' ? 'not' : 'next_heartbeat' }
}
