/** What an operator sees first. */
import type { Operation } from '../../model/bulk/rows.ts'
import type { ErrorGroupRow } from '../../model/errors/groups.ts'
import type { PauseRow } from '../../model/pauses/pauses.ts'
import type { OpenGates } from '../../model/queries/overview.ts'
import { type QueueFront, RUN_TIME_BOUNDS_MS, type TrafficRow, WAIT_BOUNDS_MS } from '../../model/queries/queueing.ts'
import type { WorkerRow } from '../../model/rows.ts'
import { BulkOrder, operationWire } from '../bulk/operation.ts'
import { ErrorGroup, errorGroupWire } from '../errors/group.ts'
import { spread } from '../operate/histogram.ts'
import { Pause, pauseWire } from '../pauses/pause.ts'
import {
  flag,
  list,
  time as moment,
  named,
  nullable,
  number,
  object,
  text,
  uuid,
  type Value,
  whole,
} from '../schema.ts'
import { time } from '../value.ts'

const Finding = object({ check: text(), subject: text(), finding: text() })

const Shared = object({
  since: moment('Rates and times are from then on: of an hour, or of less if more than 160 queues were busy.'),
  minutes: list(
    object({
      minute: moment(),
      arrived: whole(),
      started: whole(),
      succeeded: whole(),
      failed: whole(),
      cancelled: whole(),
      retried: whole(),
    }),
    'Runs of all queues, by minute; minutes in which nothing happened are left out. At most a second late.',
  ),
  waits: object({
    count: whole('Leases that began.'),
    p50_seconds: nullable(number('Half of them had been due at most this long: a bound of the buckets of a queue.')),
    p95_seconds: nullable(number()),
  }),
  run_time: object({
    count: whole('Executions that ended.'),
    mean_seconds: nullable(number()),
    p50_seconds: nullable(number('Half of them took at most this long: a bound of the buckets of a queue.')),
    p95_seconds: nullable(number()),
  }),
  queues: list(
    object({
      queue: text(),
      paused: flag(),
      pending: whole('At most 1,000.'),
      active: whole('At most 1,000.'),
      more: flag('There may be more pending runs than were counted.'),
      oldest_due_at: nullable(moment()),
      oldest_age_seconds: nullable(number()),
    }),
    'Due longest first; at most 50.',
  ),
  more_queues: flag('There are more queues; they are not listed.'),
  workers: list(
    object({ name: text(), alive: whole(), capacity: whole('Runs that they may execute at the same time.') }),
    'Live workers by name; at most 50 names.',
  ),
  store: object({
    bytes: whole('At most a minute old.'),
    ended_kept_seconds: nullable(number('How long ended instances and runs are kept; null: permanently.')),
    events_kept_seconds: nullable(number()),
  }),
  doctor: nullable(
    object({
      ok: flag(),
      checked_at: moment(),
      findings: list(Finding, 'Violations of invariants; at most 20.'),
      count: whole(),
    }),
  ),
})

export const OverviewReply = named(
  'Overview',
  object({
    now: moment(),
    gates: object({
      open: whole('At most 10,000.'),
      oldest_at: nullable(moment()),
      due_soonest: nullable(object({ id: uuid(), instance_id: uuid(), node: text(), due_at: moment() })),
    }),
    errors: object({
      open: whole('Groups; at most 500, those with the most recent failures.'),
      new: whole('Of these, first seen in the last 24 hours.'),
      more: flag('There are more groups.'),
      top: list(ErrorGroup, 'The five with the most failures.'),
    }),
    pauses: list(Pause, 'In force; at most 20.'),
    operations: list(BulkOrder, 'Running bulk operations; at most 20.'),
    shared: nullable(Shared),
  }),
)

export interface OverviewShown {
  readonly now: number
  readonly gates: OpenGates
  readonly errors: {
    readonly open: number
    readonly fresh: number
    readonly more: boolean
    readonly top: readonly ErrorGroupRow[]
  }
  readonly pauses: readonly PauseRow[]
  readonly operations: readonly Operation[]
  readonly shared: SharedShown | null
}

interface SharedShown {
  readonly since: number
  readonly traffic: readonly TrafficRow[]
  readonly queues: readonly (QueueFront & { readonly name: string })[]
  readonly moreQueues: boolean
  readonly workers: readonly WorkerRow[]
  readonly bytes: number
  readonly checked: { readonly at: number; readonly findings: readonly Value<typeof Finding>[] } | null
  readonly retention: { readonly endedMs: number | null; readonly eventsMs: number | null }
}

export function overviewWire({
  now,
  gates,
  errors,
  pauses,
  operations,
  shared,
}: OverviewShown): Value<typeof OverviewReply> {
  const { soonest } = gates
  return {
    now: time(now),
    gates: {
      open: gates.count,
      oldest_at: time(gates.oldestAt),
      due_soonest:
        soonest === null
          ? null
          : { id: soonest.id, instance_id: soonest.instanceId, node: soonest.node, due_at: time(soonest.dueAt) },
    },
    errors: { open: errors.open, new: errors.fresh, more: errors.more, top: errors.top.map(errorGroupWire) },
    pauses: pauses.map(pauseWire),
    operations: operations.map(operationWire),
    shared: shared === null ? null : sharedWire(shared, now),
  }
}

function sharedWire(shared: SharedShown, now: number): Value<typeof Shared> {
  const { traffic, checked, retention } = shared
  const sum = (of: (row: TrafficRow) => number): number => traffic.reduce((total, row) => total + of(row), 0)
  const waits = spread({
    boundsMs: WAIT_BOUNDS_MS,
    counts: traffic.map((row) => row.waits),
    totalMs: sum(({ waitMs }) => waitMs),
  })
  const runTime = spread({
    boundsMs: RUN_TIME_BOUNDS_MS,
    counts: traffic.map((row) => row.runTimes),
    totalMs: sum(({ busyMs }) => busyMs),
  })
  return {
    since: time(shared.since),
    minutes: traffic.map((row) => ({
      minute: time(row.minute),
      arrived: row.arrived,
      started: row.started,
      succeeded: row.succeeded,
      failed: row.failed,
      cancelled: row.cancelled,
      retried: row.retried,
    })),
    waits: { count: waits.count, p50_seconds: waits.p50_seconds, p95_seconds: waits.p95_seconds },
    run_time: {
      count: runTime.count,
      mean_seconds: runTime.mean_seconds,
      p50_seconds: runTime.p50_seconds,
      p95_seconds: runTime.p95_seconds,
    },
    queues: shared.queues.map((queue) => ({
      queue: queue.name,
      paused: queue.paused,
      pending: queue.available + queue.scheduled + queue.retryable + queue.held,
      active: queue.leased,
      more: queue.more,
      oldest_due_at: time(queue.oldestDueAt),
      oldest_age_seconds: queue.oldestDueAt === null ? null : (now - queue.oldestDueAt) / 1000,
    })),
    more_queues: shared.moreQueues,
    workers: byName(shared.workers),
    store: {
      bytes: shared.bytes,
      ended_kept_seconds: seconds(retention.endedMs),
      events_kept_seconds: seconds(retention.eventsMs),
    },
    doctor:
      checked === null
        ? null
        : {
            ok: checked.findings.length === 0,
            checked_at: time(checked.at),
            findings: checked.findings.slice(0, 20),
            count: checked.findings.length,
          },
  }
}

function byName(workers: readonly WorkerRow[]): Value<typeof Shared>['workers'] {
  const found = new Map<string, { alive: number; capacity: number }>()
  for (const { name, state, concurrency } of workers) {
    if (state === 'dead') continue
    const known = found.get(name) ?? { alive: 0, capacity: 0 }
    found.set(name, { alive: known.alive + 1, capacity: known.capacity + concurrency })
  }
  return [...found].map(([name, counted]) => ({ name, ...counted })).slice(0, 50)
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}
