/** Draws links. Their points are those of the layout: right angles are rounded, everything else is a curve. */

import { FONT } from '../../ui/palette.ts'
import type { Scene } from '../model/scene.ts'
import { Grid } from './grid.ts'
import { isHidden, type Picture } from './picture.ts'

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D

const RADIUS = 9
const ARROW = 6

export function linkGridOf({ links, points, pointAt }: Scene): Grid {
  return new Grid(
    {
      count: links.length,
      box: (i, put) => {
        let [left, top, right, bottom] = [Number.MAX_VALUE, Number.MAX_VALUE, -Number.MAX_VALUE, -Number.MAX_VALUE]
        for (let p = pointAt[i]! * 2; p < pointAt[i + 1]! * 2; p += 2) {
          left = Math.min(left, points[p]!)
          right = Math.max(right, points[p]!)
          top = Math.min(top, points[p + 1]!)
          bottom = Math.max(bottom, points[p + 1]!)
        }
        put(left, top, right, bottom)
      },
    },
    600,
  )
}

export function traceLink(context: Context, { points, pointAt }: Scene, link: number): void {
  const begin = pointAt[link]! * 2
  const end = pointAt[link + 1]! * 2
  let x = points[begin]!
  let y = points[begin + 1]!
  context.moveTo(x, y)
  for (let p = begin + 2; p < end; p += 2) {
    const [nx, ny] = [points[p]!, points[p + 1]!]
    const isStraight = nx === x || ny === y
    if (!isStraight) {
      const middle = (y + ny) / 2
      context.bezierCurveTo(x, middle, nx, middle, nx, ny)
    } else if (p + 2 < end && turns(x, y, nx, ny, points[p + 2]!, points[p + 3]!)) {
      const room = Math.min(Math.hypot(nx - x, ny - y), Math.hypot(points[p + 2]! - nx, points[p + 3]! - ny)) / 2
      context.arcTo(nx, ny, points[p + 2]!, points[p + 3]!, Math.min(RADIUS, room))
    } else context.lineTo(nx, ny)
    x = nx
    y = ny
  }
}

/** Whether two straight pieces meet at a right angle. */
function turns(ax: number, ay: number, bx: number, by: number, cx: number, cy: number): boolean {
  return (ax === bx && by === cy && bx !== cx) || (ay === by && bx === cx && by !== cy)
}

function traceArrow(context: Context, { points, pointAt }: Scene, link: number): void {
  const end = pointAt[link + 1]! * 2
  const [x, y, fromX, fromY] = [points[end - 2]!, points[end - 1]!, points[end - 4]!, points[end - 3]!]
  if (fromY === y) {
    const back = Math.sign(x - fromX) * ARROW
    context.moveTo(x, y)
    context.lineTo(x - back, y - ARROW * 0.6)
    context.lineTo(x - back, y + ARROW * 0.6)
  } else {
    const back = Math.sign(y - fromY) * ARROW
    context.moveTo(x, y)
    context.lineTo(x - ARROW * 0.6, y - back)
    context.lineTo(x + ARROW * 0.6, y - back)
  }
  context.closePath()
}

/** A link is quiet until the net has taken it. */
function wasTaken({ faces }: Picture, from: number, to: number): boolean {
  const state = faces[to]?.state ?? ''
  return state !== '' && state !== 'pending' && faces[from]?.state !== 'pending'
}

const CHANGE_TONES = { added: 'good', removed: 'bad', changed: 'waiting' } as const

/** Every link on its own, with its state. For as many as a screen shows in a readable size. */
export function paintLinks(context: Context, picture: Picture, visible: readonly number[]): void {
  const { scene, palette, trace, camera } = picture
  const groups = new Map<string, number[]>()
  for (const i of visible) {
    const { from, to, kind, change } = scene.links[i]!
    if (isHidden(picture, from) && isHidden(picture, to)) continue
    const name = trace?.links.has(i)
      ? 'trace'
      : (change ?? (kind === 'arc' ? (wasTaken(picture, from, to) ? 'taken' : 'arc') : kind))
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [i])
    else group.push(i)
  }
  for (const name of ['arc', 'taken', 'undo', 'rollback', 'added', 'changed', 'removed', 'trace'] as const) {
    const group = groups.get(name)
    if (group === undefined) continue
    const isBack = name === 'undo' || name === 'rollback'
    const tone =
      name === 'trace' ? 'bad' : isBack ? 'back' : name in CHANGE_TONES ? CHANGE_TONES[name as 'added'] : null
    context.strokeStyle = tone === null ? palette.dim : palette.ink[tone]
    context.fillStyle = context.strokeStyle
    context.globalAlpha = name === 'arc' ? 0.5 : 1
    context.lineWidth = Math.max(name === 'trace' ? 2.6 : 1.3, 0.7 / camera.scale)
    context.setLineDash(isBack || name === 'removed' ? [5, 4] : [])
    context.beginPath()
    for (const i of group) traceLink(context, scene, i)
    context.stroke()
    context.setLineDash([])
    if (camera.scale < 0.3) continue
    context.beginPath()
    for (const i of group) traceArrow(context, scene, i)
    context.fill()
  }
  context.globalAlpha = 1
  if (camera.scale >= 0.55) paintLabels(context, picture, visible)
}

const MOST_LABELS = 250
const LABEL_CHARACTERS = 28

/** Conditions, each near the end of its link, where links of one node are apart. */
function paintLabels(context: Context, { scene, palette }: Picture, visible: readonly number[]): void {
  context.font = `11px ${FONT}`
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  let left = MOST_LABELS
  for (const i of visible) {
    const { label } = scene.links[i]!
    if (label === null || left-- <= 0) continue
    const text = label.length > LABEL_CHARACTERS ? `${label.slice(0, LABEL_CHARACTERS - 1)}…` : label
    const end = scene.pointAt[i + 1]! * 2
    const isUp = scene.points[end - 3]! > scene.points[end - 1]!
    const x = scene.points[end - 2]!
    const y = scene.points[end - 1]! + (isUp ? 20 : -17)
    const width = context.measureText(text).width + 8
    context.fillStyle = palette.bg
    context.globalAlpha = 0.85
    context.fillRect(x - width / 2, y - 7, width, 14)
    context.globalAlpha = 1
    context.fillStyle = palette.dim
    context.fillText(text, x, y)
  }
  context.textAlign = 'left'
}
