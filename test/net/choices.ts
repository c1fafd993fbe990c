/** The meaning of each byte of an arbitrary net. The first choice is the plainest. */
import type { Admission, Arc, Json } from '../../src/net/net.ts'

/** [weight, choice]: the byte's 256 values are divided by weight, in order. */
export function pick<T>(byte: number, choices: readonly (readonly [number, T])[]): T {
  const total = choices.reduce((sum, [weight]) => sum + weight, 0)
  let left = (byte * total) / 256
  for (const [weight, choice] of choices) {
    if (left < weight) return choice
    left -= weight
  }
  return choices[0]![1]
}

export type Kind =
  | 'run'
  | 'pass'
  | 'gate'
  | 'attached'
  | 'detached'
  | 'literal'
  | 'named'
  | 'list'
  | 'listOfChildren'
  | 'badList'

export const KINDS: readonly (readonly [number, Kind])[] = [
  [110, 'run'],
  [36, 'pass'],
  [28, 'gate'],
  [18, 'attached'],
  [12, 'detached'],
  [14, 'literal'],
  [10, 'named'],
  [14, 'list'],
  [8, 'listOfChildren'],
  [2, 'badList'],
]

export const GUARDS: readonly (readonly [number, string | null])[] = [
  [90, null],
  [18, 'ctx.k0'],
  [18, 'not ctx.k0'],
  [18, 'ctx.k1'],
  [18, 'not ctx.k2'],
  [26, 'event.ok'],
  [26, 'event.failed'],
  [8, 'event.result'],
  [8, 'n0'],
  [10, 'args.a'],
  [10, 'not args.a'],
  [6, 'true'],
  [10, 'false'],
  [2, 'boom'],
]

/** Longer than the inline limit, in nets that have one. */
const LONG = 'x'.repeat(70)

export const ARGS: readonly (readonly [number, Arc['args']])[] = [
  [150, null],
  [40, { a: true }],
  [30, { a: false }],
  [30, { a: '=ctx.k0', b: ['x', '=ctx.k1'] }],
  [20, { a: true, of: '=event.result' }],
  [16, { a: '=ctx.k1', long: LONG }],
  [4, { $ref: 'x:1' }],
  [4, { $shared: 'x:1', a: true }],
  [2, { a: '=boom' }],
]

/** Arguments of a node's own work; the item is there only in an each. */
export const TEMPLATES: readonly (readonly [number, { readonly [name: string]: Json } | null])[] = [
  [150, null],
  [30, { x: '=ctx.k0', literal: 7 }],
  [30, { y: '=args.a' }],
  [30, { item: '=item', z: ['=ctx.k1'] }],
  [14, { row: '=row', at: '=place' }],
  [14, { before: '=n0', later: '=results.n1' }],
  [10, { long: LONG, y: '=args.a' }],
  [4, { $ref: 'x:1' }],
  [4, { $shared: 'x:1', s: 0 }],
  [3, { x: '=boom' }],
]

/** How many items are open at a time. */
export const ROOMS: readonly (readonly [number, number | string | null])[] = [
  [110, null],
  [54, 1],
  [44, 2],
  [20, 'num:3'],
  [20, 'ctx.k0+1'],
  [4, 'args.none'],
  [2, 'num:0'],
]

/** Arguments shared by the items. */
export const SHARED: readonly (readonly [number, Json])[] = [
  [20, { s: 1 }],
  [80, { s: '=ctx.k0', literal: 8, args: '=args.a' }],
  [60, { s: LONG, before: '=n0' }],
  [3, { s: '=boom' }],
]

/** Written when a node has succeeded. */
export const NODE_SETS: readonly (readonly [number, Arc['set']])[] = [
  [170, null],
  [20, { k0: true }],
  [20, { k1: '=not ctx.k1', k2: '=ctx.k1' }],
  [20, { r: '=event.result' }],
  [20, { k2: '=args.a', r: '=results.n0' }],
  [3, { k1: '=boom' }],
]

export const undoTemplates = (key: string): readonly (readonly [number, Json | null])[] => [
  [160, null],
  [40, { x: '=ctx.k0' }],
  [40, { was: `=results.${key}` }],
  [4, { x: '=boom' }],
]

export const SETS: readonly (readonly [number, Arc['set']])[] = [
  [140, null],
  [30, { k0: true }],
  [20, { k0: false }],
  [20, { k1: true }],
  [20, { k1: '=not ctx.k1' }],
  [20, { k2: '=not ctx.k2', k0: '=ctx.k1' }],
  [10, { r: '=event.result', k2: '=n0' }],
  [2, { k2: '=boom' }],
]

const hold = (...rules: Admission['rules']): Admission => ({ rules, onDeny: 'hold' })
export const ADMISSIONS: readonly (readonly [number, Admission | null])[] = [
  [180, null],
  [16, hold({ when: 'ctx.k0', allow: true })],
  [12, hold({ when: 'ctx.k1', allow: false }, { when: null, allow: true })],
  [12, hold({ when: 'not ctx.k2', allow: true })],
  [8, hold({ when: 'false', allow: true }, { when: 'args.a', allow: true }, { when: 'ctx.k1', allow: true })],
  [4, hold()],
  [2, hold({ when: 'boom', allow: true })],
]
