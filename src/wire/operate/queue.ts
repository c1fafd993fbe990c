/** What an operator sees of a queue. */
import { MAX_FAIR_WEIGHT } from '../../kernel/limits.ts'
import { type QueueReport, RUN_TIME_BOUNDS_MS, type TrafficRow, WAIT_BOUNDS_MS } from '../../model/queries/queueing.ts'
import { name } from '../requests/fields.ts'
import {
  asked,
  flag,
  list,
  time as moment,
  named,
  nullable,
  number,
  object,
  optional,
  text,
  type Value,
  whole,
  word,
} from '../schema.ts'
import { time } from '../value.ts'
import { Buckets, spread } from './histogram.ts'

const PerMinute = object({
  arrived: number('Runs that were created, or put back after they had ended.'),
  started: number('Leases that began.'),
  ended: number('Runs that ended.'),
})

export const QueueReportReply = named(
  'QueueReport',
  object({
    queue: text(),
    paused: flag(),
    as_of: moment(),
    depth: object({
      pending: whole('available, scheduled, retryable and held together.'),
      available: whole('Due.'),
      scheduled: whole('Due later.'),
      retryable: whole('Failed, and due later.'),
      held: whole('Waits to be activated.'),
      active: whole('Leased.'),
      accuracy: word(
        ['exact', 'estimated', 'at_least'],
        'exact: up to 10,000 pending runs. estimated: counted at `counted_at`, plus what has arrived and less what has ended since. ' +
          'at_least: more than 10,000, which are being counted.',
      ),
      counted_at: moment(),
    }),
    oldest_due_at: nullable(moment('When the run became due that has been due longest.')),
    oldest_age_seconds: nullable(number()),
    since: moment('What follows is from then on.'),
    per_minute: PerMinute,
    waits: object({
      count: whole('Leases that began.'),
      mean_seconds: nullable(number('How long their runs were due before.')),
      p50_seconds: nullable(
        number('Half of them waited at most this long: a bound of the buckets. null: none, or longer than all bounds.'),
      ),
      p95_seconds: nullable(number()),
      buckets: Buckets,
    }),
    run_time: object({
      count: whole('Executions that ended.'),
      mean_seconds: nullable(number('How long they took.')),
      p50_seconds: nullable(
        number('Half of them took at most this long: a bound of the buckets. null: none, or longer than all bounds.'),
      ),
      p95_seconds: nullable(number()),
      buckets: Buckets,
    }),
    utilisation: object({
      concurrency: whole('Runs that the live workers which take from this queue execute at the same time.'),
      max_concurrent: nullable(whole('The limit of the queue.')),
      now: nullable(number('Active runs as a share of what may be active; null: no worker is known.')),
      recent: nullable(number('The same on average: the time executions took that ended since `since`.')),
    }),
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
      'Minutes in which anything happened, oldest first.',
    ),
  }),
)

const Weight = named(
  'FairWeight',
  object({
    key: text('As in `fair_key` of runs.'),
    tenant: nullable(text('Whose key it is.')),
    weight: whole('Runs that it gives in its turn.'),
  }),
)
export const WeightReply = named('FairWeightReply', object({ weight: Weight }))
export const WeightList = named('FairWeightList', object({ weights: list(Weight) }))
export const WeightRequest = asked('a weight', {
  weight: whole({
    description: 'Runs that the key gives in its turn; 1 for a key without a weight.',
    minimum: 1,
    maximum: MAX_FAIR_WEIGHT,
  }),
  tenant: optional(name({ description: 'The key of this tenant; leave it out for runs without a tenant.' })),
})

export type QueueReportWire = Value<typeof QueueReportReply>

export function queueReportWire(report: QueueReport): QueueReportWire {
  const { now, depth, oldestDueAt, since, traffic } = report
  const { available, scheduled, retryable, held, active, accuracy, countedAt } = depth
  const sum = (of: (row: TrafficRow) => number): number => traffic.reduce((total, row) => total + of(row), 0)
  const periodMs = Math.max(1, now - since)
  const perMinute = (count: number): number => rounded((count * 60_000) / periodMs)
  const capacity = Math.min(report.concurrency, report.maxConcurrent ?? Number.POSITIVE_INFINITY)
  const share = (part: number): number | null => (capacity === 0 ? null : rounded(part / capacity))
  return {
    queue: report.name,
    paused: report.paused,
    as_of: time(now),
    depth: {
      pending: available + scheduled + retryable + held,
      available,
      scheduled,
      retryable,
      held,
      active,
      accuracy,
      counted_at: time(countedAt),
    },
    oldest_due_at: time(oldestDueAt),
    oldest_age_seconds: oldestDueAt === null ? null : (now - oldestDueAt) / 1000,
    since: time(since),
    per_minute: {
      arrived: perMinute(sum((row) => row.arrived)),
      started: perMinute(sum((row) => row.started)),
      ended: perMinute(sum((row) => row.succeeded + row.failed + row.cancelled)),
    },
    waits: spread({
      boundsMs: WAIT_BOUNDS_MS,
      counts: traffic.map(({ waits }) => waits),
      totalMs: sum(({ waitMs }) => waitMs),
    }),
    run_time: spread({
      boundsMs: RUN_TIME_BOUNDS_MS,
      counts: traffic.map(({ runTimes }) => runTimes),
      totalMs: sum(({ busyMs }) => busyMs),
    }),
    utilisation: {
      concurrency: report.concurrency,
      max_concurrent: report.maxConcurrent,
      now: share(active),
      recent: share(sum((row) => row.busyMs) / periodMs),
    },
    minutes: traffic.map(({ minute, arrived, started, succeeded, failed, cancelled, retried }) => ({
      minute: time(minute),
      arrived,
      started,
      succeeded,
      failed,
      cancelled,
      retried,
    })),
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
