/** How far a bulk operation is, how fast it goes and when it will have ended. */

export interface Counted {
  readonly matched: number
  readonly pending: number
  readonly succeeded: number
  readonly refused: number
  readonly failed: number
  readonly selecting: boolean
}

/** What was settled at some time. */
export interface Sample {
  readonly at: number
  readonly settled: number
}

const WINDOW_MS = 30_000
/** A speed from less than this is a guess. */
const LEAST_MS = 2_000

export function settledOf({ succeeded, refused, failed }: Counted): number {
  return succeeded + refused + failed
}

/** From 0 to 1. What is still being selected is not known, so it never shows as complete before the end. */
export function shareOf(operation: Counted): number {
  const { matched, selecting } = operation
  if (matched === 0) return selecting ? 0 : 1
  const share = settledOf(operation) / matched
  return selecting ? Math.min(share, 0.95) : share
}

/** The samples of the last half minute with a new one; the one before the window stays as its beginning. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1)
  // A count that falls belongs to another operation, or to a server that counted again.
  if (last !== undefined && sample.settled < last.settled) return [sample]
  const all = [...samples, sample]
  const first = all.findIndex(({ at }) => at >= sample.at - WINDOW_MS)
  return all.slice(Math.max(0, first - 1))
}

/** Items per minute as observed; null: not observed for long enough. */
export function speedOf(samples: readonly Sample[]): number | null {
  const first = samples[0]
  const last = samples.at(-1)
  if (first === undefined || last === undefined || last.at - first.at < LEAST_MS) return null
  return ((last.settled - first.settled) / (last.at - first.at)) * 60_000
}

/** Until it has ended, by the observed speed, or else by the ordered rate; null: not known. */
export function remainingMs({ pending, selecting }: Counted, speed: number | null, rate: number | null): number | null {
  const perMinute = speed === null || speed === 0 ? rate : speed
  if (selecting || perMinute === null || perMinute <= 0) return null
  return (pending / perMinute) * 60_000
}
