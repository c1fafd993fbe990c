/**
 * A layered drawing of a net: layers by the longest path, few crossings by barycentre sweeps, coordinates by least
 * squares, and edges that never run behind a node. The same input always gives the same drawing. Everything is linear in
 * nodes and edges, but for the sorting of a layer.
 */
import { columnsOf } from './columns.ts'
import type { Layout, LayoutInput } from './input.ts'
import { layersOf } from './layers.ts'
import { ranksOf } from './ranks.ts'
import { middleOf, routesOf } from './routes.ts'

const MARGIN = 16

export function layoutOf(input: LayoutInput): Layout {
  const ranks = ranksOf(input)
  const layers = layersOf(input, ranks)
  const columns = columnsOf(input, layers)
  const given = { input, ranks, layers, columns }
  const { points, pointAt } = routesOf(given)
  const x = Float32Array.from({ length: input.count }, (_, v) => columns.x[v]!)
  const y = Float32Array.from({ length: input.count }, (_, v) => middleOf(given, v))
  const { left, top, right, bottom } = bounds(input, x, y, points)
  for (let v = 0; v < input.count; v++) {
    x[v] = x[v]! - left + MARGIN
    y[v] = y[v]! - top + MARGIN
  }
  for (let i = 0; i < points.length; i += 2) {
    points[i] = points[i]! - left + MARGIN
    points[i + 1] = points[i + 1]! - top + MARGIN
  }
  const size = { width: right - left + 2 * MARGIN, height: bottom - top + 2 * MARGIN }
  return { x, y, points, pointAt, back: ranks.back, ...size }
}

function bounds({ count, width, height }: LayoutInput, x: Float32Array, y: Float32Array, points: Float32Array) {
  if (count === 0) return { left: 0, top: 0, right: 0, bottom: 0 }
  const box = {
    left: Number.POSITIVE_INFINITY,
    top: Number.POSITIVE_INFINITY,
    right: Number.NEGATIVE_INFINITY,
    bottom: Number.NEGATIVE_INFINITY,
  }
  const add = (px: number, py: number, dx: number, dy: number): void => {
    box.left = Math.min(box.left, px - dx)
    box.right = Math.max(box.right, px + dx)
    box.top = Math.min(box.top, py - dy)
    box.bottom = Math.max(box.bottom, py + dy)
  }
  for (let v = 0; v < count; v++) add(x[v]!, y[v]!, width[v]! / 2, height[v]! / 2)
  for (let i = 0; i < points.length; i += 2) add(points[i]!, points[i + 1]!, 0, 0)
  return box
}
