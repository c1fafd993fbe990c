/**
 * The axis of time. Stretches in which nothing runs and nothing changes are compressed into bands of one width, so that a
 * night of waiting does not squeeze the minutes of work. A position on the axis is a number of milliseconds in which each
 * band counts as little as the others.
 */
import type { Row } from './decode.ts'

export interface Band {
  readonly from: number
  readonly to: number
  readonly isOpen: boolean
}

export interface Axis {
  readonly from: number
  readonly to: number
  /** In the order of time; those that are open have their natural length. */
  readonly bands: readonly Band[]
  /** Length of the whole, with bands compressed. */
  readonly length: number
  readonly toPosition: (time: number) => number
  readonly toTime: (position: number) => number
}

/** A stretch is idle if it is at least so long, and this share of the time in which something runs. */
const LEAST_MS = 2_000
const LEAST_SHARE = 0.1
/** A little of it stays on either side, so that what happens there is not at the edge. */
const MARGIN = 0.03
/** Length of a band, as a share of the rest. */
const BAND_SHARE = 0.04

export function axisOf(rows: readonly Row[], now: number, open: ReadonlySet<number>): Axis {
  let from = Number.POSITIVE_INFINITY
  let to = Number.NEGATIVE_INFINITY
  const busy: (readonly [number, number])[] = []
  for (const row of rows) {
    from = Math.min(from, row.from)
    to = Math.max(to, row.to ?? now)
    busy.push([row.from, row.from])
    for (const segment of row.segments) {
      const end = segment.to ?? now
      busy.push(segment.waits === null ? [segment.from, end] : [end, end])
    }
    for (const { at } of row.gate?.votes ?? []) busy.push([Date.parse(at), Date.parse(at)])
  }
  if (rows.length === 0) [from, to] = [now - 1000, now]
  if (to - from < 1) to = from + 1
  const bands = idleStretches(busy, from, to).map((band) => ({ ...band, isOpen: open.has(band.from) }))
  return { from, to, bands, ...scaled(from, to, bands) }
}

function idleStretches(busy: (readonly [number, number])[], from: number, to: number) {
  busy.sort(([a], [b]) => a - b)
  let runs = 0
  let last = from
  for (const [begin, until] of busy) {
    runs += Math.max(0, until - Math.max(begin, last))
    last = Math.max(last, until)
  }
  const least = Math.max(LEAST_MS, runs * LEAST_SHARE)
  const found: { readonly from: number; readonly to: number }[] = []
  let end = from
  for (const [begin, until] of [...busy, [to, to] as const]) {
    const margin = Math.min(begin - end, Math.max(runs, 100)) * MARGIN
    if (begin - end >= least) found.push({ from: end + margin, to: begin - margin })
    end = Math.max(end, until)
  }
  return found
}

function scaled(from: number, to: number, bands: readonly Band[]): Pick<Axis, 'length' | 'toPosition' | 'toTime'> {
  const closed = bands.filter(({ isOpen }) => !isOpen)
  const rest = closed.reduce((left, band) => left - (band.to - band.from), to - from)
  const width = Math.max(rest * BAND_SHARE, 1)
  // Pairs of time and position, between which the axis is linear.
  const knots: (readonly [number, number])[] = [[from, 0]]
  for (const band of closed) {
    const [time, position] = knots.at(-1) as readonly [number, number]
    const begin = position + band.from - time
    knots.push([band.from, begin], [band.to, begin + width])
  }
  const [lastTime, lastPosition] = knots.at(-1) as readonly [number, number]
  knots.push([to, lastPosition + to - lastTime])
  const between = (value: number, of: 0 | 1): number => {
    const give = of === 0 ? 1 : 0
    let [low, high] = [0, knots.length - 1]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((knots[middle] as readonly [number, number])[of] <= value) low = middle
      else high = middle
    }
    const [a, b] = [knots[low], knots[high]] as [readonly [number, number], readonly [number, number]]
    const size = b[of] - a[of]
    // Beyond the ends the axis continues as it is there.
    if (size <= 0 || value < a[of] || value > b[of]) return (value < a[of] ? a[give] - a[of] : b[give] - b[of]) + value
    return a[give] + ((value - a[of]) / size) * (b[give] - a[give])
  }
  return {
    length: (knots.at(-1) as readonly [number, number])[1],
    toPosition: (time) => between(time, 0),
    toTime: (position) => between(position, 1),
  }
}

const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((s) => s * 1000),
  ...[1, 2, 5, 10, 15, 30].map((m) => m * 60_000),
  ...[1, 2, 3, 6, 12].map((h) => h * 3_600_000),
  ...[1, 2, 7, 14, 28].map((d) => d * 86_400_000),
]

/** Round times in the range, at most `most` of them. `offset`: minutes of the time zone. */
export function ticksOf(from: number, to: number, most: number, offset = 0): readonly number[] {
  const span = Math.max(1, to - from)
  const step = STEPS.find((one) => span / one <= most) ?? span
  const shift = offset * 60_000
  const ticks: number[] = []
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) ticks.push(at)
  return ticks
}
