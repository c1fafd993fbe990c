/**
 * What is on the canvas: a drawing with its coordinates, and within it the drawings of the nested workflows that are open.
 * All of them are put into one set of arrays, so that painting and searching need to know nothing of nesting.
 */
import type { Layout, LayoutInput } from '../layout/input.ts'
import type { Drawing, Link, Part, Shape } from './drawing.ts'

/** A net with its coordinates, of one instance. */
export interface Level {
  /** Of the instance; '' of a net without one. */
  readonly id: string
  readonly drawing: Drawing
  readonly layout: Layout
  /** Nested workflows that are open, by the index of their part. */
  readonly inner: ReadonlyMap<number, Level>
}

export interface Frame {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
  /** The part that is open. */
  readonly part: number
}

export interface Scene {
  readonly parts: readonly Part[]
  /** The instance of each part. */
  readonly instance: readonly string[]
  /** The keys of the nodes that contain it, and its own. */
  readonly path: readonly (readonly string[])[]
  /** Top left corner and size. */
  readonly x: Float32Array
  readonly y: Float32Array
  readonly w: Float32Array
  readonly h: Float32Array
  readonly links: readonly Link[]
  readonly points: Float32Array
  readonly pointAt: Int32Array
  readonly frames: readonly Frame[]
  readonly width: number
  readonly height: number
}

type Size = readonly [number, number]

const SIZES: Readonly<Record<Shape, Size>> = {
  run: [190, 54],
  gate: [190, 54],
  child: [190, 54],
  list: [190, 64],
  pass: [160, 40],
  join: [24, 24],
  undo: [136, 40],
}
const BESIDE = 24
const HEAD = 30
const GAP = 44
const WRITTEN_GAP = 66
const INSET = 10

function sizeOf(part: Part, inner: { readonly layout: Layout } | undefined): Size {
  if (inner === undefined) return SIZES[part.shape]
  return [Math.max(190, inner.layout.width + 2 * INSET), inner.layout.height + HEAD + INSET]
}

/** A node and its undo beside it are one cell of the layout. */
export function layoutInputOf(
  { parts, nodes, links, arcs, entry, finals, undoOf }: Drawing,
  inner: ReadonlyMap<number, { readonly layout: Layout }>,
): LayoutInput {
  const width = new Float32Array(nodes)
  const height = new Float32Array(nodes)
  const port = new Float32Array(nodes)
  const last = new Uint8Array(nodes)
  for (let v = 0; v < nodes; v++) {
    const [w, h] = sizeOf(parts[v] as Part, inner.get(v))
    const extra = undoOf.has(v) ? BESIDE + SIZES.undo[0] : 0
    width[v] = w + extra
    height[v] = h
    port[v] = -extra / 2
  }
  for (const v of finals) last[v] = 1
  return {
    count: nodes,
    from: Int32Array.from({ length: arcs }, (_, i) => (links[i] as Link).from),
    to: Int32Array.from({ length: arcs }, (_, i) => (links[i] as Link).to),
    width,
    height,
    port,
    last,
    entry: Int32Array.from(entry),
    gap: links.some(({ label }) => label !== null) ? WRITTEN_GAP : GAP,
  }
}

export function sceneOf(top: Level): Scene {
  const parts: Part[] = []
  const instance: string[] = []
  const path: (readonly string[])[] = []
  const boxes: number[] = []
  const links: Link[] = []
  const points: number[] = []
  const pointAt: number[] = [0]
  const frames: Frame[] = []
  const add = (level: Level, dx: number, dy: number, keys: readonly string[]): void => {
    const { drawing, layout, inner } = level
    const base = parts.length
    for (const [i, part] of drawing.parts.entries()) {
      const owner = part.owner === null ? null : part.owner + base
      parts.push(owner === null ? part : { ...part, owner })
      instance.push(level.id)
      path.push([...keys, part.key])
      boxes.push(...boxOf(level, i, dx, dy))
    }
    for (const [i, link] of drawing.links.entries()) {
      links.push({ ...link, from: link.from + base, to: link.to + base })
      if (i < drawing.arcs) {
        for (let at = (layout.pointAt[i] as number) * 2; at < (layout.pointAt[i + 1] as number) * 2; at += 2) {
          points.push((layout.points[at] as number) + dx, (layout.points[at + 1] as number) + dy)
        }
      } else points.push(...wayBack(link.kind, boxes, link.from + base, link.to + base))
      pointAt.push(points.length / 2)
    }
    for (const [i, child] of inner) {
      const [x, y, w, h] = boxes.slice((base + i) * 4, (base + i) * 4 + 4) as [number, number, number, number]
      frames.push({ x, y, w, h, part: base + i })
      const centred = (w - child.layout.width) / 2
      add(child, x + centred, y + HEAD, [...keys, (drawing.parts[i] as Part).key])
    }
  }
  add(top, 0, 0, [])
  const column = (at: number) => Float32Array.from({ length: parts.length }, (_, i) => boxes[i * 4 + at] as number)
  const { width, height } = top.layout
  const lines = { links, points: Float32Array.from(points), pointAt: Int32Array.from(pointAt) }
  return {
    parts,
    instance,
    path,
    x: column(0),
    y: column(1),
    w: column(2),
    h: column(3),
    ...lines,
    frames,
    width,
    height,
  }
}

/** Top left corner and size of a part. */
function boxOf({ drawing, layout, inner }: Level, i: number, dx: number, dy: number): readonly number[] {
  const part = drawing.parts[i] as Part
  const node = part.owner ?? i
  const [w, h] = sizeOf(drawing.parts[node] as Part, inner.get(node))
  const extra = drawing.undoOf.has(node) ? BESIDE + SIZES.undo[0] : 0
  const left = (layout.x[node] as number) - (w + extra) / 2 + dx
  const middle = (layout.y[node] as number) + dy
  if (part.owner === null) return [left, middle - h / 2, w, h]
  const [uw, uh] = SIZES.undo
  return [left + w + BESIDE, middle - uh / 2, uw, uh]
}

/** To an undo: to the right. From undo to undo: up. */
function wayBack(kind: Link['kind'], boxes: readonly number[], from: number, to: number): readonly number[] {
  const box = (i: number) => boxes.slice(i * 4, i * 4 + 4) as [number, number, number, number]
  const [fx, fy, fw, fh] = box(from)
  const [tx, ty, tw, th] = box(to)
  return kind === 'undo' ? [fx + fw, fy + fh / 2, tx, fy + fh / 2] : [fx + fw / 2, fy, tx + tw / 2, ty + th]
}
