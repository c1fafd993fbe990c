import type { EngineKey } from '../kernel/scoped-names.ts'
import type { Json, Net } from '../net/net.ts'
import type { Retry } from '../net/retry/retry.ts'
import type { DefinitionName, DefinitionRow } from './definitions.ts'
import type { LimitParams } from './limits.ts'
import type { NetRow } from './rows.ts'

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
  /** Unique within the tenant: a second start returns the first instance. Refused for another workflow. */
  readonly startKey?: string | EngineKey
  /**
   * Names of this instance and of those nested in it, given by the author: reserved together and permanently. If one is
   * taken, nothing starts (`duplicate`).
   */
  readonly names?: readonly string[]
  /** As in EnqueueParams. */
  readonly limits?: readonly LimitParams[]
  /** false: it stays idle, with nothing due, until startInstance. */
  readonly start?: boolean
  /**
   * The quota: how many instances of this workflow (its name and tenant) may execute at the same time, from now on. An instance
   * for which there is no room waits in the queue. Left out: it does not count against a quota.
   */
  readonly slots?: number
  readonly tenant?: string
  readonly initiator?: string
  /** Queries find it by them. A retry has the same. */
  readonly tags?: readonly string[]
  /** Its runs that have no key of their own share their queue under this one; so do those of nested instances. */
  readonly fairKey?: string
  readonly meta?: Json
}

export interface Literal {
  readonly args?: Json
  readonly meta?: Json
  /** It is not due before this time. */
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
  readonly fairKey?: string
  readonly meta?: Json
  /** It is not due before this time. */
  readonly runAt?: number
  readonly expiresAt?: number
}

export interface Started {
  readonly id: string
  readonly created: boolean
}

export interface StartLimits {
  readonly maxDepth: number
  readonly maxPayloadBytes: number
}

/** Everything that a start needs except its input and its identity. */
export type Startable = Omit<StartParams, 'id' | 'startKey' | 'tenant' | 'initiator' | 'start'>

export interface Planned {
  readonly plan: string
  readonly netHash: string
  readonly nets: readonly NetRow[]
}

export interface StartDefinition {
  readonly name: string
  /** null: the latest version. */
  readonly version: string | null
  /** null: the default of the definition. */
  readonly input: Json
  readonly startKey?: string
  /** Left out: one is created. */
  readonly id?: string
  /** false: it stays idle until it is started or triggered. */
  readonly start?: boolean
  readonly tenant: string | null
  /** The tenant that owns the definition. Left out: `tenant`. */
  readonly owner?: string | null
  readonly actor: string | null
  /** Merged over the meta of the definition. */
  readonly meta?: Json
  /** Besides those of the definition. */
  readonly tags?: readonly string[]
  /** As in StartParams. */
  readonly fairKey?: string
  /** Default { kind: 'manual' }. */
  readonly trigger?: Json
}

export interface DefinitionStarted extends Started {
  readonly definition: DefinitionRow
}

export interface Triggered extends Started {
  /** For an instance that was idle: its own version; null: it has none, or was started before. */
  readonly version: string | null
}

/** A trigger of a definition. */
export interface TriggerDefinition {
  /** The version that is the latest at that time is started. */
  readonly of: DefinitionName
  /** Identifies the trigger (stored as an EngineKey): the same key starts nothing twice. */
  readonly key: string
  /** The input of a new instance; null: the default of the definition. */
  readonly input: Json
  readonly trigger: { readonly [key: string]: Json }
  readonly actor: string | null
}
