/**
 * The picture of instances as dots: when they were created, from left to right, and how long they took, upwards on a
 * logarithmic scale. Pure: plot.tsx draws it.
 */

export interface Dot {
  readonly id: string
  readonly name: string
  readonly state: string
  /** When it was created. */
  readonly at: number
  /** Until its end, or until now. */
  readonly tookMs: number
}

export interface Frame {
  readonly width: number
  readonly height: number
  readonly from: number
  readonly to: number
  readonly leastMs: number
  readonly mostMs: number
}

export interface Tick {
  readonly at: number
  readonly label: string
}

/** Room for the labels, left and below. */
export const LEFT = 52
export const BELOW = 18
const EDGE = 8

const SECOND = 1_000
const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 86_400_000

/** null: there is nothing to draw. */
export function frameOf(dots: readonly Dot[], size: { readonly width: number; readonly height: number }): Frame | null {
  if (dots.length === 0) return null
  let from = Number.POSITIVE_INFINITY
  let to = Number.NEGATIVE_INFINITY
  let least = Number.POSITIVE_INFINITY
  let most = 1
  for (const { at, tookMs } of dots) {
    from = Math.min(from, at)
    to = Math.max(to, at)
    least = Math.min(least, Math.max(1, tookMs))
    most = Math.max(most, tookMs)
  }
  // A single moment gets a width, and durations at least one decade.
  const missing = Math.max(0, SECOND - (to - from)) / 2
  return {
    ...size,
    from: from - missing,
    to: to + missing,
    leastMs: 10 ** Math.floor(Math.log10(least)),
    mostMs: 10 ** Math.max(Math.floor(Math.log10(least)) + 1, Math.ceil(Math.log10(most))),
  }
}

export function xOf({ width, from, to }: Frame, at: number): number {
  return LEFT + EDGE + ((at - from) / (to - from)) * (width - LEFT - 2 * EDGE)
}

export function yOf({ height, leastMs, mostMs }: Frame, tookMs: number): number {
  const share = Math.log(Math.max(1, tookMs) / leastMs) / Math.log(mostMs / leastMs)
  return height - BELOW - EDGE - share * (height - BELOW - 2 * EDGE)
}

function timeAt({ width, from, to }: Frame, x: number): number {
  return from + ((x - LEFT - EDGE) / (width - LEFT - 2 * EDGE)) * (to - from)
}

function tookAt({ height, leastMs, mostMs }: Frame, y: number): number {
  const share = (height - BELOW - EDGE - y) / (height - BELOW - 2 * EDGE)
  return leastMs * (mostMs / leastMs) ** share
}

/** The dot nearest to a point; null: none is near. */
export function nearest(dots: readonly Dot[], frame: Frame, x: number, y: number, within = 10): Dot | null {
  let found: Dot | null = null
  let least = within * within
  for (const dot of dots) {
    const distance = (xOf(frame, dot.at) - x) ** 2 + (yOf(frame, dot.tookMs) - y) ** 2
    if (distance > least) continue
    least = distance
    found = dot
  }
  return found
}

export interface Box {
  readonly x1: number
  readonly y1: number
  readonly x2: number
  readonly y2: number
}

/** A side of a brush that covers nearly all is no filter. */
const NEARLY_ALL = 0.92

/** What a brush means: `age:<2h age:>1h took:>=10s`. Empty: everything. */
export function brushed(frame: Frame, { x1, y1, x2, y2 }: Box, now: number): string {
  const [left, right] = [Math.min(x1, x2), Math.max(x1, x2)]
  const [top, bottom] = [Math.min(y1, y2), Math.max(y1, y2)]
  const filters: string[] = []
  if (right - left < NEARLY_ALL * (frame.width - LEFT)) {
    filters.push(`age:<=${spanUp(now - timeAt(frame, left))}`)
    const youngest = now - timeAt(frame, right)
    if (youngest > 0) filters.push(`age:>=${spanDown(youngest)}`)
  }
  if (bottom - top < NEARLY_ALL * (frame.height - BELOW)) {
    filters.push(`took:>=${spanDown(tookAt(frame, bottom))}`, `took:<=${spanUp(tookAt(frame, top))}`)
  }
  return filters.join(' ')
}

/** Rounded to about one part in a hundred, so that nothing that was marked is lost. */
export function spanUp(ms: number): string {
  return spanText(ms, Math.ceil)
}

export function spanDown(ms: number): string {
  return spanText(ms, Math.floor)
}

const UNITS = [
  ['d', DAY],
  ['h', HOUR],
  ['m', MINUTE],
  ['s', SECOND],
] as const

function spanText(ms: number, round: (value: number) => number): string {
  const [unit, size] = UNITS.find(([, unitMs]) => ms >= 100 * unitMs) ?? (['ms', 1] as const)
  return `${round(Math.max(0, ms) / size)}${unit}`
}

const STEPS = [
  SECOND,
  5 * SECOND,
  15 * SECOND,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  7 * DAY,
  30 * DAY,
]
const MOST_TICKS = 8

/** Times at round numbers of the clock of the user. `offsetMs`: of its time zone. */
export function timeTicks({ from, to, width }: Frame, offsetMs: number): readonly Tick[] {
  const most = Math.max(2, Math.min(MOST_TICKS, Math.floor(width / 110)))
  const step = STEPS.find((one) => (to - from) / one <= most) ?? Math.ceil((to - from) / most / DAY) * DAY
  const ticks: Tick[] = []
  for (let at = Math.ceil((from + offsetMs) / step) * step - offsetMs; at <= to; at += step) {
    ticks.push({ at, label: clock(at + offsetMs, step) })
  }
  return ticks
}

function clock(local: number, step: number): string {
  const text = new Date(local).toISOString()
  if (step >= DAY) return text.slice(5, 10)
  if (step < MINUTE) return text.slice(11, 19)
  return local % DAY === 0 ? text.slice(5, 10) : text.slice(11, 16)
}

const DURATIONS: readonly (readonly [number, string])[] = [
  [1, '1 ms'],
  [10, '10 ms'],
  [100, '0.1 s'],
  [SECOND, '1 s'],
  [10 * SECOND, '10 s'],
  [MINUTE, '1 m'],
  [10 * MINUTE, '10 m'],
  [HOUR, '1 h'],
  [6 * HOUR, '6 h'],
  [DAY, '1 d'],
  [10 * DAY, '10 d'],
  [100 * DAY, '100 d'],
]

/** Durations, not closer than their labels are high. */
export function tookTicks(frame: Frame): readonly Tick[] {
  const ticks: Tick[] = []
  let last = Number.POSITIVE_INFINITY
  for (const [at, label] of DURATIONS) {
    if (at < frame.leastMs || at > frame.mostMs) continue
    const y = yOf(frame, at)
    if (last - y < 16) continue
    ticks.push({ at, label })
    last = y
  }
  return ticks
}
