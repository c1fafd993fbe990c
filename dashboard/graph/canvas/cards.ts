/** Draws a part as a card: the outline says what kind it is; shape, colour and words say its state. */
import { span } from '../../ui/moments.tsx'
import { FONT, fitting, type Palette } from '../../ui/palette.ts'
import { lookOf, type Tone } from '../../ui/state.tsx'
import type { Change, Part, Shape } from '../model/drawing.ts'
import { type Items, total } from '../model/marking.ts'
import type { Face, Picture } from './picture.ts'

type Context = CanvasRenderingContext2D

interface Card {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

export function outline(context: Context, shape: Shape, { x, y, w, h }: Card): void {
  context.beginPath()
  if (shape === 'join') {
    context.moveTo(x + w / 2, y)
    context.lineTo(x + w, y + h / 2)
    context.lineTo(x + w / 2, y + h)
    context.lineTo(x, y + h / 2)
    context.closePath()
  } else if (shape === 'gate') {
    const cut = 12
    context.moveTo(x + cut, y)
    context.lineTo(x + w - cut, y)
    context.lineTo(x + w, y + h / 2)
    context.lineTo(x + w - cut, y + h)
    context.lineTo(x + cut, y + h)
    context.lineTo(x, y + h / 2)
    context.closePath()
  } else context.roundRect(x, y, w, h, shape === 'pass' || shape === 'undo' ? h / 2 : 7)
}

const CHANGE_TONES: Readonly<Record<Change, Tone>> = { added: 'good', removed: 'bad', changed: 'waiting' }
const CHANGE_SIGNS: Readonly<Record<Change, string>> = { added: '+', removed: '−', changed: '≠' }

export function toneOf(face: Face, change: Change | null): Tone {
  return change === null ? (face.state === '' ? 'quiet' : lookOf(face.state).tone) : CHANGE_TONES[change]
}

/** A card large enough to be read. */
export function paintCard(context: Context, picture: Picture, i: number): void {
  const { scene, palette } = picture
  const part = scene.parts[i]!
  const face = picture.faces[i]!
  const card = { x: scene.x[i]!, y: scene.y[i]!, w: scene.w[i]!, h: scene.h[i]! }
  const tone = toneOf(face, part.change)
  const hasBegun = face.state !== '' && face.state !== 'pending'
  const isStrong = hasBegun || part.change !== null
  behind(context, part.shape, card, palette, tone)
  outline(context, part.shape, card)
  context.fillStyle = isStrong ? palette.fill[tone] : palette.card
  context.fill()
  context.lineWidth = 1.4
  context.strokeStyle = isStrong ? palette.ink[tone] : palette.dim
  context.setLineDash(part.shape === 'undo' || part.change === 'removed' ? [5, 4] : [])
  context.stroke()
  context.setLineDash([])
  const sign = part.change === null ? (face.state === '' ? '' : lookOf(face.state).shape) : CHANGE_SIGNS[part.change]
  if (part.shape === 'join') {
    centred(context, sign, card, palette.ink[tone], 11)
    return
  }
  words(context, picture, i, card, sign, tone)
  if (part.shape === 'list') bar(context, card, face.mark?.items ?? null, palette)
  if (face.held !== null) badge(context, card, 'Ⅱ held', palette)
  else if (part.tags.some((tag) => tag.startsWith('finally'))) badge(context, card, 'finally', palette)
}

/** A list looks like a pile, a nested workflow has a double edge. */
function behind(context: Context, shape: Shape, { x, y, w, h }: Card, palette: Palette, tone: Tone): void {
  if (shape !== 'list' && shape !== 'child') return
  context.strokeStyle = palette.ink[tone]
  context.fillStyle = palette.card
  context.lineWidth = 1
  for (const by of shape === 'list' ? [6, 3] : [3]) {
    context.beginPath()
    if (shape === 'list') context.roundRect(x + by, y + by, w, h, 7)
    else context.roundRect(x - by, y - by, w + 2 * by, h + 2 * by, 9)
    context.fill()
    context.stroke()
  }
}

function words(context: Context, picture: Picture, i: number, card: Card, sign: string, tone: Tone): void {
  const { scene, palette, faces, now } = picture
  const part = scene.parts[i]!
  const face = faces[i]!
  const inset = part.shape === 'gate' ? 20 : part.shape === 'pass' || part.shape === 'undo' ? 14 : 10
  const left = card.x + inset
  const middle = card.y + (part.shape === 'list' ? 24 : card.h / 2)
  context.textBaseline = 'middle'
  context.fillStyle = palette.ink[tone]
  context.font = `600 14px ${FONT}`
  if (sign !== '') context.fillText(sign, left, middle)
  const text = sign === '' ? left : left + 20
  const room = card.x + card.w - inset - text
  const size = part.shape === 'undo' ? 12 : 13
  context.font = `600 ${size}px ${FONT}`
  context.fillStyle = palette.text
  context.fillText(fitting(context, part.label, room), text, middle - 9)
  context.font = `11px ${FONT}`
  context.fillStyle = palette.dim
  context.fillText(fitting(context, below(face, part, now), room), text, middle + 8)
}

/** The second line: what it is, then what it took. */
function below({ mark, state, held }: Face, { detail, shape }: Part, now: number): string {
  const isTitled = shape === 'gate'
  if (held !== null) return held
  if (mark?.items !== undefined && mark.items !== null) {
    const { completed, failed, exact } = mark.items
    const all = `×${exact ? '' : '≥'}${total(mark.items)}`
    return failed > 0 ? `${all} · ${failed} failed` : `${all} · ${completed} completed`
  }
  const took =
    mark?.tookMs ?? ((state === 'running' || state === 'waiting') && mark?.startedAt ? now - mark.startedAt : null)
  const facts = [
    ...(took === null ? [] : [span(took)]),
    ...((mark?.attempts ?? 0) > 1 ? [`attempt ${mark?.attempts}`] : []),
  ]
  if (isTitled && facts.length > 0) return `${facts.join(' · ')} · ${detail}`
  return facts.length > 0 ? facts.join(' · ') : detail
}

/** The share of the items in each state. */
function bar(context: Context, { x, y, w, h }: Card, items: Items | null, palette: Palette): void {
  const [left, top, width, height] = [x + 10, y + h - 15, w - 20, 7]
  context.fillStyle = palette.line
  context.fillRect(left, top, width, height)
  if (items === null) return
  const all = Math.max(1, total(items))
  let at = left
  for (const [count, tone, sign] of [
    [items.completed, 'good', 1],
    [items.failed, 'bad', 0.55],
    [items.running, 'active', 0.8],
  ] as const) {
    if (count === 0) continue
    const size = Math.max(2, (width * count) / all)
    context.fillStyle = palette.ink[tone]
    // Different heights, so that the states differ without their colours.
    context.fillRect(at, top + height * (1 - sign), Math.min(size, left + width - at), height * sign)
    at += size
  }
}

function badge(context: Context, { x, y, w }: Card, text: string, palette: Palette): void {
  context.font = `600 10px ${FONT}`
  const width = context.measureText(text).width + 12
  context.beginPath()
  context.roundRect(x + w - width - 6, y - 8, width, 16, 8)
  context.fillStyle = palette.fill.waiting
  context.fill()
  context.lineWidth = 1
  context.strokeStyle = palette.ink.waiting
  context.stroke()
  context.fillStyle = palette.ink.waiting
  context.textBaseline = 'middle'
  context.fillText(text, x + w - width, y + 0.5)
}

export function centred(context: Context, sign: string, { x, y, w, h }: Card, ink: string, size: number): void {
  context.font = `600 ${size}px ${FONT}`
  context.fillStyle = ink
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.fillText(sign, x + w / 2, y + h / 2)
  context.textAlign = 'left'
}
