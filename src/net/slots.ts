/**
 * Slots hold the part of an instance's marking that is not in its row. They are the persistent format of every running
 * instance, so neither a key nor the form of a value may change: a different form is a new kind. Each kind is declared
 * here once; no other file contains the text of a key.
 */
import type { Todo } from './firing/draft.ts'
import type { Appeal } from './firing/reruns.ts'
import type { ScopeSlot } from './firing/scopes.ts'
import type { GoingBack } from './going-back.ts'
import type { Closed } from './lists.ts'
import type { Entries, Failure, Place } from './marking.ts'
import type { Json } from './net.ts'

declare const slotKey: unique symbol
declare const slotPrefix: unique symbol

/** The key of a slot that holds a V. Made from text only in this file. */
export type SlotKey<V = unknown> = string & { readonly [slotKey]: V }
/** The common beginning of the keys of several slots that hold a V. */
export type SlotPrefix<V = unknown> = string & { readonly [slotPrefix]: V }

export interface SlotEntry<V = unknown> {
  readonly key: SlotKey<V>
  readonly value: V
}

/** Changed slots over stored ones; null: removed. */
export type SlotChanges = ReadonlyMap<SlotKey, Json | null>

/** Why an instance or its undo failed, and at which node; null: at none. */
export type NodeFailure = Failure & { readonly node?: string | null }

/** What a start contained beside the input. Definitions and notations store facts of their own in `meta`. */
export interface About {
  readonly initiator?: string
  readonly retried_by?: string
  readonly tags?: readonly string[]
  readonly meta?: Json
}

/** The child that represents a result. `fire`: for an item, whose index comes again with the next firing. */
export interface ChildRef {
  readonly $child: string
  readonly fire?: number
}

export interface HeldToken {
  readonly node: string
  readonly scope: string
  readonly args: Json | null
}

/** `result`: of work whose success was reported late, which is recorded nowhere else. */
export type UndoEntry = Place & { readonly result?: Json }

/** Portions `first` to `next` − 1 of a cascade are pending. */
export interface Portions {
  readonly first: number
  readonly next: number
}

export interface NotedCounts {
  readonly branches: number
  readonly failures: number
}

export interface NotedFailure {
  /** null: for the instance as a whole. */
  readonly step: string | null
  readonly code: string
  readonly message: string
  readonly handled: boolean
}

/** How far the firings of a node are matched: the last of the earlier instance's (null: none is left), and recent pairs. */
export interface MatchedFirings {
  readonly last: number | null
  readonly pairs: readonly (readonly [own: number, earlier: number | null])[]
}

/** A kind as docs/schema.md describes it. */
interface Kind {
  /** `j:<node>`: the part in angle brackets varies. */
  readonly pattern: string
  readonly holds: string
  /** Files or directories below src. */
  readonly writers: readonly string[]
}

type Described = readonly [holds: string, ...writers: string[]]

/** An instance has at most one slot of this kind. `prefix` covers every kind whose keys begin with this key. */
function one<V>(key: string, ...[holds, ...writers]: Described) {
  return { pattern: key, holds, writers, key: key as SlotKey<V>, prefix: key as SlotPrefix<V> }
}

function named<V>(prefix: string, variable: 'node' | 'name' | 'run', ...[holds, ...writers]: Described) {
  return {
    pattern: `${prefix}<${variable}>`,
    holds,
    writers,
    prefix: prefix as SlotPrefix<V>,
    key: (name: string) => `${prefix}${name}` as SlotKey<V>,
    /** The name in a key. */
    nameIn: (key: string) => key.slice(prefix.length),
  }
}

function numbered<V>(prefix: string, variable: string, ...[holds, ...writers]: Described) {
  return {
    pattern: `${prefix}<${variable}>`,
    holds,
    writers,
    prefix: prefix as SlotPrefix<V>,
    key: (n: number) => `${prefix}${n}` as SlotKey<V>,
  }
}

/** Keys that sort like their numbers. */
function sorted<V>(prefix: string, ...[holds, ...writers]: Described) {
  return {
    pattern: `${prefix}<0000000000>`,
    holds,
    writers,
    prefix: prefix as SlotPrefix<V>,
    key: (n: number) => `${prefix}${String(n).padStart(10, '0')}` as SlotKey<V>,
    /** The number in a key. */
    numberIn: (key: string) => Number(key.slice(prefix.length)),
  }
}

/** One for each piece of work: for an item of a list the key includes its index. */
function placed<V>(prefix: string, ...[holds, ...writers]: Described) {
  return {
    pattern: `${prefix}<fire>[/<item>]`,
    holds,
    writers,
    prefix: prefix as SlotPrefix<V>,
    key: ({ fire, item }: Pick<Place, 'fire' | 'item'>) =>
      (item < 0 ? `${prefix}${fire}` : `${prefix}${fire}/${item}`) as SlotKey<V>,
  }
}

/** Several for each node. */
function belowNode<V>(prefix: string, variable: string, ...[holds, ...writers]: Described) {
  return {
    pattern: `${prefix}<node>/<${variable}>`,
    holds,
    writers,
    prefixOf: (node: string) => `${prefix}${node}/` as SlotPrefix<V>,
    key: (node: string, n: number) => `${prefix}${node}/${n}` as SlotKey<V>,
  }
}

const STORED_ARGS = /^x:\d+$/

export const SLOT = {
  // The start.
  input: one<Json>('in', 'The input.', 'engine/fold'),
  about: one<About>('m', 'The initiator, who retried it, the tags and the metadata.', 'engine/fold', 'engine/intake'),
  literals: numbered<{ readonly [node: string]: Json }>(
    'a:',
    'chunk',
    'Literal arguments by node, of 32 nodes in the order of the net.',
    'engine/fold',
  ),
  givenItems: named<number>('n:', 'node', 'How many literal items a list was given.', 'engine/fold'),

  // Tokens in motion.
  joinCount: named<number>('j:', 'node', 'Tokens that have arrived at a join that counts.', 'net/firing/tokens.ts'),
  scope: {
    ...numbered<ScopeSlot>(
      's:',
      'scope',
      'A scope: the tokens of a fork, or the items of a list and how far it is.',
      'net/firing/scopes.ts',
      'net/firing/each.ts',
    ),
    /** The slot of the innermost scope of a path. */
    at: (path: string) => `s:${path.slice(path.lastIndexOf('.') + 1)}` as SlotKey<ScopeSlot>,
  },
  heldToken: sorted<HeldToken>('h:', 'A token that admission holds.', 'net/firing/tokens.ts'),
  tokenArgs: numbered<Json>(
    't:',
    'fire',
    'Arguments of a token, while its arcs may name them.',
    'net/firing/tokens.ts',
  ),
  storedArgs: {
    ...numbered<Json>('x:', 'n', 'Arguments stored out of line, which a reference names.', 'net/references.ts'),
    isKey: (text: string): text is SlotKey<Json> => STORED_ARGS.test(text),
  },
  portions: one<Portions>('q', 'Which portions of a cascade are pending.', 'net/firing/cascade.ts'),
  portion: numbered<readonly Todo[]>(
    'q:',
    'n',
    'A portion: tokens, lists and retries in order.',
    'net/firing/cascade.ts',
  ),

  // Data.
  context: named<Json>('c:', 'name', 'An entry of the context.', 'net/firing/arcs.ts'),
  result: named<Json>(
    'r:',
    'node',
    'The child that represents the result of a node, a detached child, or the answer of a gate.',
    'net/firing/tokens.ts',
    'engine/fold',
  ),
  itemResult: belowNode<ChildRef>('r:', 'item', 'The child that represents the result of an item.', 'engine/fold'),
  closedList: named<Closed>('l:', 'node', 'Counts of the latest closed firing of a list.', 'net/firing/each.ts'),
  entries: placed<Entries>('w:', 'Context entries that work wrote, for a retry of the instance.', 'net/fire.ts'),

  // The end.
  error: one<NodeFailure>(
    'e',
    'Why it failed, or will fail.',
    'net/firing/arcs.ts',
    'net/fire.ts',
    'net/firing/phases.ts',
    'net/firing/resume.ts',
  ),
  undoError: one<NodeFailure>('eu', 'Why the undo stopped.', 'net/firing/phases.ts', 'net/firing/resume.ts'),
  partial: one<true>('fp', 'A final that makes the outcome partial has failed.', 'net/firing/phases.ts'),
  discarded: one<{ readonly held: number; readonly nodes: readonly string[] }>(
    'b',
    'Held tokens that were discarded at the end.',
    'net/firing/tokens.ts',
  ),
  cancelledAt: one<number>('x', 'When it was cancelled.', 'engine/fold'),

  // Undo, doubt and second tries.
  undo: sorted<UndoEntry>(
    'u:',
    'Work to undo, in the order in which it ended.',
    'net/firing/draft.ts',
    'net/firing/phases.ts',
  ),
  undoAtHand: one<Place>('us', 'The undo that has begun and is not known to have succeeded.', 'net/firing/phases.ts'),
  doubt: placed<Place>('d:', 'Work that may have taken effect.', 'net/firing/doubts.ts'),
  parked: placed<Place>('p:', 'Work that succeeded in a drain, continued if the instance is resumed.', 'net/fire.ts'),
  secondTry: placed<true>('o:', "Work that the net's policy has done again.", 'net/firing/reruns.ts'),
  appeal: numbered<Appeal>('g:', 'fire', 'What governance forbade, until its gate decides.', 'net/firing/reruns.ts'),

  // The summary for the finals of a net with `summary`. The prefix of the first covers all three.
  noted: one<NotedCounts>('y', 'How many branches ended and how many failures are noted.', 'net/summary.ts'),
  notedFailure: sorted<NotedFailure>('ye:', 'A failure, in brief.', 'net/summary.ts'),
  notedFirings: numbered<{ readonly [node: string]: number }>(
    'yf:',
    'chunk',
    'How often nodes that leave no row have fired, of 128 nodes.',
    'net/summary.ts',
  ),

  // Other instances and runs.
  detachedCount: named<number>('k:', 'node', 'How many detached children a node has started.', 'engine/fold'),
  detachedChild: belowNode<string>('k:', 'n', 'The id of a detached child.', 'engine/fold'),
  matchedFirings: named<MatchedFirings>(
    'v:',
    'node',
    'Which firings of the instance that this one retries its own repeat.',
    'engine/fold',
  ),
  goingBack: one<GoingBack>(
    'from',
    'Where this instance goes back to in the one it repeats, with which arguments, and whether it is a fork.',
    'engine/fold',
  ),
  retriedRun: named<string>('retried:', 'run', 'The id of the run that retries this one.', 'engine/fold'),
} as const

/** All kinds, for documentation and tests. */
export const SLOT_KINDS: readonly (Kind & { readonly name: string })[] = Object.entries(SLOT).map(
  ([name, { pattern, holds, writers }]) => ({ name, pattern, holds, writers }),
)

/** Finds a slot among rows as a store reads them; null: absent. */
export function slotValue<V>(
  rows: readonly { readonly key: string; readonly value: string }[],
  key: SlotKey<V>,
): V | null {
  const row = rows.find((one) => one.key === key)
  return row === undefined ? null : (JSON.parse(row.value) as V)
}
