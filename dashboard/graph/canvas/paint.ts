/**
 * Paints what is seen. Near, parts are cards with words; from further away their shape and colour; from far away coloured
 * cells, of which those that have failed or run are large enough to be seen.
 */

import { FONT } from '../../ui/palette.ts'
import { lookOf, type Tone } from '../../ui/state.tsx'
import { seen } from './camera.ts'
import { centred, outline, paintCard, toneOf } from './cards.ts'
import type { LinkLayer } from './link-layer.ts'
import { paintLinks } from './links.ts'
import { isHidden, type Picture } from './picture.ts'

type Context = CanvasRenderingContext2D

const NEAR = 0.45
const MIDDLE = 0.16
/** Links that are drawn one by one in every frame. */
const MOST_LINKS = 1_500

/** `ratio`: pixels of the device per pixel of the page. true: the links are not drawn completely yet. */
export function paint(context: Context, picture: Picture, layer: LinkLayer, ratio: number): boolean {
  const { camera, width, height, palette, grid, linkGrid } = picture
  const { scale, left, top } = camera
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.fillStyle = palette.bg
  context.fillRect(0, 0, width, height)
  const view = seen(camera, width, height)
  const isMany =
    picture.scene.links.length > MOST_LINKS && (scale < MIDDLE || linkGrid.touching(view).length > MOST_LINKS)
  let isBehind = false
  if (isMany) {
    if (!picture.hideSucceeded) {
      if (!layer.isCurrent(camera, width, height)) {
        layer.advance(camera, width, height, ratio, palette.dim, () => linkGrid.touching(view))
        isBehind = !layer.isCurrent(camera, width, height)
      }
      layer.paint(context, camera)
    }
  }
  context.setTransform(scale * ratio, 0, 0, scale * ratio, left * ratio, top * ratio)
  paintFrames(context, picture)
  if (!isMany) paintLinks(context, picture, linkGrid.touching(view))
  else if (picture.trace !== null) paintLinks(context, picture, [...picture.trace.links])
  const visible = grid.touching(view)
  if (scale >= MIDDLE) {
    paintMarks(context, picture, visible)
    paintCards(context, picture, visible)
  } else {
    paintCells(context, picture, visible)
    paintMarks(context, picture, visible)
  }
  return isBehind
}

/** The nested workflows that are open. */
function paintFrames(context: Context, { scene, palette, faces, camera }: Picture): void {
  for (const { x, y, w, h, part } of scene.frames) {
    const tone = toneOf(faces[part]!, scene.parts[part]!.change)
    context.beginPath()
    context.roundRect(x, y, w, h, 9)
    context.fillStyle = palette.bg
    context.fill()
    context.lineWidth = 1.6
    context.strokeStyle = palette.ink[tone]
    context.stroke()
    if (camera.scale < MIDDLE) continue
    const { state } = faces[part]!
    context.font = `600 13px ${FONT}`
    context.textBaseline = 'middle'
    context.fillStyle = palette.text
    const sign = state === '' ? '' : `${lookOf(state).shape} `
    context.fillText(`${sign}${scene.parts[part]!.label.slice(0, 80)}`, x + 12, y + 17)
  }
}

function paintCards(context: Context, picture: Picture, visible: readonly number[]): void {
  const { scene, palette, camera, found, faces } = picture
  const open = new Set(scene.frames.map(({ part }) => part))
  for (const i of visible) {
    if (open.has(i)) continue
    if (isHidden(picture, i)) {
      dot(context, picture, i)
      continue
    }
    context.globalAlpha = found !== null && !found.has(i) ? 0.35 : 1
    if (camera.scale >= NEAR) paintCard(context, picture, i)
    else {
      const card = { x: scene.x[i]!, y: scene.y[i]!, w: scene.w[i]!, h: scene.h[i]! }
      const part = scene.parts[i]!
      const face = faces[i]!
      const tone = toneOf(face, part.change)
      outline(context, part.shape, card)
      context.fillStyle = palette.fill[tone]
      context.fill()
      context.strokeStyle = palette.ink[tone]
      context.lineWidth = 2
      context.stroke()
      if (face.state !== '') centred(context, lookOf(face.state).shape, card, palette.ink[tone], 30)
    }
  }
  context.globalAlpha = 1
}

function dot(context: Context, { scene, palette }: Picture, i: number): void {
  context.beginPath()
  context.arc(scene.x[i]! + scene.w[i]! / 2, scene.y[i]! + scene.h[i]! / 2, 4, 0, Math.PI * 2)
  context.fillStyle = palette.line
  context.fill()
}

/** Those that run are discs, those that have failed are diamonds, at least this many pixels wide. */
const SEEN_PIXELS = { bad: 9, active: 7 } as const

function paintCells(context: Context, picture: Picture, visible: readonly number[]): void {
  const { scene, palette, camera, found, faces } = picture
  const groups = new Map<Tone, number[]>()
  for (const i of visible) {
    if (isHidden(picture, i) || (found !== null && !found.has(i))) continue
    const tone = toneOf(faces[i]!, scene.parts[i]!.change)
    const group = groups.get(tone)
    if (group === undefined) groups.set(tone, [i])
    else group.push(i)
  }
  const least = 1 / camera.scale
  for (const tone of ['quiet', 'good', 'back', 'waiting', 'active', 'bad'] as const) {
    const group = groups.get(tone)
    if (group === undefined) continue
    context.fillStyle = palette.ink[tone]
    context.globalAlpha = tone === 'quiet' ? 0.45 : tone === 'good' ? 0.8 : 1
    for (const i of group) {
      context.fillRect(scene.x[i]!, scene.y[i]!, Math.max(least, scene.w[i]!), Math.max(least, scene.h[i]!))
    }
    if (tone === 'bad' || tone === 'active') standOut(context, picture, group, tone)
  }
  context.globalAlpha = 1
}

const MOST_OUTSTANDING = 2_000

function standOut(
  context: Context,
  { scene, camera, palette }: Picture,
  group: readonly number[],
  tone: 'bad' | 'active',
) {
  const half = SEEN_PIXELS[tone] / 2 / camera.scale
  context.beginPath()
  for (const i of group.slice(0, MOST_OUTSTANDING)) {
    if (scene.w[i]! > half * 3) continue
    const x = scene.x[i]! + scene.w[i]! / 2
    const y = scene.y[i]! + scene.h[i]! / 2
    if (tone === 'active') {
      context.moveTo(x + half, y)
      context.arc(x, y, half, 0, Math.PI * 2)
    } else {
      context.moveTo(x, y - half)
      context.lineTo(x + half, y)
      context.lineTo(x, y + half)
      context.lineTo(x - half, y)
      context.closePath()
    }
  }
  context.fill()
  context.strokeStyle = palette.bg
  context.lineWidth = 1 / camera.scale
  context.stroke()
}

/** Round what was found, what leads to a failure, and what is selected. */
function paintMarks(context: Context, picture: Picture, visible: readonly number[]): void {
  const { scene, palette, camera, found, trace, selected } = picture
  const ring = (i: number, ink: string, width: number): void => {
    const by = 4
    context.beginPath()
    context.roundRect(scene.x[i]! - by, scene.y[i]! - by, scene.w[i]! + 2 * by, scene.h[i]! + 2 * by, 10)
    context.strokeStyle = ink
    context.lineWidth = Math.max(width, width / camera.scale / 1.5)
    context.stroke()
  }
  let left = MOST_OUTSTANDING
  for (const i of visible) {
    if (trace?.parts.has(i)) ring(i, palette.ink.bad, 2)
    if (found?.has(i) && left-- > 0) ring(i, palette.accent, 2)
  }
  if (selected !== null) ring(selected, palette.accent, 3)
}
