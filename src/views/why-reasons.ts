/**
 * What an instance, a node or a run waits for. Each reason is of a kind that can be acted upon, with the necessary facts:
 * names, ids, times. Times are milliseconds on the store's clock.
 */

import type { PausedTimeouts, PauseRow } from '../model/pauses/pauses.ts'
import type { InstanceRow, RunRole, WorkerRow } from '../model/rows.ts'
import type { DrainReason, Failure, InstanceOutcome, InstanceState } from '../net/marking.ts'
import type { NodeFailure } from '../net/slots.ts'
import type { StepState } from './steps.ts'

/** Who paused what, and how; null: not known. */
interface PauseFacts {
  readonly since: number | null
  readonly by: string | null
  readonly reason: string | null
}

/** `state`: what waits is still being parked, or is being released. */
export interface InstancePause extends PauseFacts {
  readonly kind: 'paused'
  readonly what: 'instance'
  /** The root of the paused tree. */
  readonly instance: string
  readonly timeouts: PausedTimeouts
  readonly state: PauseRow['state']
}

export interface DefinitionPause extends PauseFacts {
  readonly kind: 'paused'
  readonly what: 'definition'
  readonly definition: string
}

export interface QueuePause extends PauseFacts {
  readonly kind: 'paused'
  readonly what: 'queue'
  readonly queue: string
}

export interface TypePause extends PauseFacts {
  readonly kind: 'paused'
  readonly what: 'type'
  readonly type: string
}

/** Why an instance as a whole has not ended. */
export type InstanceReason =
  /** An operator paused its tree, or new instances of its definition. */
  | InstancePause
  | DefinitionPause
  /** It has not been started. */
  | { readonly kind: 'idle' }
  /** As many instances of its name execute as the quota allows. */
  | {
      readonly kind: 'slot'
      readonly key: string
      readonly inUse: number
      readonly max: number | null
      readonly ahead: Count
    }
  /** Its transitions did not fit in one transaction; the engine continues by itself. */
  | { readonly kind: 'cascade' }
  /** It is stopping: active work must end first. */
  | {
      readonly kind: 'drain'
      readonly reason: DrainReason
      readonly error: NodeFailure | null
      readonly active: number
      /** An undo follows. */
      readonly undo: boolean
    }
  /** It undoes completed work, one step at a time. */
  | {
      readonly kind: 'undo'
      readonly error: NodeFailure | null
      readonly running: string | null
      /** In the order in which they will be undone. */
      readonly next: readonly string[]
      readonly more: number
    }
  /** Only its finals remain. */
  | { readonly kind: 'finals'; readonly active: number }
  | {
      readonly kind: 'ended'
      readonly state: InstanceState
      readonly outcome: InstanceOutcome | null
      readonly at: number
      readonly error: NodeFailure | null
      readonly undoError: NodeFailure | null
    }

/** What one node, or one run, waits for. */
export type Reason =
  | { readonly kind: 'dependency'; readonly nodes: readonly Dependency[]; readonly more: number }
  /** Its admission rules denied it; they are evaluated again when the context changes. */
  | AdmissionReason
  /** People must decide: governance or approval. */
  | GateReason
  | ChildReason
  /** A worker, or a foreign client, holds it. */
  | LeaseReason
  /** Deferred: a service will complete it by its id. */
  | {
      readonly kind: 'completion'
      readonly run: string
      readonly since: number | null
      readonly timeoutAt: number | null
    }
  | {
      readonly kind: 'retry'
      readonly at: number
      /** The next attempt, and how many there are. */
      readonly attempt: number
      readonly maxAttempts: number
      readonly error: Failure | null
      readonly timeoutAt: number | null
    }
  /** Not due before then. */
  | { readonly kind: 'scheduled'; readonly at: number }
  /** Held until it is activated. */
  | { readonly kind: 'activation'; readonly run: string }
  | InstancePause
  | QueuePause
  | TypePause
  | { readonly kind: 'limit'; readonly key: string; readonly inUse: number; readonly max: number }
  | {
      readonly kind: 'rate'
      readonly key: string
      readonly used: number
      readonly per: number
      readonly periodMs: number
      readonly opensAt: number
    }
  /** Its type is disabled. */
  | { readonly kind: 'disabled'; readonly type: string }
  /** No known live worker takes it. */
  | {
      readonly kind: 'worker'
      readonly type: string
      readonly queue: string
      /** Only workers of this runtime may. */
      readonly runtime: string | null
      /**
       * Tools that it needs and that no such worker has, or all of them if no single worker has all; empty: it needs
       * none.
       */
      readonly tools: readonly string[]
    }
  /** Due, and there are workers for it: it waits for its turn. */
  | { readonly kind: 'queue'; readonly queue: string; readonly ahead: Count; readonly workers: number }
  /** Ended by a foreign client; the engine will settle it in a moment. */
  | { readonly kind: 'unsettled'; readonly status: string }

export interface Count {
  readonly count: number
  /** true: at least that many. */
  readonly more: boolean
}

export interface Dependency {
  readonly node: string
  readonly state: StepState
}

export interface GateReason {
  readonly kind: 'gate'
  readonly gate: string
  readonly title: string | null
  readonly approvals: number
  readonly quorum: number
  /** Named persons who may vote and have not; null: no persons are named. */
  readonly missing: readonly string[] | null
  /** One of these roles is needed to vote; null: no role is needed. */
  readonly roles: readonly string[] | null
  readonly excluded: readonly string[]
  readonly since: number
  readonly dueAt: number | null
  readonly onTimeout: 'approve' | 'reject'
  readonly escalatesAt: number | null
  /** The refusal by governance, if this is an appeal. */
  readonly appeal: Failure | null
}

export interface AdmissionReason {
  readonly kind: 'admission'
  /** The instance whose context would have to change. */
  readonly instance: string
  /** The tokens held at this node. */
  readonly tokens: number
  /** In their order: the first rule that holds decides; if none holds, it is denied. */
  readonly rules: readonly { readonly when: string | null; readonly allow: boolean }[]
}

export interface ChildReason {
  readonly kind: 'child'
  readonly child: InstanceRow
  readonly about: readonly InstanceReason[]
  /** The first of its own reasons; empty if they were not read. */
  readonly waits: readonly Wait[]
  readonly more: boolean
}

export interface LeaseReason {
  readonly kind: 'lease'
  /**
   * session: a worker with heartbeats for all its runs. lease: a worker over HTTP. sql: a client of the table itself.
   */
  readonly by: 'session' | 'lease' | 'sql'
  readonly holder: string | null
  readonly since: number | null
  /** null: no start has been reported yet. */
  readonly startedAt: number | null
  /** null: as long as its worker sends heartbeats. */
  readonly until: number | null
  readonly timeoutAt: number | null
  readonly worker: WorkerRow | null
  readonly attempt: number
  readonly maxAttempts: number
  /** When its worker was asked to stop. */
  readonly stopAskedAt: number | null
}

export interface Wait {
  readonly node: string | null
  readonly item: number | null
  readonly role: RunRole
  readonly run: string | null
  readonly state: StepState
  readonly reasons: readonly Reason[]
}
