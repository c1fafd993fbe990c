/**
 * What can be done with instances: to start and control them, to read their state and results, to follow one to its
 * end.
 */

import type { Preview, RepeatAsked } from '../../model/queries/repeats.ts'
import type { InstanceRow, RunRow, StoredEvent } from '../../model/rows.ts'
import type { Started, StartParams } from '../../model/start.ts'
import type { InstanceState } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import type { Marking, MarkingAsked } from '../../views/pictures/marking.ts'
import type { Timeline, TimelineAsked } from '../../views/pictures/timeline.ts'
import { follow, type InstanceView, type ViewPage, viewOf } from '../../views/view.ts'
import type { Why } from '../../views/why.ts'
import type { PausedInstance, PauseInstance } from '../control/pauses.ts'
import type { Parts } from '../parts.ts'
import { withPlannedTimes } from '../planned-times.ts'
import { type CallerTransaction, transactIn } from '../transaction/caller-transaction.ts'

/** Steps on a page of a preview. */
const PREVIEWED = 50

export type Repeat = RepeatAsked & { readonly actor: string | null }

export interface InstanceVerbs {
  start(params: readonly StartParams[], on?: CallerTransaction): Promise<readonly Started[]>
  cancelInstance(params: {
    readonly id: string
    readonly actor: string | null
    /** true: a second cancel is a conflict, even while the first still waits for active work to end. */
    readonly once?: boolean
    /** true: its completed work is undone before it ends; active work is waited for, and undone if it succeeds. */
    readonly undo?: boolean
  }): Promise<InstanceRow>
  patchContext(params: {
    readonly instanceId: string
    readonly set: { readonly [name: string]: Json }
    readonly actor: string | null
  }): Promise<InstanceRow>
  /** An idle instance is queued, and begins at once if there is room. One in any other state is a conflict. */
  startInstance(params: { readonly id: string; readonly actor: string | null }): Promise<InstanceRow>
  /**
   * Starts a new instance that takes over the finished results of a failed, cancelled or partial one, or of any ended one as
   * its fork. `from`: that step and what follows from it is done again, with `args` if there are any. `input` replaces the
   * input of the old one. The same `startKey` returns the same retry again.
   */
  retryInstance(params: Repeat & { readonly startKey?: string }): Promise<Started>
  /** What that would do again and what it would take over, a page at a time; refuses what the retry would refuse. */
  previewRetry(params: RepeatAsked & { readonly after?: string | null; readonly limit?: number }): Promise<Preview>
  /** Runs of the instance, and of what is nested in it, that wait for a time are due at once; returns how many. */
  retryInstanceNow(params: { readonly id: string; readonly actor: string | null }): Promise<number>
  /** Continues, in place, an instance that stopped (saga policy stop). */
  resumeInstance(params: { readonly id: string; readonly actor: string | null }): Promise<InstanceRow>
  /** Nothing of its tree begins any more; active work ends as usual. A pause that is in force is a conflict. */
  pauseInstance(params: PauseInstance): Promise<PausedInstance>
  /** Ends its pause. What waited is due again; stopped times continue. */
  unpauseInstance(params: { readonly id: string; readonly actor: string | null }): Promise<PausedInstance>
  /** With its first runs and children, or those of another page. */
  view(instanceId: string, page?: ViewPage): Promise<InstanceView | null>
  /** What each node that has not ended waits for, a page at a time; null: there is no such instance. */
  why(params: {
    readonly instanceId: string
    /** `next` of the page before. */
    readonly after?: string | null
    readonly limit?: number
  }): Promise<Why | null>
  /** Its runs, children and gates with what happened to each and when, a page at a time; null: there is no such instance. */
  timeline(params: { readonly instanceId: string } & Partial<TimelineAsked>): Promise<Timeline | null>
  /** The state of each node, or of those that may have changed after an event number; null: there is no such instance. */
  marking(params: { readonly instanceId: string } & Partial<MarkingAsked>): Promise<Marking | null>
  /** Results by node key (JSON text); for an each an object keyed by item index; for a child its own results. */
  results(instanceId: string, nodes?: readonly string[]): Promise<ReadonlyMap<string, string | null>>
  /** The same for display: as many as fit in so many bytes, the others as markers with their size (model/shown.ts). */
  shownResults(instanceId: string, maxBytes: number): Promise<ReadonlyMap<string, string | null>>
  /** Resolves when the instance (or bare run) has ended. */
  ended(params: {
    readonly id: string
    readonly kind: 'instance' | 'run'
    readonly signal?: AbortSignal
  }): Promise<InstanceState | RunRow['status']>
  /** Follows the events of one instance until it ends. */
  watch(instanceId: string, signal?: AbortSignal): AsyncIterable<StoredEvent>
}

export function instanceVerbs(parts: Parts): InstanceVerbs {
  const { store, intake, control, pauses, repeats, runControl, waiters, results, reasons, pictures, afterCommit } =
    parts
  const shown = withPlannedTimes(store.read)
  return {
    start: (params, on) => intake.start(params, transactIn(store, on)),
    cancelInstance: (p) => control.cancelInstance(p),
    patchContext: (p) => control.patchContext(p),
    startInstance: (p) => control.startInstance(p),
    retryInstance: (p) => repeats.repeat(p),
    previewRetry: ({ after = null, limit = PREVIEWED, ...p }) => repeats.preview({ ...p, after, limit }),
    retryInstanceNow: (p) => runControl.dueNowAll(p),
    resumeInstance: (p) => control.resumeInstance(p),
    pauseInstance: (p) => pauses.pause(p),
    unpauseInstance: (p) => pauses.resume(p),
    view: (instanceId, page) => viewOf(shown, instanceId, page),
    why: ({ instanceId, after = null, limit = 50 }) => reasons.instance({ instanceId, after, limit }),
    timeline: ({ instanceId, node = null, after = null, limit = 200 }) =>
      pictures.timeline(instanceId, { node, after, limit }),
    marking: ({ instanceId, after = null, from = null, limit = 1_000 }) =>
      pictures.marking(instanceId, { after, from, limit }),
    results: async (instanceId, nodes) => {
      const recent = nodes === undefined ? null : waiters.recentResults(instanceId, nodes)
      return recent ?? results.ofInstance(instanceId, nodes ?? null)
    },
    shownResults: (instanceId, maxBytes) => results.shown(instanceId, maxBytes),
    ended: (p) => waiters.ended(p),
    watch: (instanceId, signal) =>
      follow({
        queries: store.read,
        instanceId,
        signal: signal ?? null,
        onWake: (listener) => afterCommit.onCommit(listener),
      }),
  }
}
