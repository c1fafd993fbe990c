/** Queues as JSON: in the list of all clients, and with counts for operators. */
import type { QueueStats } from '../../../../model/queries/overview.ts'
import {
  flag,
  list,
  named,
  number,
  object,
  optional,
  text,
  time,
  type Value,
  whole,
  word,
} from '../../../../wire/schema.ts'
import { Pagination } from '../paging.ts'
import { QueueConfiguration } from './queue-config.ts'

const MINUTE = 60_000
/** Rates are over so many minutes. */
export const RECENT = 5
/** What `queueStats` is to count one by one for them: the current minute is not complete. */
export const RECENT_MINUTES = RECENT + 1
/** For the numbers of the last hour. */
export const HOUR_MINUTES = 60

const STATES = ['active', 'paused'] as const

const QUEUE = { name: text(), status: word(STATES), paused: flag() }

export const Queue = named('Queue', object(QUEUE))

export const QueueList = named('QueueList', object({ queues: list(Queue), pagination: Pagination }))

/** Its fields are at the top as well. */
export const QueueReply = named(
  'QueueReply',
  object({ ...QUEUE, queue: Queue, paused_at: optional(time()), resumed_at: optional(time()) }),
)

const COUNTS = {
  available: whole(),
  active: whole(),
  scheduled: whole(),
  retryable: whole(),
  pending: whole('Waiting for activation.'),
  completed: whole(),
  discarded: whole(),
  cancelled: whole(),
}

export const JobCounts = named('JobCounts', object(COUNTS))

const DEPTHS = { depth: whole('The same as `available`.'), ...COUNTS }

const LAST_HOUR = {
  completed_last_hour: whole(),
  failed_last_hour: whole(),
  retried_last_hour: whole(),
  throughput_per_second: number('Completed jobs, over the last hour.'),
}

export const QueueStatsReply = named(
  'QueueStats',
  object({
    ...QUEUE,
    ...DEPTHS,
    ...LAST_HOUR,
    queue: object({ ...QUEUE, ...DEPTHS }),
    stats: object({ queue: text(), ...DEPTHS, ...LAST_HOUR }),
    computed_at: time(),
  }),
)

export const Throughput = named(
  'Throughput',
  object({ processed_per_minute: number(), failed_per_minute: number() }, `Over the last ${RECENT} minutes.`),
)

const ADMIN_QUEUE = { name: text(), state: word(STATES), paused: flag(), counts: JobCounts, throughput: Throughput }

export const AdminQueue = named('AdminQueue', object(ADMIN_QUEUE))

export const ConfiguredQueue = named('ConfiguredQueue', object({ ...ADMIN_QUEUE, configuration: QueueConfiguration }))

export function queueWire({ name, paused }: Pick<QueueStats, 'name' | 'paused'>): Value<typeof Queue> {
  return { name, status: paused ? 'paused' : 'active', paused }
}

export function queueStatsWire(found: QueueStats, computedAt: string): Value<typeof QueueStatsReply> {
  const counts = { depth: found.available, ...countsOf([found]) }
  const lately = lastHourOf(found)
  const queue = { ...queueWire(found), ...counts }
  return { ...queue, ...lately, queue, stats: { queue: found.name, ...counts, ...lately }, computed_at: computedAt }
}

export function adminQueueWire(queue: QueueStats, now: number): Value<typeof AdminQueue> {
  return {
    name: queue.name,
    state: queue.paused ? 'paused' : 'active',
    paused: queue.paused,
    counts: countsOf([queue]),
    throughput: throughputOf([queue], now),
  }
}

export function countsOf(queues: readonly QueueStats[]): Value<typeof JobCounts> {
  const sum = (of: (queue: QueueStats) => number): number => queues.reduce((n, queue) => n + of(queue), 0)
  return {
    available: sum((queue) => queue.available),
    active: sum((queue) => queue.active),
    scheduled: sum((queue) => queue.scheduled),
    retryable: sum((queue) => queue.retryable),
    pending: sum((queue) => queue.held),
    completed: sum((queue) => queue.succeeded),
    discarded: sum((queue) => queue.failed),
    cancelled: sum((queue) => queue.cancelled),
  }
}

/** Over the last minutes, the current one included. */
export function throughputOf(queues: readonly QueueStats[], now: number): Value<typeof Throughput> {
  const since = now - RECENT * MINUTE
  const recent = queues.flatMap((queue) => queue.minutes).filter(({ minute }) => minute > since)
  const rate = (count: number): number => Math.round((count / RECENT) * 100) / 100
  return {
    processed_per_minute: rate(recent.reduce((n, { succeeded }) => n + succeeded, 0)),
    failed_per_minute: rate(recent.reduce((n, { failed }) => n + failed, 0)),
  }
}

function lastHourOf({ minutes }: QueueStats): {
  readonly completed_last_hour: number
  readonly failed_last_hour: number
  readonly retried_last_hour: number
  readonly throughput_per_second: number
} {
  const sum = (of: 'succeeded' | 'failed' | 'retried'): number => minutes.reduce((n, minute) => n + minute[of], 0)
  const completed = sum('succeeded')
  return {
    completed_last_hour: completed,
    failed_last_hour: sum('failed'),
    retried_last_hour: sum('retried'),
    throughput_per_second: Math.round((completed / (HOUR_MINUTES * 60)) * 1000) / 1000,
  }
}
