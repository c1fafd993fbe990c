/**
 * The life cycle of a run as data: every transition, what causes it, under which guard, and the event that records it.
 *
 *                claim                  succeed
 *   pending ──────────────► leased ──────────────► succeeded
 *      ▲   ◄────────────────   │ └────────────────► failed
 *      │     fail, return      │    fail
 *      │                       └──────────────────► cancelled
 *      │ redrive                    cancel
 *      └──────── failed, cancelled
 *
 * pending    is claimable once it is due. It ends without an execution when it is cancelled, expires, or has arguments that
 *            no worker may get; a client of plain SQL may record its success without a claim.
 * leased     is held by a session, under a lease of its own (workers over HTTP), by a client of plain SQL (a foreign lease),
 *            or deferred: its worker is done, and the outcome comes later by its id. It is pending again after a failure
 *            that is retried, or when it is returned. While its workflow is ending nothing is tried again: a failure is
 *            final, and a returned run is cancelled.
 * succeeded, failed, cancelled   are ends. A success is final. A redrive takes a failed or cancelled run back to pending:
 *            an operator, a resumed workflow, approved governance or the policy of the net decides that.
 *
 * The engine applies its transitions through `transitionOf`, which refuses all others. Clients of plain SQL are held to
 * theirs by the triggers of the stores (store/postgres/repeatable, store/sqlite/repeatable). A run that such a client has
 * ended is settled by the engine, which advances its workflow and, for a step, records the event of the end.
 *
 * Several transitions may share one transaction, and one row of the audit trail: a run that is handed over is created and
 * leased at once. workflow_history shows each event by itself. Events without a transition (progress, run.* …) are not here.
 * test/model/run-transitions.test.ts performs every row with the engine and by plain SQL on both stores.
 */

import type { RunEventType } from './events/events.ts'
import type { RunStatus } from './rows.ts'

export type RunHappening =
  | 'create'
  /** A worker gets a lease. For a lease of its own, and by plain SQL, the claim is the start. */
  | 'claim'
  /** A session reports that the execution has begun. */
  | 'start'
  /** A lease of its own, or a foreign one, gets more time. */
  | 'renew'
  /** The worker is done; the outcome comes later by the id of the run. */
  | 'defer'
  | 'succeed'
  /** An execution failed: it was reported, its worker was lost, its lease expired, or it timed out. */
  | 'fail'
  /** Given back without a failure: not started, lost before the start, or released. */
  | 'return'
  /** Given back by its worker, to be continued later on the same attempt. */
  | 'postpone'
  /** Given back by its worker after a start, which counts as an attempt. */
  | 'requeue'
  /** By an operator, its workflow, or a later run with its unique key. */
  | 'cancel'
  /** Ended although a worker holds it: the workflow was cancelled or is past its deadline. */
  | 'give_up'
  /** Not started by its expiry, or past a timeout over all attempts. */
  | 'expire'
  /** Its arguments do not fit their schema, or its outcome cannot be stored. */
  | 'refuse'
  /** An earlier instance has done this work, and its result is taken over. */
  | 'take_over'
  /** The engine processes the end that a client of plain SQL has written. */
  | 'settle'
  /** A success was reported after the run had been given up. */
  | 'report_late'
  /** The same for the undo at which a rollback stopped: the success counts. */
  | 'undo_late'
  | 'redrive'

export const RUN_GUARDS = {
  own_lease: 'the lease is held by no session',
  attempt_left: 'an attempt is left, the policy retries this error, and the workflow is not ending',
  final: 'no attempt is left, the policy does not retry this error, or the workflow is ending',
  misfit: 'the result does not fit its schema, or cannot be stored',
  ending: 'the workflow is ending',
  deferred: 'no worker holds it: it was deferred',
} as const

export type RunGuard = keyof typeof RUN_GUARDS

type Party = 'engine' | 'sql'

export interface RunTransition {
  /** null: there is no such run yet. */
  readonly from: RunStatus | null
  readonly happening: RunHappening
  /** null: always, unless another row with the same happening has a guard that holds. */
  readonly guard: RunGuard | null
  readonly to: RunStatus
  readonly event: RunEventType
  readonly by: readonly Party[]
}

const ENGINE: readonly Party[] = ['engine']
const SQL: readonly Party[] = ['sql']
const BOTH: readonly Party[] = ['engine', 'sql']

type Row = readonly [
  from: RunStatus | null,
  happening: RunHappening,
  guard: RunGuard | null,
  to: RunStatus,
  event: RunEventType,
  by: readonly Party[],
]

// biome-ignore format: one line per transition
const ROWS = [
  [null,        'create',      null,           'pending',   'created',      BOTH],

  ['pending',   'claim',       null,           'leased',    'leased',       BOTH],
  ['pending',   'claim',       'own_lease',    'leased',    'started',      ENGINE],
  ['pending',   'succeed',     null,           'succeeded', 'succeeded',    SQL],
  ['pending',   'take_over',   null,           'succeeded', 'succeeded',    ENGINE],
  ['pending',   'expire',      null,           'failed',    'failed',       ENGINE],
  ['pending',   'refuse',      null,           'failed',    'failed',       ENGINE],
  ['pending',   'cancel',      null,           'cancelled', 'cancelled',    BOTH],

  ['leased',    'start',       null,           'leased',    'started',      ENGINE],
  ['leased',    'renew',       null,           'leased',    'heartbeat',    BOTH],
  ['leased',    'defer',       null,           'leased',    'deferred',     ENGINE],
  ['leased',    'succeed',     null,           'succeeded', 'succeeded',    BOTH],
  ['leased',    'succeed',     'misfit',       'failed',    'failed',       ENGINE],
  ['leased',    'fail',        'attempt_left', 'pending',   'retried',      BOTH],
  ['leased',    'fail',        'final',        'failed',    'failed',       BOTH],
  ['leased',    'return',      null,           'pending',   'returned',     BOTH],
  ['leased',    'return',      'ending',       'cancelled', 'cancelled',    BOTH],
  ['leased',    'postpone',    null,           'pending',   'returned',     ENGINE],
  ['leased',    'requeue',     null,           'pending',   'returned',     ENGINE],
  ['leased',    'cancel',      null,           'cancelled', 'cancelled',    BOTH],
  ['leased',    'give_up',     null,           'cancelled', 'cancelled',    ENGINE],
  ['leased',    'give_up',     'deferred',     'failed',    'failed',       ENGINE],
  ['leased',    'refuse',      null,           'failed',    'failed',       ENGINE],

  ['succeeded', 'settle',      null,           'succeeded', 'succeeded',    ENGINE],
  ['succeeded', 'settle',      'misfit',       'failed',    'failed',       ENGINE],
  ['failed',    'settle',      null,           'failed',    'failed',       ENGINE],
  ['failed',    'settle',      'misfit',       'failed',    'failed',       ENGINE],
  ['cancelled', 'settle',      null,           'cancelled', 'cancelled',    ENGINE],
  ['cancelled', 'settle',      'misfit',       'failed',    'failed',       ENGINE],

  ['failed',    'report_late', null,           'failed',    'late_success', ENGINE],
  ['cancelled', 'report_late', null,           'cancelled', 'late_success', ENGINE],
  ['failed',    'undo_late',   null,           'succeeded', 'succeeded',    ENGINE],
  ['failed',    'redrive',     null,           'pending',   'redriven',     ENGINE],
  ['cancelled', 'redrive',     null,           'pending',   'redriven',     ENGINE],
] as const satisfies readonly Row[]

export const RUN_TRANSITIONS: readonly RunTransition[] = ROWS.map(([from, happening, guard, to, event, by]) => ({
  ...{ from, happening, guard, to, event, by },
}))

type Known = { readonly [key: string]: { readonly [key: string]: { readonly [key: string]: RunTransition } } }

/** Nested objects: a lookup makes no string, and every step of a workflow looks up three. */
const KNOWN: Known = known()

function known(): Known {
  const index: Record<string, Record<string, Record<string, RunTransition>>> = {}
  for (const transition of RUN_TRANSITIONS.filter(({ by }) => by.includes('engine'))) {
    const { happening, from, guard } = transition
    index[happening] ??= {}
    const ofHappening = index[happening]
    ofHappening[from ?? 'none'] ??= {}
    const ofStatus = ofHappening[from ?? 'none'] as Record<string, RunTransition>
    ofStatus[guard ?? 'none'] = transition
  }
  return index
}

type EventOf<R, H, G> = R extends readonly [unknown, H, G, unknown, infer E, unknown] ? E : never

/** `event`: of the types that this happening may record under this guard. */
type Transition<H, G> = RunTransition & { readonly event: EventOf<(typeof ROWS)[number], H, G> }

/**
 * The engine's transition for what happens to a run of this status. Throws if there is none: nothing may be written.
 */
export function transitionOf<H extends RunHappening, G extends RunGuard | null = null>(
  from: RunStatus | null,
  happening: H,
  guard: G = null as G,
): Transition<H, G> {
  const transition = KNOWN[happening]?.[from ?? 'none']?.[guard ?? 'none']
  if (transition === undefined) {
    throw new Error(`a run that is ${from ?? 'new'} has no transition '${happening}' (${guard ?? 'no guard'})`)
  }
  return transition as Transition<H, G>
}
