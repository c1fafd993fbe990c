/**
 * How to read one value from the results of a workflow. The engine returns results by node, those of a nested workflow
 * as an object of its nodes (or of its items, where it is one list); the author of a chain thinks of its value as the
 * result of its last step, of a group's as the list of its jobs' results. Only the builder knows the difference, so it
 * sends the shape with the workflow.
 */
import type { Json } from '../net/net.ts'

export type Shape =
  /** The value unchanged: the result of a run. */
  | null
  /** A chain: the result of its last node. */
  | { readonly last: string; readonly of: Shape }
  /** A group or batch: a list by index. `of` names the entries that are workflows themselves. */
  | { readonly each: string; readonly count: number; readonly of: { readonly [index: string]: Shape } }

/** Information from a builder for the context of a run about results it may read; sent in `meta.petrel`. */
export interface ResultHint {
  /** Shape of the previous step, when that is a workflow. */
  readonly previous?: Shape
  /** The previous step is the run's own workflow (a callback of a batch), of this shape. */
  readonly own?: Shape
  /** Shapes of the nodes of the run's own workflow that are workflows themselves. */
  readonly nodes?: { readonly [node: string]: Shape }
}

/** The value an author expects: of a list, an array with null where a job has no result. */
export function readShape(shape: Shape, value: Json): Json {
  if (shape === null) return value
  if ('last' in shape) return readShape(shape.of, member(value, shape.last))
  return Array.from({ length: shape.count }, (_, i) => readShape(shape.of[i] ?? null, member(value, String(i))))
}

/** The same, but a list is an object by index (OJS §7.3). */
export function readKeyed(shape: Shape, value: Json): Json {
  if (shape === null) return value
  if ('last' in shape) return readKeyed(shape.of, member(value, shape.last))
  if (value === null || typeof value !== 'object') return {}
  return Object.fromEntries(Object.entries(value).map(([i, item]) => [i, readKeyed(shape.of[i] ?? null, item)]))
}

/** Value of a whole workflow, from its results by node: only the texts it needs are parsed. */
export function readResults(shape: Shape, byNode: ReadonlyMap<string, string | null>, read = readShape): Json {
  if (shape === null) return null
  const isChain = 'last' in shape
  const text = byNode.get(isChain ? shape.last : shape.each) ?? null
  return read(isChain ? shape.of : shape, text === null ? null : (JSON.parse(text) as Json))
}

function member(value: Json, key: string): Json {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return null
  return (value as { readonly [key: string]: Json })[key] ?? null
}
