/**
 * What an instance, a node or a run waits for. Each reason is one kind of thing somebody could see to, with what he
 * needs for it: names, ids, times. Times are milliseconds on the store's clock.
 */

import type { InstanceRow, RunRole, WorkerRow } from '../model/rows.ts'
import type { DrainReason, Failure, InstanceOutcome, InstanceState } from '../net/marking.ts'
import type { NodeFailure } from '../net/slots.ts'
import type { StepState } from './steps.ts'

/** Why an instance as a whole is where it is. */
export type InstanceReason =
  /** Nobody has started it. */
  | { readonly kind: 'idle' }
  /** As many of its name execute as may. */
  | {
      readonly kind: 'slot'
      readonly key: string
      readonly inUse: number
      readonly max: number | null
      readonly ahead: Count
    }
  /** More to move than fits one transaction; the engine goes on by itself. */
  | { readonly kind: 'cascade' }
  /** It stops: what is active has to end first. */
  | {
      readonly kind: 'drain'
      readonly reason: DrainReason
      readonly error: NodeFailure | null
      readonly active: number
      /** An undo follows. */
      readonly undo: boolean
    }
  /** It takes back what was done, one thing at a time. */
  | {
      readonly kind: 'undo'
      readonly error: NodeFailure | null
      readonly running: string | null
      /** In the order in which they will be undone. */
      readonly next: readonly string[]
      readonly more: number
    }
  /** All is done but what comes at the end of everything. */
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
  /** Its admission rules said no; they are asked again when the context changes. */
  | AdmissionReason
  /** Governance or approval: people. */
  | GateReason
  | ChildReason
  /** A worker, or a foreign client, has it. */
  | LeaseReason
  /** Deferred: whoever was told completes it by its id. */
  | {
      readonly kind: 'completion'
      readonly run: string
      readonly since: number | null
      readonly timeoutAt: number | null
    }
  | {
      readonly kind: 'retry'
      readonly at: number
      /** The attempt to come, of how many. */
      readonly attempt: number
      readonly maxAttempts: number
      readonly error: Failure | null
      readonly timeoutAt: number | null
    }
  /** Not due before then. */
  | { readonly kind: 'scheduled'; readonly at: number }
  /** Held back until somebody activates it. */
  | { readonly kind: 'activation'; readonly run: string }
  | { readonly kind: 'paused'; readonly queue: string }
  | { readonly kind: 'limit'; readonly key: string; readonly inUse: number; readonly max: number }
  | {
      readonly kind: 'rate'
      readonly key: string
      readonly used: number
      readonly per: number
      readonly periodMs: number
      readonly opensAt: number
    }
  /** Nobody may execute its type for now. */
  | { readonly kind: 'disabled'; readonly type: string }
  /** No live worker is known that takes it. */
  | {
      readonly kind: 'worker'
      readonly type: string
      readonly queue: string
      /** Only workers of this runtime may. */
      readonly runtime: string | null
      /** Tools that it needs and no such worker has, or no one of them has all; empty: it needs none. */
      readonly tools: readonly string[]
    }
  /** Due, and workers take such: its turn comes. */
  | { readonly kind: 'queue'; readonly queue: string; readonly ahead: Count; readonly workers: number }
  /** Ended by a foreign client; the engine takes note any moment. */
  | { readonly kind: 'unsettled'; readonly status: string }

export interface Count {
  readonly count: number
  /** true: at least so many. */
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
  /** Of those named, who may vote and has not; null: nobody is named. */
  readonly missing: readonly string[] | null
  /** One of them is needed; null: none is. */
  readonly roles: readonly string[] | null
  readonly excluded: readonly string[]
  readonly since: number
  readonly dueAt: number | null
  readonly onTimeout: 'approve' | 'reject'
  readonly escalatesAt: number | null
  /** What governance said, where it asks whether the work of a step may be done. */
  readonly appeal: Failure | null
}

export interface AdmissionReason {
  readonly kind: 'admission'
  /** Whose context would have to change. */
  readonly instance: string
  /** Held at this node. */
  readonly tokens: number
  /** In their order: the first that holds decides, and none holding means no. */
  readonly rules: readonly { readonly when: string | null; readonly allow: boolean }[]
}

export interface ChildReason {
  readonly kind: 'child'
  readonly child: InstanceRow
  readonly about: readonly InstanceReason[]
  /** The first of what it waits for; empty where no further was looked. */
  readonly waits: readonly Wait[]
  readonly more: boolean
}

export interface LeaseReason {
  readonly kind: 'lease'
  /** session: a worker that beats for all it holds. lease: one over HTTP. sql: a client on the table itself. */
  readonly by: 'session' | 'lease' | 'sql'
  readonly holder: string | null
  readonly since: number | null
  /** null: no start has been reported yet. */
  readonly startedAt: number | null
  /** null: as long as its worker beats. */
  readonly until: number | null
  readonly timeoutAt: number | null
  readonly worker: WorkerRow | null
  readonly attempt: number
  readonly maxAttempts: number
  /** When it was asked to stop. */
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
