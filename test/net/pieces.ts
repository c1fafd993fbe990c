/**
 * The oracle's data: tokens, scopes and pieces of work in lists that only grow, and a record of counters and verdicts.
 */
import type { Final, Json, Node, Work } from '../../src/net/net.ts'

export interface Token {
  at: Node
  args: Json | null
  scope: FlowScope
  /** moving: in the queue; busy: at work or waiting for a scope; held: denied by admission; gone: ended or absorbed. */
  state: 'moving' | 'busy' | 'held' | 'gone'
  /** Of the node it is at. */
  firing: Firing | null
}

export interface FlowScope {
  readonly kind: 'root' | 'fork' | 'each'
  readonly parent: FlowScope | null
  /** The token that represents the scope in its parent. */
  readonly owner: Token | null
  readonly continuation: string | null
  arrived: number
  closed: boolean
  readonly items: Item[]
  readonly firing: Firing | null
  /** Of an each: open at a time; arguments shared by all items. */
  readonly max: number | null
  readonly shared: Json | null
}

export interface Item {
  readonly index: number
  readonly value: Json
  state: 'waiting' | 'open' | 'done' | 'dropped'
  failed: boolean
}

/**
 * One firing of a node. `nth` counts, per node, the firings that opened work: an identity that needs no global number.
 */
export interface Firing {
  readonly node: Node
  nth: number | null
}

export interface Piece {
  readonly kind: 'run' | 'gate' | 'child'
  readonly node: Node
  readonly firing: Firing
  readonly nth: number
  readonly item: number
  readonly role: 'work' | 'undo' | 'final'
  readonly args: Json | null
  readonly token: Token | null
  readonly scope: FlowScope | null
  readonly final: Final | null
  /** The gate of an appeal: the work it is about. */
  readonly about: Piece | null
  started: boolean
  /** A repetition by the net's policy, or a replacement for a failed firing. */
  second: boolean
  /** When it last ended, counted from 1; 0: it has not. */
  endedAt: number
  /**
   * open, or how it ended; appealed: a gate is open about it; replaced: fired again; withdrawn: cancelled or closed by
   * drain; abandoned: still open when the instance ended.
   */
  state: 'open' | 'succeeded' | 'failed' | 'unknown' | 'cancelled' | 'appealed' | 'replaced' | 'withdrawn' | 'abandoned'
}

/** Why work or an instance failed. */
export interface Cause {
  readonly code: string
  readonly node: string | null
}

export interface ClosedList {
  readonly firing: Firing
  readonly total: number
  readonly success: number
  readonly failed: number
}

/** Immutable: to revert a happening, the previous record is restored. */
export interface Account {
  readonly context: ReadonlyMap<string, Json>
  readonly unhandled: number
  /** Detached children: node and input. */
  readonly detached: readonly string[]
  /** Collecting lists: the results of the latest closed firing. */
  readonly lists: ReadonlyMap<string, ClosedList>
  /** The error it will be recorded with. */
  readonly error: Cause | null
  /** For the summary. */
  readonly steps: number
  readonly branches: number
  readonly failures: readonly { readonly step: string | null; readonly code: string; readonly handled: boolean }[]
}

export const NOTHING_YET: Account = {
  context: new Map(),
  unhandled: 0,
  detached: [],
  lists: new Map(),
  error: null,
  steps: 0,
  branches: 0,
  failures: [],
}

export function templateOf(work: Work): Json | null {
  return (work.kind === 'run' ? work.args : work.kind === 'child' ? work.input : null) ?? null
}
