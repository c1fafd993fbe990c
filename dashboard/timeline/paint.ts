/** Paints the lines that are in view: waiting is hatched and says why, running has a colour, failures and votes a sign. */
import { span } from '../ui/moments.tsx'
import { FONT, fitting, type Palette } from '../ui/palette.ts'
import { lookOf } from '../ui/state.tsx'
import { type Axis, ticksOf } from './axis.ts'
import type { Row, Segment } from './decode.ts'
import type { Lane } from './lanes.ts'
import type { Range } from './view.ts'

export const LANE = 26
export const HEAD = 34

export interface TimelinePicture {
  readonly lanes: readonly Lane[]
  readonly axis: Axis
  readonly range: Range
  /** Pixels of the list above the first visible line. */
  readonly scroll: number
  readonly width: number
  readonly height: number
  /** Width of the names. */
  readonly names: number
  readonly palette: Palette
  /** What waits. */
  readonly hatch: CanvasPattern | string
  readonly now: number
  /** Whether it has not ended. */
  readonly isLive: boolean
  /** Index of a line. */
  readonly selected: number | null
  readonly hovered: number | null
  /** A stretch that is being chosen, in pixels. */
  readonly brush: { readonly from: number; readonly to: number } | null
}

type Context = CanvasRenderingContext2D

/** Pixels of a position on the axis. */
export function xOf({ range, width, names }: TimelinePicture, position: number): number {
  return names + ((position - range.from) / (range.to - range.from)) * (width - names)
}

export function positionAt({ range, width, names }: TimelinePicture, x: number): number {
  return range.from + ((x - names) / (width - names)) * (range.to - range.from)
}

export function paintTimeline(context: Context, picture: TimelinePicture, ratio: number): void {
  const { width, height, palette, names, lanes, scroll } = picture
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.fillStyle = palette.card
  context.fillRect(0, 0, width, height)
  context.textBaseline = 'middle'
  const first = Math.max(0, Math.floor(scroll / LANE))
  const last = Math.min(lanes.length, Math.ceil((scroll + height - HEAD) / LANE))
  clipped(context, [0, HEAD, width, height - HEAD], () => {
    for (let i = first; i < last; i++) shade(context, picture, i)
    clipped(context, [names, HEAD, width - names, height - HEAD], () => {
      paintGrid(context, picture)
      for (let i = first; i < last; i++) paintLane(context, picture, lanes[i]!, HEAD + i * LANE - scroll)
    })
    for (let i = first; i < last; i++) paintName(context, picture, lanes[i]!, HEAD + i * LANE - scroll)
  })
  paintHead(context, picture)
  paintBrush(context, picture)
}

function clipped(context: Context, box: readonly [number, number, number, number], paint: () => void): void {
  context.save()
  context.beginPath()
  context.rect(...box)
  context.clip()
  paint()
  context.restore()
}

function shade(context: Context, { palette, width, scroll, selected, hovered, lanes }: TimelinePicture, i: number) {
  const y = HEAD + i * LANE - scroll
  const isInner = lanes[i]!.depth === 1
  if (i !== selected && i !== hovered && !isInner) return
  context.fillStyle = i === selected ? palette.selected : palette.bg
  context.fillRect(0, y, width, LANE)
}

function paintName(context: Context, { palette, names }: TimelinePicture, lane: Lane, y: number): void {
  const { shape, tone } = lookOf(lane.state)
  const left = 8 + lane.depth * 18
  context.font = `600 12px ${FONT}`
  context.fillStyle = palette.dim
  if (lane.isOpen !== null) context.fillText(lane.isOpen ? '▾' : '▸', left, y + LANE / 2)
  context.fillStyle = palette.ink[tone]
  context.fillText(shape, left + 14, y + LANE / 2)
  context.font = `${lane.depth === 0 ? 600 : 400} 12px ${FONT}`
  context.fillStyle = palette.text
  context.fillText(fitting(context, lane.label, names - left - 38), left + 32, y + LANE / 2)
}

/** Pixels; shorter ones are drawn as one line each, and those at the same pixel only once. */
const LEAST = 1.5

function paintLane(context: Context, picture: TimelinePicture, lane: Lane, y: number): void {
  const { axis, now, width, names } = picture
  let lastWait = Number.NEGATIVE_INFINITY
  let lastRun = Number.NEGATIVE_INFINITY
  // What runs is drawn over what waits.
  for (const runs of [false, true]) {
    for (const row of lane.rows) {
      for (const segment of row.segments) {
        if ((segment.waits === null) !== runs) continue
        const x = xOf(picture, axis.toPosition(segment.from))
        const end = xOf(picture, axis.toPosition(segment.to ?? now))
        const last = runs ? lastRun : lastWait
        if (end < names || x > width || end <= last + 0.5) continue
        paintSegment(context, picture, { lane, row, segment, x, end: Math.max(end, x + LEAST), y })
        if (runs) lastRun = end
        else lastWait = end
      }
    }
  }
  for (const row of lane.rows.length > 50 ? [] : lane.rows) paintSigns(context, picture, row, y)
}

interface Painted {
  readonly lane: Lane
  readonly row: Row
  readonly segment: Segment
  readonly x: number
  readonly end: number
  readonly y: number
}

function paintSegment(context: Context, picture: TimelinePicture, { lane, row, segment, x, end, y }: Painted): void {
  const { palette, hatch, names, width } = picture
  const left = Math.max(x, names - 4)
  const size = Math.min(end, width + 4) - left
  if (segment.waits !== null) {
    context.fillStyle = hatch
    context.fillRect(left, y + 8, size, LANE - 16)
    if (size > 70) {
      context.font = `10px ${FONT}`
      context.fillStyle = palette.card
      const text = waitWords(segment.waits, row.kind)
      const wide = context.measureText(text).width
      if (wide > size - 16) return
      context.fillRect(left + 6, y + 7, wide + 6, LANE - 14)
      context.fillStyle = palette.dim
      context.fillText(text, left + 9, y + LANE / 2)
    }
    return
  }
  const isFailed = segment.error !== null || (segment.to !== null && row.state === 'failed' && segment.to === row.to)
  const tone = isFailed ? 'bad' : lane.isUndo ? 'back' : segment.to === null ? 'active' : 'good'
  context.fillStyle = palette.ink[tone]
  context.globalAlpha = lane.rows.length > 1 ? 0.7 : 1
  context.fillRect(left, y + 5, size, LANE - 10)
  context.globalAlpha = 1
  if (segment.to === null) arrow(context, end, y)
  // Those of several firings or items lie on top of each other.
  if (size < 34 || lane.rows.length > 1) return
  context.font = `600 10px ${FONT}`
  context.fillStyle = palette.card
  const sign = isFailed ? '✕ ' : lane.isUndo ? '↶ ' : ''
  const took = span((segment.to ?? picture.now) - segment.from)
  const text = segment.attempt > 1 ? `${sign}${took} · attempt ${segment.attempt}` : `${sign}${took}`
  context.fillText(fitting(context, text, size - 10), left + 6, y + LANE / 2)
}

/** It continues. */
function arrow(context: Context, x: number, y: number): void {
  context.beginPath()
  context.moveTo(x, y + 5)
  context.lineTo(x + 6, y + LANE / 2)
  context.lineTo(x, y + LANE - 5)
  context.fill()
}

export function waitWords(waits: string, kind: string): string {
  if (waits === 'gate') return kind === 'gate' ? 'waits for a decision' : 'waits for an approval'
  return WAIT_WORDS[waits] ?? waits
}

const WAIT_WORDS: Readonly<Record<string, string>> = {
  scheduled: 'due later',
  activation: 'held until it is activated',
  paused: 'paused',
  retry: 'waits for the next attempt',
  queue: 'waits for a worker',
  start: 'held, not started',
  completion: 'completed later by its id',
  child: 'nothing of it has begun',
  ended: 'had ended',
}

/** Failed attempts, votes, and who decided. */
function paintSigns(context: Context, picture: TimelinePicture, row: Row, y: number): void {
  const { axis, palette, now } = picture
  context.textAlign = 'center'
  context.font = `600 11px ${FONT}`
  for (const { at, approved } of row.gate?.votes ?? []) {
    const x = xOf(picture, axis.toPosition(Date.parse(at)))
    context.fillStyle = palette.ink[approved ? 'good' : 'bad']
    context.fillText(approved ? '✓' : '✕', x, y + LANE / 2)
  }
  context.textAlign = 'left'
  const by = row.gate?.decided_by ?? null
  if (by === null) return
  const { shape, tone } = lookOf(row.state)
  const x = xOf(picture, axis.toPosition(row.to ?? now))
  context.fillStyle = palette.ink[tone]
  context.fillText(`${shape} ${by.slice(0, 40)}`, x + 6, y + LANE / 2)
}

function ticks(picture: TimelinePicture): readonly { readonly at: number; readonly x: number }[] {
  const { axis, range, width, names } = picture
  const [from, to] = [axis.toTime(range.from), axis.toTime(range.to)]
  // Bands make the seen time much longer than what the ticks divide.
  const hidden = axis.bands.reduce((sum, band) => {
    const size = Math.min(band.to, to) - Math.max(band.from, from)
    return band.isOpen || size <= 0 ? sum : sum + size
  }, 0)
  const room = Math.max(2, Math.floor((width - names) / 110))
  const many = Math.min(2000, Math.ceil((room * (to - from)) / Math.max(1, to - from - hidden)))
  const isHidden = (at: number) => axis.bands.some((band) => !band.isOpen && at > band.from && at < band.to)
  const all = ticksOf(from, to, many, new Date(from).getTimezoneOffset())
  return all.filter((at) => !isHidden(at)).map((at) => ({ at, x: xOf(picture, axis.toPosition(at)) }))
}

function paintGrid(context: Context, picture: TimelinePicture): void {
  const { palette, height, axis, now, names, width } = picture
  context.fillStyle = palette.line
  for (const { x } of ticks(picture)) context.fillRect(x, HEAD, 1, height)
  for (const band of axis.bands) {
    if (band.isOpen) continue
    const left = xOf(picture, axis.toPosition(band.from))
    const right = xOf(picture, axis.toPosition(band.to))
    if (right < names || left > width) continue
    context.fillStyle = palette.bg
    context.fillRect(left, HEAD, right - left, height)
    context.strokeStyle = palette.dim
    context.lineWidth = 1
    for (const x of [left, right]) zigzag(context, x, HEAD, height)
  }
  if (picture.isLive) {
    const x = xOf(picture, axis.toPosition(now))
    context.fillStyle = palette.accent
    context.fillRect(x, HEAD, 1, height)
  }
}

function zigzag(context: Context, x: number, from: number, to: number): void {
  context.beginPath()
  context.moveTo(x, from)
  for (let y = from, i = 0; y < to; y += 7, i++) context.lineTo(x + (i % 2 === 0 ? -2.5 : 2.5), y)
  context.stroke()
}

function paintHead(context: Context, picture: TimelinePicture): void {
  const { palette, width, names, axis } = picture
  context.fillStyle = palette.card
  context.fillRect(0, 0, width, HEAD)
  context.fillStyle = palette.line
  context.fillRect(0, HEAD - 1, width, 1)
  context.fillRect(names - 1, 0, 1, picture.height)
  clipped(context, [names, 0, width - names, HEAD], () => {
    context.font = `11px ${FONT}`
    context.fillStyle = palette.dim
    const marks = ticks(picture)
    const isShort = marks.some(({ at }) => at % 1000 !== 0)
    let free = Number.NEGATIVE_INFINITY
    for (const { at, x } of marks) {
      const text = clock(at, isShort, axis.to - axis.from > 86_400_000)
      if (x < free) continue
      context.fillText(text, x + 4, 22)
      free = x + context.measureText(text).width + 14
    }
    for (const band of axis.bands) paintBandHead(context, picture, band)
  })
}

function paintBandHead(context: Context, picture: TimelinePicture, band: Axis['bands'][number]): void {
  const { axis, palette } = picture
  const left = xOf(picture, axis.toPosition(band.from))
  const right = xOf(picture, axis.toPosition(band.to))
  const text = `${band.isOpen ? '▾' : '▸'} ${span(band.to - band.from)} idle`
  context.font = `600 10px ${FONT}`
  const wide = context.measureText(text).width
  // Beside a narrow band, and inside the picture.
  const begin = Math.min(Math.max(left + 3, (left + right - wide) / 2), picture.width - wide - 4)
  context.fillStyle = palette.fill.quiet
  context.fillRect(left, 2, Math.max(3, right - left), 12)
  context.fillStyle = palette.ink.quiet
  context.fillText(text, begin, 8.5)
}

function clock(at: number, isShort: boolean, isLong: boolean): string {
  const date = new Date(at)
  const time = date.toLocaleTimeString(undefined, { hour12: false })
  if (isShort) return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
  return isLong ? `${date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })} ${time.slice(0, 5)}` : time
}

function paintBrush(context: Context, { brush, palette, height }: TimelinePicture): void {
  if (brush === null) return
  context.fillStyle = palette.selected
  context.globalAlpha = 0.55
  context.fillRect(Math.min(brush.from, brush.to), 0, Math.abs(brush.to - brush.from), height)
  context.globalAlpha = 1
}
