/** What can be done with runs: to enqueue, complete and control them, and to ask why one waits. */

import type { Completion } from '../../model/commands.ts'
import type { Enqueued, EnqueueParams } from '../../model/enqueue.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Json } from '../../net/net.ts'
import type { WhyRun } from '../../views/why.ts'
import type { Parts } from '../parts.ts'
import { type CallerTransaction, transactIn } from '../transaction/caller-transaction.ts'
import { deliveryOf } from '../transaction/deliveries.ts'

export interface RunVerbs {
  enqueue(params: readonly EnqueueParams[], on?: CallerTransaction): Promise<readonly Enqueued[]>
  /**
   * Completes deferred work by its run id. What cannot be completed is refused and changes nothing: `not_found`;
   * `mismatch`, if the run is not of the instance named; `conflict`, whose details give the reason.
   */
  complete(params: Completion): Promise<void>
  cancelRun(params: { readonly id: string; readonly actor: string | null }): Promise<RunRow>
  /** A smaller number is more urgent. */
  prioritize(params: { readonly id: string; readonly priority: number; readonly actor: string | null }): Promise<RunRow>
  /**
   * A failed, cancelled or dead-lettered run becomes pending again, with attempt 0: also in a workflow that continues, if
   * nothing has followed from its failure. Of one in an ended workflow a new run is made.
   */
  redrive(params: { readonly runId: string; readonly actor: string | null }): Promise<RunRow>
  /** A run that is due later becomes due at once; its attempts stay as they are. */
  retryNow(params: { readonly id: string; readonly actor: string | null }): Promise<RunRow>
  /** A run that waits at HELD_AT becomes due. */
  activate(params: { readonly id: string; readonly actor: string | null }): Promise<RunRow>
  /**
   * Hides a run until retention removes it: a pending run is never handed out, and counts as cancelled in its workflow.
   * A run that a worker holds is a conflict.
   */
  deleteRun(params: { readonly id: string; readonly actor: string | null }): Promise<RunRow>
  /** Removes a dead-lettered run permanently. */
  dismiss(params: { readonly id: string; readonly actor: string | null }): Promise<void>
  /** What the node of a run adds to its type, for the worker to execute; null: nothing. */
  program(run: RunRow): Promise<Json | null>
  /** Results of the nodes before a run in its workflow, by node key (JSON text); empty for a bare run. */
  resultsBefore(run: RunRow): Promise<ReadonlyMap<string, string | null>>
  whyRun(run: RunRow): Promise<WhyRun>
}

export function runVerbs(parts: Parts): RunVerbs {
  const { store, intake, completions, runControl, waiters, programs, results, reasons, afterCommit } = parts
  return {
    enqueue: (params, on) => intake.enqueue(params, transactIn(store, on)),
    complete: (p) => completions.complete(p),
    cancelRun: (p) => runControl.cancel(p).finally(() => afterCommit.controlled()),
    prioritize: (p) => runControl.prioritize(p),
    redrive: (p) => runControl.redrive({ id: p.runId, actor: p.actor }),
    retryNow: (p) => runControl.dueNow(p),
    activate: (p) => runControl.activate(p),
    deleteRun: async (p) => {
      const run = await runControl.delete(p)
      // It will never end: those who wait for its end must hear of that.
      await waiters.look([run.id])
      return run
    },
    dismiss: (p) => runControl.dismiss(p),
    program: (run) => programs.of(run),
    resultsBefore: async (run) => (await results.before(deliveryOf(run))).byNode,
    whyRun: (run) => reasons.run(run),
  }
}
