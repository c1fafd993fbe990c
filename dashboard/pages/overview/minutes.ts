/** Columns of a chart from counts by minute, in which minutes without counts are missing. */

interface Minute {
  readonly minute: string
  readonly started: number
  readonly succeeded: number
  readonly failed: number
}

const MINUTES = 60

/** Seconds since 1970, then started, succeeded and failed, for the hour that ends now. */
export function minutesOf(
  now: string,
  counted: readonly Minute[],
): readonly [readonly number[], readonly number[], readonly number[], readonly number[]] {
  const first = Math.floor(Date.parse(now) / 60_000) - MINUTES + 1
  const times = Array.from({ length: MINUTES }, (_, i) => (first + i) * 60)
  const column = (of: (minute: Minute) => number): readonly number[] => {
    const values = new Array<number>(MINUTES).fill(0)
    for (const minute of counted) {
      const at = Math.floor(Date.parse(minute.minute) / 60_000) - first
      if (at >= 0 && at < MINUTES) values[at] = (values[at] ?? 0) + of(minute)
    }
    return values
  }
  return [times, column(({ started }) => started), column(({ succeeded }) => succeeded), column(({ failed }) => failed)]
}
