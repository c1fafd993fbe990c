/** Draws the dots of instances: a shape for each kind of state, besides its colour. */
import { colour } from '../../browser/theme.ts'
import { lookOf, type Tone } from '../../ui/state.tsx'
import { BELOW, type Box, type Dot, type Frame, LEFT, timeTicks, tookTicks, xOf, yOf } from './dots.ts'

export interface Picture {
  readonly frame: Frame
  readonly dots: readonly Dot[]
  readonly pointed: Dot | null
  readonly brush: Box | null
}

const R = 3.5

const SHAPES: Readonly<Record<Tone, (context: CanvasRenderingContext2D, x: number, y: number) => void>> = {
  good: (context, x, y) => {
    context.beginPath()
    context.arc(x, y, R, 0, 2 * Math.PI)
    context.fill()
  },
  bad: (context, x, y) => {
    context.beginPath()
    context.moveTo(x - R, y - R)
    context.lineTo(x + R, y + R)
    context.moveTo(x + R, y - R)
    context.lineTo(x - R, y + R)
    context.stroke()
  },
  active: (context, x, y) => {
    context.beginPath()
    context.moveTo(x - R, y - R)
    context.lineTo(x + R + 1, y)
    context.lineTo(x - R, y + R)
    context.fill()
  },
  waiting: (context, x, y) => {
    context.beginPath()
    context.arc(x, y, R, 0, 2 * Math.PI)
    context.stroke()
  },
  back: (context, x, y) => {
    context.beginPath()
    context.moveTo(x, y - R - 1)
    context.lineTo(x + R + 1, y)
    context.lineTo(x, y + R + 1)
    context.lineTo(x - R - 1, y)
    context.fill()
  },
  quiet: (context, x, y) => context.strokeRect(x - R + 0.5, y - R + 0.5, 2 * R - 1, 2 * R - 1),
}

/** In the order of the legend. */
export const LEGEND: readonly { readonly tone: Tone; readonly words: string }[] = [
  { tone: 'bad', words: 'failed' },
  { tone: 'active', words: 'running' },
  { tone: 'waiting', words: 'waiting' },
  { tone: 'back', words: 'cancelled or undone' },
  { tone: 'quiet', words: 'not begun' },
  { tone: 'good', words: 'completed' },
]

export function drawShape(canvas: HTMLCanvasElement, tone: Tone): void {
  const context = prepared(canvas, 12, 12)
  if (context === null) return
  context.fillStyle = context.strokeStyle = colour(tone)
  context.lineWidth = 1.5
  SHAPES[tone](context, 6, 6)
}

export function draw(canvas: HTMLCanvasElement, { frame, dots, pointed, brush }: Picture): void {
  const context = prepared(canvas, frame.width, frame.height)
  if (context === null) return
  drawAxes(context, frame)
  context.lineWidth = 1.5
  // Failures last, so that nothing covers them.
  const order: readonly Tone[] = ['good', 'quiet', 'back', 'waiting', 'active', 'bad']
  for (const tone of order) {
    context.fillStyle = context.strokeStyle = colour(tone)
    for (const dot of dots) {
      if (lookOf(dot.state).tone === tone) SHAPES[tone](context, xOf(frame, dot.at), yOf(frame, dot.tookMs))
    }
  }
  if (pointed !== null) {
    context.strokeStyle = colour('text')
    context.beginPath()
    context.arc(xOf(frame, pointed.at), yOf(frame, pointed.tookMs), R + 4, 0, 2 * Math.PI)
    context.stroke()
  }
  if (brush !== null) {
    context.fillStyle = context.strokeStyle = colour('accent')
    const { x1, y1, x2, y2 } = brush
    context.globalAlpha = 0.15
    context.fillRect(x1, y1, x2 - x1, y2 - y1)
    context.globalAlpha = 1
    context.strokeRect(x1, y1, x2 - x1, y2 - y1)
  }
}

function drawAxes(context: CanvasRenderingContext2D, frame: Frame): void {
  const { width, height } = frame
  context.font = '11px system-ui, sans-serif'
  context.lineWidth = 1
  context.textBaseline = 'middle'
  context.textAlign = 'right'
  const line = (x1: number, y1: number, x2: number, y2: number): void => {
    context.strokeStyle = colour('line')
    context.beginPath()
    context.moveTo(x1, y1)
    context.lineTo(x2, y2)
    context.stroke()
  }
  context.fillStyle = colour('dim')
  for (const { at, label } of tookTicks(frame)) {
    const y = Math.round(yOf(frame, at)) + 0.5
    line(LEFT, y, width, y)
    context.fillText(label, LEFT - 6, y)
  }
  context.textAlign = 'center'
  const offsetMs = -new Date(frame.to).getTimezoneOffset() * 60_000
  for (const { at, label } of timeTicks(frame, offsetMs)) {
    const x = Math.round(xOf(frame, at)) + 0.5
    line(x, 0, x, height - BELOW)
    context.fillText(label, Math.min(width - 18, Math.max(LEFT, x)), height - BELOW / 2)
  }
}

/** Cleared, and as sharp as the screen. */
function prepared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const scale = window.devicePixelRatio || 1
  canvas.width = Math.round(width * scale)
  canvas.height = Math.round(height * scale)
  const context = canvas.getContext('2d')
  context?.scale(scale, scale)
  return context
}
