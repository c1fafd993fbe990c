/** Numbers of the whole server, of all tenants together. */
import type { EngineApi } from '../../engine/api.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { QueueStats, UniqueHolder } from '../../model/queries/overview.ts'
import type { RunRow, WorkerRow } from '../../model/rows.ts'
import { operation } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'
import { activeRuns } from '../workers/workers.ts'

const OF_ALL = { scope: 'read', shared: true } as const

const MOST_POINTS = 1_500
/** How long the store keeps single minutes. */
const KEPT_MS = 3 * 86_400_000
/** By default, history covers the last hour, or one point if that is longer. */
const HOUR_MS = 3_600_000

export interface ServerStats {
  readonly queues: readonly QueueStats[]
  readonly workers: readonly WorkerRow[]
  readonly now: number
}

/** `minutes`: how many of the last are counted separately, for rates. */
export const serverStats = operation(
  OF_ALL,
  ({ engine }, { minutes }: { readonly minutes: number }): Promise<ServerStats> => read(engine, minutes),
)

/** The same, with the runs that are active; null: too many to read. */
export const sampleServer = operation(
  OF_ALL,
  async (
    { engine },
    { minutes }: { readonly minutes: number },
  ): Promise<ServerStats & { readonly active: readonly RunRow[] | null }> => {
    const [stats, active] = await Promise.all([read(engine, minutes), activeRuns(engine)])
    return { ...stats, active }
  },
)

/** Ended runs between two times, in points of one size, oldest first. */
export interface HistoryAsked {
  readonly sizeMs: number
  /** null: now. */
  readonly until: number | null
  /** null: an hour before `until`, or one point if that is longer. */
  readonly since: number | null
  /** null: of all. */
  readonly queue: string | null
}

export interface Point {
  readonly at: number
  readonly succeeded: number
  readonly failed: number
  readonly cancelled: number
  readonly retried: number
}

export const endedOverTime = operation(
  OF_ALL,
  async ({ engine }, { sizeMs, queue, ...asked }: HistoryAsked): Promise<readonly Point[]> => {
    const now = await engine.queries.now()
    const until = asked.until ?? now
    const since = asked.since ?? until - Math.max(HOUR_MS, sizeMs)
    // Older minutes are only kept as a sum.
    const first = Math.max(Math.floor(since / sizeMs) * sizeMs, Math.ceil((now - KEPT_MS) / sizeMs) * sizeMs)
    const count = Math.max(0, Math.ceil((until - first) / sizeMs))
    refuseTooMany(count)
    // The totals of the last second may not be written yet.
    await engine.queueStats({ queue: 'default', minutes: 0 })
    const rows = await engine.queries.totals({ queue, since: first })
    const points = Array.from({ length: count }, (_, i) => ({
      at: first + i * sizeMs,
      succeeded: 0,
      failed: 0,
      cancelled: 0,
      retried: 0,
    }))
    for (const row of rows) {
      const point = row.minute < first ? undefined : points[Math.floor((row.minute - first) / sizeMs)]
      if (point === undefined) continue
      point.succeeded += row.succeeded
      point.failed += row.failed
      point.cancelled += row.cancelled
      point.retried += row.retried
    }
    return points
  },
)

/** Unique keys that are held in the caller's tenant. */
export const listUniqueKeys = operation(
  { scope: 'read' },
  async (
    { engine, caller: { tenant } },
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<Page<UniqueHolder> & { readonly now: number }> => {
    const [page, now] = await Promise.all([
      pageOf(limit, (most) => engine.queries.overview.uniques({ tenant, limit: most, offset })),
      engine.queries.now(),
    ])
    return { ...page, now }
  },
)

function refuseTooMany(points: number): void {
  if (points <= MOST_POINTS) return
  throw new PetrelError('invalid_request', `that is ${points} points; the most in one answer is ${MOST_POINTS}`, {
    parameter: 'since',
    hint: 'Ask for a longer period, or for less time.',
  })
}

async function read(engine: EngineApi, minutes: number): Promise<ServerStats> {
  const [queues, workers, now] = await Promise.all([
    engine.queueStats({ queue: null, minutes }),
    engine.queries.workers(),
    engine.queries.now(),
  ])
  return { queues, workers, now }
}
