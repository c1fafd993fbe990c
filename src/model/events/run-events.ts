/** Events of runs. To keep writes few, the event that ends a lease also records how the lease began. */
import type { Failure, Place } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'

/** Of a lease that no event has recorded yet. */
export interface LeaseStory {
  readonly leased_at?: string | null
  readonly leased_by?: string | null
  readonly started_at?: string | null
}

/**
 * With the worker's remarks: names of context entries, notes, and how many notes were dropped.
 */
export interface WorkStory extends LeaseStory {
  readonly set?: readonly string[]
  readonly notes?: readonly Json[]
  readonly notes_dropped?: number
  /** Of the worker, if it states one. */
  readonly build?: string
}

/** `attempt`: failures so far. `reason`: read by foreign clients. */
export interface Ending extends WorkStory {
  readonly error?: Failure
  readonly attempt?: number
  readonly reason?: string
}

/** `rerun`: the failure is not final, since the policy of the net runs the work again. */
export interface FailedEnding extends Ending {
  readonly rerun?: true
}

export interface RunEventData {
  /**
   * With `leased_at`: handed to a worker at once. `delay_ms`, `expires_in_ms`: times that were given relative to now.
   */
  created: {
    readonly run_at?: string | null
    readonly delay_ms?: number
    readonly expires_in_ms?: number
    readonly leased_at?: string | null
    readonly leased_by?: string | null
    readonly taken_over?: true
  } | null
  leased: { readonly worker_id: string; readonly attempt: number }
  started: {
    readonly worker_id: string | null
    readonly leased_at?: string | null
    readonly leased_by?: string | null
    readonly attempt?: number
  }
  heartbeat: { readonly extended_by_seconds: number }
  /** As the worker reported it. */
  progress: Json
  succeeded: Ending | null
  failed: FailedEnding | null
  cancelled: Ending | null
  retried: Ending & { readonly run_at: string | null }
  returned: (Ending & { readonly run_at?: string | null }) | null
  deferred: WorkStory | null
  redriven: {
    readonly because: 'resumed' | 'approved' | 'policy' | 'late_success' | 'operator'
    readonly gate?: string
  } | null
  /** A place: for the instance. */
  late_success: Place | null
  'completion.refused': {
    readonly reason: 'duplicate' | 'late' | 'early' | 'mismatch'
    readonly outcome: 'succeeded' | 'failed'
  }
  'run.activated': null
  /** `run_at`: when it was due before. */
  'run.due_now': { readonly run_at: string | null }
  'run.prioritized': { readonly priority: number; readonly before: number }
  'run.deleted': null
  'run.dismissed': null
}

export const RUN_EVENTS = {
  created: 'A run was created, and perhaps handed to a worker at once.',
  leased: 'A foreign client claimed the run.',
  started: 'A worker with a lease of its own started the run.',
  heartbeat: 'The lease was extended.',
  progress: 'The worker reported progress.',
  succeeded: 'The run succeeded.',
  failed: 'The run failed for good.',
  cancelled: 'The run was cancelled.',
  retried: 'An execution failed; the run is due again.',
  returned: 'The worker gave the run back, or continues it later.',
  deferred: 'The run is completed from outside.',
  redriven: 'A run that had ended is due again.',
  late_success: 'A success was reported after the work had been given up.',
  'completion.refused': 'A completion was refused.',
  'run.activated': 'A run that waited for its activation is due.',
  'run.due_now': 'A run that waited for its time is due at once.',
  'run.prioritized': 'The priority of a pending run was changed.',
  'run.deleted': 'The run was deleted.',
  'run.dismissed': 'The run was removed from the dead letters.',
} as const satisfies Record<keyof RunEventData, string>
