/** How times are distributed: counted by the upper bounds of buckets, the last of which has none. */
import { list, nullable, number, object, type Value, whole } from '../schema.ts'

export const Buckets = list(object({ up_to_seconds: nullable(number('null: any longer time.')), count: whole() }))

export interface Spread {
  readonly count: number
  readonly mean_seconds: number | null
  readonly p50_seconds: number | null
  readonly p95_seconds: number | null
  readonly buckets: Value<typeof Buckets>
}

/** Of several minutes: the counts by bucket of each, and the time of all that they count. */
export function spread(p: {
  readonly boundsMs: readonly number[]
  readonly counts: readonly (readonly number[])[]
  readonly totalMs: number
}): Spread {
  const counts = [...p.boundsMs, null].map((_, at) => p.counts.reduce((sum, one) => sum + (one[at] ?? 0), 0))
  const count = counts.reduce((sum, one) => sum + one, 0)
  const secondsAt = (bucket: number): number | null => {
    const bound = p.boundsMs[bucket]
    return bound === undefined ? null : bound / 1000
  }
  return {
    count,
    mean_seconds: count === 0 ? null : Math.round(p.totalMs / count) / 1000,
    p50_seconds: secondsAt(bucketOf(counts, 0.5 * count)),
    p95_seconds: secondsAt(bucketOf(counts, 0.95 * count)),
    buckets: counts.map((one, at) => ({ up_to_seconds: secondsAt(at), count: one })),
  }
}

/** The first bucket with which this many are counted; -1: there are none. */
function bucketOf(counts: readonly number[], wanted: number): number {
  if (wanted === 0) return -1
  let below = 0
  return counts.findIndex((count) => {
    below += count
    return below >= wanted
  })
}
