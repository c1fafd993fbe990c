import type { EngineKey } from '../kernel/scoped-names.ts'
import type { Json, Net } from '../net/net.ts'
import type { Retry } from '../net/retry/retry.ts'
import type { LimitParams } from './limits.ts'
export interface StartParams {
  readonly id?: string
  readonly net: Net
  /** Nets of nested workflows, by reference from child nodes and items. */
  readonly nets?: readonly Net[]
  readonly input?: Json
  /** Literal arguments by node: never part of the net. */
  readonly literals?: { readonly [node: string]: Literal }
  /** Literal items of `each` nodes. */
  readonly items?: { readonly [node: string]: readonly Item[] }
  /** Unique within the tenant: a second start answers with the first instance. Refused for another workflow. */
  readonly startKey?: string | EngineKey
  /**
   * Start keys of this instance and of those nested in it that their author named: reserved together, for ever. If
   * one is taken, nothing starts (`duplicate`).
   */
  readonly names?: readonly string[]
  /** As of EnqueueParams. */
  readonly limits?: readonly LimitParams[]
  /** false: it stays idle, with nothing due, until startInstance. */
  readonly start?: boolean
  /**
   * Instances of this workflow (its name and tenant) that may execute at once, from now on; one for which there is no
   * room waits in the queue, first queued first. Left out: it needs no room and takes none.
   */
  readonly slots?: number
  readonly tenant?: string
  readonly initiator?: string
  readonly meta?: Json
}

export interface Literal {
  readonly args?: Json
  readonly meta?: Json
  /** Not before this moment, however early its turn comes. */
  readonly runAt?: number
  readonly expiresAt?: number
  /** What a child node starts with. */
  readonly start?: ChildStart
}

export interface ChildStart {
  readonly input?: Json
  /** One of the root's `names`. */
  readonly startKey?: string
  readonly meta?: Json
  readonly literals?: { readonly [node: string]: Literal }
  readonly items?: { readonly [node: string]: readonly Item[] }
}

/** An item of an each that names its own work. With a body on the node, items are any JSON. */
export type Item = { readonly run: ItemRun } | { readonly child: string; readonly start: ChildStart } | Json

export interface ItemRun {
  readonly type: string
  readonly args: Json
  readonly queue?: string
  readonly priority?: number
  readonly delayMs?: number
  readonly retry?: Retry
  readonly timeoutMs?: number
  readonly limitKey?: string
  readonly meta?: Json
  /** Not before this moment. */
  readonly runAt?: number
  readonly expiresAt?: number
}

export interface Started {
  readonly id: string
  readonly created: boolean
}
