/**
 * The marking: all that moves while a net runs. The narrow part is one row of `workflow_instance`; the wide part
 * (join counts, scopes, held tokens, context, undo list) is in slots, of which only the touched ones are loaded.
 */
import type { Closed } from './lists.ts'
import type { Json, Work } from './net.ts'
import type { NodeFailure } from './slots.ts'

export type Phase = 'forward' | 'drain' | 'undo' | 'final' | 'ended'

export type InstanceState =
  | 'idle'
  | 'queued'
  | 'running'
  | 'waiting'
  | 'cancelling'
  | 'compensating'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'compensated'

export type InstanceOutcome =
  | 'success'
  | 'partial'
  | 'failed'
  | 'timed_out'
  | 'cancelled'
  | 'rolled_back'
  | 'rolled_back_partial'

export const TERMINAL: ReadonlySet<InstanceState> = new Set(['completed', 'failed', 'cancelled', 'compensated'])

/** Why an instance left the forward phase. The first reason is kept. */
export type DrainReason = 'failure' | 'compensate' | 'stop' | 'cancel' | 'deadline' | 'engine_error'

export interface Marking {
  readonly phase: Phase
  readonly state: InstanceState
  readonly outcome: InstanceOutcome | null
  readonly reason: DrainReason | null
  /** Live tokens of the root scope; a token inside an inner scope is counted there. */
  readonly live: number
  /** Tokens denied by admission, waiting for the context to change. */
  readonly held: number
  /** Runs, attached children and gates created and not ended, over all scopes. */
  readonly open: number
  /** The gates among them. */
  readonly gates: number
  /** Numbers firings; also names scopes. */
  readonly fires: number
  /** Numbers ended work in the order it was recorded: the order of undo. */
  readonly doneSeq: number
  readonly succeeded: number
  /** Work that failed for good, whether handled or not. */
  readonly failed: number
  /** The part of `failed` (and of refused routings) that no arc, skip or policy handled. */
  readonly unhandled: number
  readonly finalsFailed: number
  /** true: a bounded cascade stopped half way; a `continue` happening is due. */
  readonly more: boolean
}

/** Where work belongs. Unique per instance: the backstop of "created exactly once". */
export interface Place {
  readonly node: string
  readonly fire: number
  /** Index in an `each`; −1 elsewhere. */
  readonly item: number
  readonly role: 'work' | 'undo' | 'final'
  /** Ids of the enclosing scopes, outermost first, joined by dots; '' is the root scope. */
  readonly scope: string
}

export interface Failure {
  readonly code: string
  readonly message: string
  readonly category?: string
  readonly type?: string
  readonly retryable?: boolean
  readonly details?: Json
}

/**
 * `set`: context entries reported with it, written before anything is routed, however the work ended. `kept`: the work is
 * that of another instance, which keeps it: it is never undone here.
 */
export type Outcome =
  | { readonly kind: 'succeeded'; readonly set?: Entries; readonly kept?: true }
  /** `undoError`: of a child whose own undo failed, so that its work is half undone. */
  | { readonly kind: 'failed'; readonly error: Failure; readonly undoError?: Failure; readonly set?: Entries }
  /** Timed out, lost, or cancelled while active: it is unknown whether the work took effect. */
  | { readonly kind: 'unknown'; readonly error: Failure; readonly set?: Entries }
  /** Never started and never will. */
  | { readonly kind: 'cancelled' }

/** Entries of the context; null removes one. */
export type Entries = { readonly [name: string]: Json }

export type Happening =
  /** An idle instance is to begin as soon as there is room. */
  | { readonly kind: 'queue' }
  | { readonly kind: 'start' }
  | { readonly kind: 'ended'; readonly place: Place; readonly outcome: Outcome }
  | { readonly kind: 'answered'; readonly place: Place; readonly approved: boolean; readonly error: Failure | null }
  /**
   * A success reported for work, or for an undo, that had already been recorded as unknown. `result`: what it returned,
   * for its undo. `cancelled`: it was cancelled before its outcome was in doubt, so no policy has put it on the undo
   * list. `refused`: not a success: the work was not done.
   */
  | {
      readonly kind: 'late'
      readonly place: Place
      readonly result?: Json
      readonly cancelled?: boolean
      readonly refused?: boolean
    }
  | { readonly kind: 'patched'; readonly set: Entries }
  /** `undo`: its parent undoes its work, so what this instance has completed is undone as well before it ends. */
  | { readonly kind: 'cancel'; readonly undo?: boolean }
  /** An operator gives the instance up: active work is waited for, and all that succeeded is undone. */
  | { readonly kind: 'roll-back' }
  | { readonly kind: 'deadline' }
  /** Continues a cascade that was cut off, or, past a deadline, the undo. */
  | { readonly kind: 'continue' }
  /**
   * An operator has one run that failed for good done again, while its instance continues (take-back.ts). `deadEnd`: it is
   * known that none of its arcs was taken.
   */
  | { readonly kind: 'again'; readonly place: Place; readonly deadEnd?: boolean }
  /** An operator resumes an instance that stopped (`unknown: stop` or a saga's policy `stop`) at its failed places. */
  | { readonly kind: 'resume'; readonly places: readonly Place[] }
  | { readonly kind: 'engine_error'; readonly error: Failure }

/** What `fire` records, by type. Those that a net without `tells` leaves out are marked. */
export interface NetEventData {
  'instance.draining': { readonly reason: DrainReason; readonly error: NodeFailure }
  'instance.compensating': null
  /** At how many places. */
  'instance.resumed': number
  /** Only with `tells`. `rule`: which one decided; null: none did. */
  'node.admitted': { readonly fire: number; readonly rule: number | null }
  /** Data only with `tells`. */
  'node.held': { readonly token: number; readonly rule: number | null } | null
  /** A number: so many held tokens at the end of the instance. The others only with `tells`. */
  'node.discarded':
    | { readonly rule: number | null }
    | { readonly token: number; readonly why: 'complete' }
    | number
    | null
  /** Only with `tells`, and not of runs. `item`: of a list. */
  'node.fired': { readonly fire: number; readonly kind: Work['kind']; readonly item?: number }
  /** Only with `tells`: an item that is a nested workflow. */
  'node.item_ended': { readonly fire: number; readonly item: number; readonly status: 'succeeded' | 'failed' }
  /** Only with `tells`. `taken`: the indexes of the arcs; `handled`: of a failure. */
  'node.routed': {
    readonly fire: number
    readonly status: 'succeeded' | 'skipped' | 'failed'
    readonly mode: 'first' | 'every'
    readonly arcs: number
    readonly taken: readonly number[]
    readonly to: readonly string[]
    readonly matched: boolean
    readonly handled?: boolean
  }
  'node.skipped': NodeFailure | null
  'node.rerun': { readonly because: 'policy'; readonly error: NodeFailure }
  'node.final_failed': NodeFailure
  /** Only with `tells`. `max`: items in flight. */
  'each.opened': { readonly fire: number; readonly total: number; readonly max: number | null }
  /** Only with `tells`. */
  'each.closed': Closed
  late_success: Place
}

type NetEventEffect = {
  readonly [T in keyof NetEventData]: {
    readonly do: 'event'
    readonly type: T
    readonly node: string | null
    readonly data: NetEventData[T]
  }
}[keyof NetEventData]

export type Effect =
  /** `rendered`: args come from the node's template and are the payload; otherwise they are the token's. */
  | {
      readonly do: 'run'
      readonly place: Place
      readonly args: Json | null
      readonly rendered: boolean
      readonly item: Json | null
    }
  /**
   * The run at this place is active again under the same id: by an operator, who resumed the instance or chose this run,
   * an approved appeal or the net's policy.
   */
  | { readonly do: 'redrive'; readonly place: Place; readonly because: 'resumed' | 'approved' | 'policy' | 'operator' }
  | { readonly do: 'gate'; readonly place: Place; readonly args: Json | null }
  /** The gate of an appeal, at a place of its own, for the run at `of`. */
  | { readonly do: 'appeal'; readonly place: Place; readonly of: Place; readonly error: Failure }
  | {
      readonly do: 'child'
      readonly place: Place
      readonly net: string
      readonly attached: boolean
      readonly args: Json | null
      readonly rendered: boolean
      readonly item: Json | null
    }
  /** Freeze the items of an `each` from index `from` on. */
  | {
      readonly do: 'items'
      readonly node: string
      readonly fire: number
      readonly from: number
      readonly values: readonly Json[]
    }
  /** Work that had not started and will not. */
  | { readonly do: 'cancel-run'; readonly id: string }
  | { readonly do: 'cancel-child'; readonly id: string; readonly undo: boolean }
  | { readonly do: 'close-gate'; readonly id: string }
  /** Ask active work to stop if it can; it still reports its own outcome. */
  | { readonly do: 'signal-active' }
  /** Set (or clear) the instance's deadline, from now. */
  | { readonly do: 'deadline'; readonly inMs: number | null }
  | NetEventEffect
  | { readonly do: 'end'; readonly state: InstanceState; readonly outcome: InstanceOutcome }

export function newMarking(state: 'idle' | 'queued' = 'queued'): Marking {
  return {
    phase: 'forward',
    state,
    outcome: null,
    reason: null,
    live: 0,
    held: 0,
    open: 0,
    gates: 0,
    fires: 0,
    doneSeq: 0,
    succeeded: 0,
    failed: 0,
    unhandled: 0,
    finalsFailed: 0,
    more: false,
  }
}
