/** The canvas of a timeline: which part is seen, what is pointed at, and painting at most once a frame. */
import { onThemeChange, type Palette, readPalette } from '../ui/palette.ts'
import type { Axis } from './axis.ts'
import type { Segment } from './decode.ts'
import type { Lane } from './lanes.ts'
import { HEAD, LANE, paintTimeline, positionAt, type TimelinePicture, xOf } from './paint.ts'
import { following, mixed, type Range, shifted, whole, zoomedRange } from './view.ts'

export interface Pointed {
  readonly lane: number
  readonly segment: Segment | null
}

export interface TimelineEvents {
  readonly onPoint: (pointed: Pointed | null) => void
  readonly onChoose: (lane: number) => void
  readonly onToggle: (lane: number) => void
  readonly onBand: (from: number) => void
  /** The user has moved the view, and no longer follows the end. */
  readonly onMove: () => void
}

interface Shown {
  readonly lanes: readonly Lane[]
  readonly axis: Axis
  readonly selected: number | null
  readonly now: number
  readonly isLive: boolean
}

const MOVE_MS = 220
const CLICK_PIXELS = 4

export class TimelineStage {
  readonly #canvas: HTMLCanvasElement
  readonly #scroller: HTMLElement
  readonly #events: TimelineEvents
  readonly #stop: (() => void)[] = []
  #palette: Palette = readPalette()
  #hatch: CanvasPattern | string = ''
  #shown: Shown | null = null
  /** null: everything. */
  #range: Range | null = null
  #move: { readonly from: Range; readonly to: Range | null; readonly since: number } | null = null
  #follows = false
  #hovered: number | null = null
  #brush: { from: number; to: number } | null = null
  #drag: { x: number; y: number; moved: number } | null = null
  #frame = 0

  constructor(canvas: HTMLCanvasElement, scroller: HTMLElement, events: TimelineEvents) {
    this.#canvas = canvas
    this.#scroller = scroller
    this.#events = events
    const observer = new ResizeObserver(() => this.#paint())
    observer.observe(scroller)
    const onTheme = (): void => {
      this.#palette = readPalette()
      this.#hatch = ''
      this.invalidate()
    }
    const all: readonly (readonly [HTMLElement, string, (event: never) => void])[] = [
      [scroller, 'scroll', () => this.invalidate()],
      [scroller, 'wheel', (event: WheelEvent) => this.#onWheel(event)],
      [canvas, 'pointerdown', (event: PointerEvent) => this.#onDown(event)],
      [canvas, 'pointermove', (event: PointerEvent) => this.#onMove(event)],
      [canvas, 'pointerup', (event: PointerEvent) => this.#onUp(event)],
      [canvas, 'pointercancel', () => this.#end()],
      [canvas, 'pointerleave', () => this.#point(null)],
    ]
    for (const [on, name, listener] of all) {
      on.addEventListener(name, listener as unknown as EventListener, { passive: false })
      this.#stop.push(() => on.removeEventListener(name, listener as unknown as EventListener))
    }
    this.#stop.push(() => observer.disconnect(), onThemeChange(onTheme))
  }

  close(): void {
    for (const stop of this.#stop) stop()
    cancelAnimationFrame(this.#frame)
  }

  show(shown: Shown): void {
    this.#shown = shown
    if (this.#follows && this.#range !== null && this.#move === null) {
      this.#to(following(this.#range, shown.axis.length))
    }
    this.invalidate()
  }

  invalidate(): void {
    if (this.#frame !== 0) return
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0
      this.#paint()
    })
  }

  fit(): void {
    this.#to(null)
  }

  follow(follows: boolean): void {
    this.#follows = follows
    if (follows && this.#shown !== null) this.#to(following(this.#current(), this.#shown.axis.length))
  }

  zoom(factor: number, share = 0.5): void {
    if (this.#shown === null) return
    this.#range = zoomedRange(this.#current(), factor, share, this.#shown.axis.length)
    this.#byUser()
  }

  /** By a share of what is seen. */
  shift(share: number): void {
    if (this.#shown === null) return
    const range = this.#current()
    this.#range = shifted(range, (range.to - range.from) * share, this.#shown.axis.length)
    this.#byUser()
  }

  /** Brings a line into view, and its beginning. */
  reveal(lane: number): void {
    const box = this.#scroller
    const top = lane * LANE
    if (top < box.scrollTop) box.scrollTop = top
    else if (top + LANE > box.scrollTop + box.clientHeight - HEAD) {
      box.scrollTop = top + LANE - box.clientHeight + HEAD
    }
    const shown = this.#shown
    const row = shown?.lanes[lane]?.rows[0]
    if (shown === null || row === undefined || this.#range === null) return
    const position = shown.axis.toPosition(row.from)
    if (position >= this.#range.from && position <= this.#range.to) return
    const size = this.#range.to - this.#range.from
    this.#to({ from: position - size * 0.1, to: position + size * 0.9 })
  }

  #current(): Range {
    return this.#range ?? whole(this.#shown?.axis.length ?? 1)
  }

  #to(to: Range | null): void {
    const isStill = window.matchMedia('(prefers-reduced-motion: reduce)').matches
    if (isStill) this.#range = to
    else this.#move = { from: this.#current(), to, since: performance.now() }
    this.invalidate()
  }

  #byUser(): void {
    this.#move = null
    this.#follows = false
    this.#events.onMove()
    this.invalidate()
  }

  #picture(): TimelinePicture | null {
    const shown = this.#shown
    const { clientWidth: width, clientHeight: height, scrollTop: scroll } = this.#scroller
    if (shown === null || width === 0) return null
    const names = Math.min(240, Math.round(width * 0.32))
    const place = { range: this.#current(), scroll, width, height, names }
    const look = { palette: this.#palette, hatch: this.#hatch, hovered: this.#hovered, brush: this.#brush }
    return { ...shown, ...place, ...look }
  }

  #paint(): void {
    const context = this.#canvas.getContext('2d', { alpha: false })
    this.#advance()
    const { clientWidth: width, clientHeight: height } = this.#scroller
    const ratio = window.devicePixelRatio
    if (this.#canvas.width !== Math.round(width * ratio) || this.#canvas.height !== Math.round(height * ratio)) {
      this.#canvas.width = Math.round(width * ratio)
      this.#canvas.height = Math.round(height * ratio)
      this.#canvas.style.width = `${width}px`
      this.#canvas.style.height = `${height}px`
    }
    if (context !== null && this.#hatch === '') this.#hatch = hatched(context, this.#palette)
    const picture = this.#picture()
    if (picture === null || context === null) return
    paintTimeline(context, picture, this.#canvas.width / width)
    if (this.#move !== null) this.invalidate()
  }

  #advance(): void {
    if (this.#move === null) return
    const { from, to, since } = this.#move
    const t = Math.min(1, (performance.now() - since) / MOVE_MS)
    const target = to ?? whole(this.#shown?.axis.length ?? 1)
    this.#range = t === 1 ? to : mixed(from, target, 1 - (1 - t) ** 3)
    if (t === 1) this.#move = null
  }

  #at(event: MouseEvent): { readonly x: number; readonly y: number } {
    const { left, top } = this.#canvas.getBoundingClientRect()
    return { x: event.clientX - left, y: event.clientY - top }
  }

  #laneAt(y: number): number | null {
    const lane = Math.floor((y - HEAD + this.#scroller.scrollTop) / LANE)
    return y < HEAD || lane >= (this.#shown?.lanes.length ?? 0) ? null : lane
  }

  #onWheel(event: WheelEvent): void {
    const picture = this.#picture()
    if (picture === null) return
    const { x } = this.#at(event)
    const isAcross = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)
    // Over the names, and without a key where there are more lines than room, the wheel scrolls the lines.
    const scrolls = picture.lanes.length * LANE > picture.height - HEAD && !event.ctrlKey && !event.altKey
    if (isAcross) {
      event.preventDefault()
      this.shift((event.deltaX || event.deltaY) / (picture.width - picture.names))
    } else if (x >= picture.names && (!scrolls || this.#at(event).y < HEAD)) {
      event.preventDefault()
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), shareAt(picture, x))
    }
  }

  #onDown(event: PointerEvent): void {
    if (event.button !== 0) return
    const { x, y } = this.#at(event)
    const picture = this.#picture()
    if (picture === null) return
    this.#drag = { x, y, moved: 0 }
    if (x > picture.names && (y < HEAD || event.shiftKey)) this.#brush = { from: x, to: x }
    this.#canvas.setPointerCapture(event.pointerId)
  }

  #onMove(event: PointerEvent): void {
    const { x, y } = this.#at(event)
    const picture = this.#picture()
    if (picture === null) return
    if (this.#drag === null) {
      this.#point(this.#pointedAt(picture, x, y))
      this.#canvas.style.cursor = x < picture.names ? 'pointer' : y < HEAD ? 'col-resize' : 'default'
      return
    }
    this.#drag.moved += Math.abs(x - this.#drag.x) + Math.abs(y - this.#drag.y)
    if (this.#brush !== null) {
      this.#brush = { from: this.#brush.from, to: Math.max(picture.names, x) }
      this.invalidate()
    } else if (this.#drag.moved > CLICK_PIXELS) {
      this.shift((this.#drag.x - x) / (picture.width - picture.names))
      this.#scroller.scrollTop += this.#drag.y - y
    }
    this.#drag = { x, y, moved: this.#drag.moved }
  }

  #onUp(event: PointerEvent): void {
    const picture = this.#picture()
    const drag = this.#drag
    const brush = this.#brush
    this.#end()
    if (picture === null || drag === null) return
    const { x, y } = this.#at(event)
    if (drag.moved > CLICK_PIXELS) {
      if (brush === null || Math.abs(brush.to - brush.from) < 6) return
      const ends = [positionAt(picture, brush.from), positionAt(picture, brush.to)].sort((a, b) => a - b)
      this.#byUser()
      this.#to({ from: ends[0]!, to: Math.max(ends[1]!, ends[0]! + 2) })
      return
    }
    const lane = this.#laneAt(y)
    if (y < HEAD) {
      const band = picture.axis.bands.find(({ from, to }) => {
        const [left, right] = [from, to].map((at) => xOf(picture, picture.axis.toPosition(at))) as [number, number]
        return x >= left - 4 && x <= right + 4
      })
      if (band !== undefined) this.#events.onBand(band.from)
    } else if (lane !== null) {
      const isToggle = x < 26 && picture.lanes[lane]!.isOpen !== null
      if (isToggle) this.#events.onToggle(lane)
      else this.#events.onChoose(lane)
    }
  }

  #end(): void {
    this.#drag = null
    this.#brush = null
    this.invalidate()
  }

  #point(pointed: Pointed | null): void {
    if (this.#hovered !== (pointed?.lane ?? null)) {
      this.#hovered = pointed?.lane ?? null
      this.invalidate()
    }
    this.#events.onPoint(pointed)
  }

  #pointedAt(picture: TimelinePicture, x: number, y: number): Pointed | null {
    const lane = this.#laneAt(y)
    if (lane === null) return null
    const slack = (3 / (picture.width - picture.names)) * (picture.range.to - picture.range.from)
    const position = positionAt(picture, x)
    const { axis, now, names } = picture
    if (x < names) return { lane, segment: null }
    const touches = ({ from, to }: Segment): boolean =>
      position >= axis.toPosition(from) - slack && position <= axis.toPosition(to ?? now) + slack
    for (const row of picture.lanes[lane]!.rows) {
      const segment = row.segments.findLast(touches)
      if (segment !== undefined) return { lane, segment }
    }
    return { lane, segment: null }
  }
}

function shareAt({ names, width }: TimelinePicture, x: number): number {
  return Math.min(1, Math.max(0, (x - names) / (width - names)))
}

function hatched(context: CanvasRenderingContext2D, palette: Palette): CanvasPattern | string {
  const tile = document.createElement('canvas')
  tile.width = 6
  tile.height = 6
  const pen = tile.getContext('2d')
  if (pen === null) return palette.fill.quiet
  pen.fillStyle = palette.fill.quiet
  pen.fillRect(0, 0, 6, 6)
  pen.strokeStyle = palette.dim
  pen.globalAlpha = 0.6
  pen.beginPath()
  for (const x of [-6, 0, 6]) {
    pen.moveTo(x, 6)
    pen.lineTo(x + 6, 0)
  }
  pen.stroke()
  return context.createPattern(tile, 'repeat') ?? palette.fill.quiet
}
