/**
 * Completion of deferred work by the id of its run, from anywhere, through the same settle as the workers' reports.
 * A refused completion changes nothing, but is recorded in the history of the run, unless it is only too early:
 *
 *   not_found              there is no such run
 *   mismatch               it belongs to another instance than the one that was named
 *   conflict, early        its worker still has it, or will have it
 *   conflict, duplicate    it was completed before; services repeat their answer whenever the command is sent again
 *   conflict, late         it had been given up; a success may still have to be undone, so the instance records it
 *
 * The undo at which a rollback stopped is not late: its success is recorded, and the rollback continues.
 */

import { missing, PetrelError, runError } from '../../kernel/errors.ts'
import { storableText } from '../../kernel/json-limits.ts'
import { unscopedName } from '../../kernel/scoped-names.ts'
import type { Completion, CompletionRefusal } from '../../model/commands.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Failure } from '../../net/marking.ts'
import type { Store } from '../../store/store.ts'
import type { Delivery } from '../../worker/port.ts'
import { recordRunEvent } from '../fold/events.ts'
import { findRun } from '../fold/run/changed-runs.ts'
import { settleForeignOutcome } from '../fold/run/foreign-outcomes.ts'
import { applyLateSuccess, recordLateRefusal, undoneLate } from '../fold/run/late-success.ts'
import { type Chance, failExecution, succeed } from '../fold/run/outcomes.ts'
import { type CheckedRemarks, checkRemarks, isRefused } from '../fold/run/remarks.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import { Batcher } from '../transaction/batcher.ts'
import { deliveryOf } from '../transaction/deliveries.ts'
import { LOCK_PATIENCE_MS, type Settler } from '../transaction/settle.ts'

/** How many deferred runs are remembered with their root and place: their completion then needs no look-up. */
const REMEMBERED = 20_000
const LOOKED_UP_AT_ONCE = 500

export interface CompletionDeps {
  readonly store: Store
  readonly settler: Settler
  readonly newId: () => string
  readonly chance: Chance
  readonly maxPayloadBytes: number
}

export class Completions {
  readonly #deps: CompletionDeps
  readonly #known = new Map<string, Delivery>()
  readonly #lookUps: Batcher<string, Delivery | null>

  constructor(deps: CompletionDeps) {
    this.#deps = deps
    this.#lookUps = new Batcher({
      work: async (batch) => {
        const runs = await deps.store.read.runs({ ids: batch.map(({ params }) => params) })
        const found = new Map(runs.map((run) => [run.id, deliveryOf(run)]))
        for (const { params, resolve } of batch) resolve(found.get(params) ?? null)
      },
      most: LOOKED_UP_AT_ONCE,
      mostBytes: Number.POSITIVE_INFINITY,
      sizeOf: () => 1,
    })
  }

  /** After a commit. */
  remember(change: WorkingSet): void {
    for (const run of change.runs.values()) {
      if (!run.deferred) continue
      if (this.#known.size >= REMEMBERED) this.#known.clear()
      this.#known.set(run.id, deliveryOf(run))
    }
  }

  forget(): void {
    this.#known.clear()
  }

  async complete(completion: Completion): Promise<void> {
    const { runId } = completion
    const outcome = this.#outcome(completion)
    const delivery = this.#known.get(runId) ?? (await this.#lookUps.add(runId))
    if (delivery === null) throw missing('run', runId)
    const reportId = this.#deps.newId()
    const given: Given = { outcome, remarks: this.#remarks(completion, delivery), reportId }
    // undefined: its root no longer exists, so it was not folded. The error is created only then, because errors are
    // expensive.
    let refusal: PetrelError | null | undefined
    const { rootId, instanceId } = delivery
    await this.#deps.settler.settle({
      runId,
      rootId,
      instanceId,
      bytes: outcome.text.length + 400,
      report: null,
      hint: delivery,
      patienceMs: LOCK_PATIENCE_MS,
      fold: (change) => {
        refusal = completed(change, completion, given, this.#deps.chance)
        return refusal === null ? 'recorded' : 'stale'
      },
      unstorable: () => {
        refusal = new PetrelError('unstorable', `the completion of run ${runId} cannot be stored in this database`)
        return 'stale'
      },
    })
    this.#known.delete(runId)
    if (refusal !== null) throw refusal ?? missing('run', runId)
  }

  #outcome({ outcome }: Completion): CheckedOutcome {
    const most = this.#deps.maxPayloadBytes
    if (outcome.kind === 'succeeded') return { error: null, text: storableText(outcome.result, 'result', most) }
    return { error: outcome.error, text: storableText(outcome.error, 'error', most) }
  }

  #remarks({ notes }: Completion, { instanceId }: Delivery): CheckedRemarks {
    if (notes === undefined) return {}
    const remarks = checkRemarks({ notes }, { inWorkflow: instanceId !== null, maxBytes: this.#deps.maxPayloadBytes })
    return isRefused(remarks) ? {} : remarks
  }
}

interface CheckedOutcome {
  /** null: it succeeded, and `text` is the result. */
  readonly error: Failure | null
  readonly text: string
}

interface Given {
  readonly outcome: CheckedOutcome
  readonly remarks: CheckedRemarks
  readonly reportId: string
}

function completed(change: WorkingSet, completion: Completion, given: Given, chance: Chance): PetrelError | null {
  const { runId, instanceId } = completion
  const { outcome, remarks, reportId } = given
  settleForeignOutcome(change, runId)
  const run = findRun(change, runId)
  if (run === undefined) return missing('run', runId)
  if (instanceId !== undefined && instanceId !== run.instanceId) {
    recordRefusal(change, run, 'mismatch', outcome)
    return mismatch(run, instanceId)
  }
  if (run.status === 'leased' && run.deferred) {
    const story = { startedAt: null, reportId, ...remarks }
    if (outcome.error === null) succeed(change, run, outcome.text, story)
    else failExecution(change, run, outcome.error, false, story, chance)
    return null
  }
  // Its commit was uncertain, and the same completion was sent again.
  if (run.reportId === reportId) return null
  const late = { startedAt: null, reportId, ...remarks }
  if (outcome.error === null && undoneLate(change, run, outcome.text, late)) return null
  const reason = reasonOf(run)
  if (reason !== 'early') recordRefusal(change, run, reason, outcome)
  if (reason === 'late' && outcome.error === null) applyLateSuccess(change, run, outcome.text)
  if (reason === 'late' && outcome.error !== null) recordLateRefusal(change, run)
  return conflict(run, reason)
}

function reasonOf(run: RunRow): CompletionRefusal {
  if (run.status === 'pending' || run.status === 'leased') return 'early'
  // After a late success there is a result, so a second one is a duplicate.
  const givenUp = run.unknown || (run.status === 'cancelled' && run.result === null)
  return givenUp ? 'late' : 'duplicate'
}

function recordRefusal(
  change: WorkingSet,
  run: RunRow,
  reason: CompletionRefusal | 'mismatch',
  { error }: CheckedOutcome,
): void {
  const outcome = error === null ? 'succeeded' : 'failed'
  recordRunEvent(change, run, 'completion.refused', { reason, outcome })
}

function mismatch(run: RunRow, named: string): PetrelError {
  const whose = run.instanceId === null ? 'belongs to no instance' : `belongs to instance ${run.instanceId}`
  return runError('mismatch', run.id, `${whose}, not to ${named}`, { instance_id: run.instanceId })
}

function conflict(run: RunRow, reason: CompletionRefusal): PetrelError {
  const state = run.status
  const why: Record<CompletionRefusal, string> = {
    early:
      state === 'leased'
        ? `is held by worker ${unscopedName(run.leasedBy) ?? '?'}, who has not deferred it`
        : 'has not begun',
    duplicate: `is ${state}: it was completed before`,
    late: `is ${state}: it had been given up`,
  }
  return runError('conflict', run.id, `${why[reason]}; only deferred work can be completed`, { status: state, reason })
}
