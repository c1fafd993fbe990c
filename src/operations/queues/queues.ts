/** Queues: list, get, pause, resume. A queue exists as soon as anything names it. All tenants share them. */
import type { QueueStats } from '../../model/queries/overview.ts'
import type { QueueReport } from '../../model/queries/queueing.ts'
import type { QueueRow } from '../../model/rows.ts'
import { actorOf } from '../caller.ts'
import { operation } from '../operation.ts'

interface ByName {
  readonly name: string
}

interface Recent {
  /** How many of the last minutes are counted separately. */
  readonly minutes: number
}

/** By the store's clock. */
interface AsOf {
  readonly now: number
}

/** The content and the totals of each queue, by name. */
export const listQueues = operation(
  { scope: 'read', shared: true },
  async ({ engine }, { minutes }: Recent): Promise<AsOf & { readonly queues: readonly QueueStats[] }> => {
    const [queues, now] = await Promise.all([engine.queueStats({ queue: null, minutes }), engine.queries.now()])
    return { queues: [...queues].sort((a, b) => (a.name < b.name ? -1 : 1)), now }
  },
)

/** `accuracy` at_least: `pending` is what was counted of more. */
export interface QueueLoad extends QueueRow, Pick<QueueStats, 'accuracy'> {
  readonly pending: number
  readonly leased: number
}

/** The numbers of pending and held runs in each queue, by name. */
export const listQueueLoads = operation(
  { scope: 'read', shared: true },
  async ({ engine }): Promise<readonly QueueLoad[]> => {
    const queues = await engine.queueStats({ queue: null, minutes: 0 })
    return queues.map(({ name, paused, active: leased, accuracy, ...counts }) => {
      const pending = counts.available + counts.scheduled + counts.retryable + counts.held
      return { name, paused, pending, leased, accuracy }
    })
  },
)

export const showQueue = operation(
  { scope: 'read', shared: true },
  async ({ engine }, { name, minutes }: ByName & Recent): Promise<AsOf & { readonly queue: QueueStats }> => {
    const [[found], now] = await Promise.all([engine.queueStats({ queue: name, minutes }), engine.queries.now()])
    return { queue: found ?? { ...EMPTY, name }, now }
  },
)

/**
 * Depth, age, waits and traffic of a queue, however long it is. `counted`: a queue that is too long to be counted at once is
 * counted before the answer, if that was not done lately.
 */
export const reportQueue = operation(
  { scope: 'read', shared: true },
  ({ engine }, { name, minutes, counted }: ByName & Recent & { readonly counted: boolean }): Promise<QueueReport> =>
    engine.queueReport({ queue: name, minutes, counted }),
)

/** Runs that are or will be due, by priority: a smaller number is more urgent. */
export const countByPriority = operation(
  { scope: 'read', shared: true },
  ({ engine }, { name }: ByName): Promise<readonly { readonly priority: number; readonly count: number }[]> =>
    engine.queries.overview.priorities({ queue: name }),
)

/** A paused queue accepts runs and hands out none. */
export const pauseQueue = operation(
  { scope: 'admin', shared: true },
  async ({ engine, caller }, { name, paused }: ByName & { readonly paused: boolean }): Promise<AsOf> => {
    await engine.pauseQueue({ queue: name, paused, actor: actorOf(caller) })
    return { now: await engine.queries.now() }
  },
)

const EMPTY: Omit<QueueStats, 'name'> = {
  paused: false,
  available: 0,
  scheduled: 0,
  retryable: 0,
  held: 0,
  active: 0,
  accuracy: 'exact',
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  retried: 0,
  minutes: [],
}
