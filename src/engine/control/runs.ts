/** Operations on single runs by people and other systems: cancel, redrive, activate, prioritize, delete, dismiss. */

import { missing, PetrelError, runError } from '../../kernel/errors.ts'
import { HELD_AT, PARKED_AT, type RunRow } from '../../model/rows.ts'
import { transitionOf } from '../../model/run-transitions.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { Store } from '../../store/store.ts'
import { recordRunEvent } from '../fold/events.ts'
import { memberOf } from '../fold/members.ts'
import { findRun, replaceRun } from '../fold/run/changed-runs.ts'
import { settleForeignOutcome } from '../fold/run/foreign-outcomes.ts'
import { cancelled } from '../fold/run/outcomes.ts'
import { retryAsNewRun } from '../fold/run/redrives.ts'
import { redriven, waitOf } from '../fold/run/runs.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Offer } from '../transaction/handoff.ts'
import type { Transactor } from '../transaction/transactor.ts'
import { makeAllDue, makeDue, notWaiting, waits } from './due-now.ts'
import { endedNowhere, redriveInPlace } from './in-place.ts'

/** Runs that become due in one transaction. */
const RUNS_AT_ONCE = 1000

export interface RunControlDeps {
  readonly store: Store
  readonly transactor: Pick<Transactor, 'run'>
  readonly offers: () => readonly Offer[]
}

type OneRun = { readonly id: string; readonly actor: string | null }

export class RunControl {
  readonly #deps: RunControlDeps

  constructor(deps: RunControlDeps) {
    this.#deps = deps
  }

  cancel(p: OneRun): Promise<RunRow> {
    return this.#act(p.id, (change) => cancelled(change, p.id, p.actor))
  }

  /**
   * The only exit of a terminal run. The run of an ended workflow does not change: a new run is created in its place. In a
   * workflow that continues, the run is done again as long as nothing has followed from its failure.
   */
  async redrive(p: OneRun): Promise<RunRow> {
    const deadEnd = await endedNowhere(this.#deps.store.read, p.id)
    return this.#act(p.id, (change, row) => {
      if (row.status !== 'failed' && row.status !== 'cancelled') {
        throw refused(change, row, 'failed', 'only failed or cancelled runs are redriven')
      }
      if (row.deletedAt !== null) throw refused(change, row, 'failed', 'and deleted: it would never be handed out')
      if (row.instanceId !== null && !TERMINAL.has(memberOf(change, row.instanceId).row.state)) {
        return redriveInPlace(change, row, p.actor, deadEnd)
      }
      if (row.instanceId !== null) return retryAsNewRun(change, row, p.actor)
      const again = redriven(row, change.now)
      replaceRun(change, again)
      recordRunEvent(change, again, transitionOf(row.status, 'redrive').event, null, p.actor)
      return again
    })
  }

  /** A run that waited for its activation is due now. */
  activate(p: OneRun): Promise<RunRow> {
    return this.#act(p.id, (change, row) => {
      // One that is parked may wait for something else as well.
      if (row.status !== 'pending' || row.runAt < HELD_AT || row.runAt >= PARKED_AT) {
        throw refused(change, row, 'held', 'only a run that waits to be activated can be')
      }
      const due: RunRow = { ...row, runAt: change.now }
      replaceRun(change, due)
      recordRunEvent(change, due, 'run.activated', null, p.actor)
      return due
    })
  }

  /** A run that waits for its time, or between two attempts, is due now. Its attempts stay as they are. */
  dueNow(p: OneRun): Promise<RunRow> {
    return this.#act(p.id, (change, row) => {
      if (!waits(change, row)) throw notWaiting(change, row)
      return makeDue(change, row, p.actor)
    })
  }

  /** The same for all runs of an instance and of what is nested in it; returns how many there were. */
  async dueNowAll(p: OneRun): Promise<number> {
    const { store, transactor, offers } = this.#deps
    const instance = await store.read.instance(p.id)
    if (instance === null) throw missing('instance', p.id)
    const { state, rootId } = instance
    let count = 0
    for (let after: string | null = null; ; ) {
      const now = await store.now()
      const runs: readonly string[] = await store.read.work.waiting({
        instanceId: p.id,
        now,
        after,
        limit: RUNS_AT_ONCE,
      })
      if (runs.length === 0) break
      const { value } = await transactor.run({
        roots: [rootId],
        wait: true,
        need: { runs },
        offers,
        fold: (change) => makeAllDue(change, runs, p.actor),
      })
      count += value
      after = runs.at(-1) as string
    }
    if (count > 0) return count
    const root = await store.read.instance(rootId)
    const hint = TERMINAL.has(state)
      ? 'What has ended stays as it is; retry it.'
      : (root?.paused ?? null) === null
        ? `petrel why ${p.id} says what it waits for.`
        : 'It is paused: resume it.'
    throw new PetrelError('conflict', `no run of instance ${p.id} waits for a time; it is ${state}`, { state, hint })
  }

  /** Changes the place of a pending run in its queue. */
  prioritize(p: OneRun & { readonly priority: number }): Promise<RunRow> {
    return this.#act(p.id, (change, row) => {
      if (row.status !== 'pending') throw refused(change, row, 'pending', 'only a run that waits has a place in line')
      const moved: RunRow = { ...row, priority: p.priority }
      replaceRun(change, moved)
      recordRunEvent(change, moved, 'run.prioritized', { priority: p.priority, before: row.priority }, p.actor)
      return moved
    })
  }

  /** A deleted run does not change again. */
  delete(p: OneRun): Promise<RunRow> {
    return this.#act(p.id, (change, row) => {
      if (row.deletedAt !== null) return row
      if (row.status === 'leased') throw refused(change, row, 'pending', 'cancel it first')
      const ended = row.status === 'pending' && row.instanceId !== null ? cancelled(change, p.id, p.actor) : row
      const deleted: RunRow = { ...ended, deletedAt: change.now }
      replaceRun(change, deleted)
      recordRunEvent(change, deleted, 'run.deleted', null, p.actor)
      return deleted
    })
  }

  /** A bare run is removed; a workflow's run only loses its mark, since the workflow still shows its outcome. */
  async dismiss(p: OneRun): Promise<void> {
    await this.#act(p.id, (change, row) => {
      if (!row.deadLetter) throw refused(change, row, 'dead_letter', 'only a dead letter can be dismissed')
      recordRunEvent(change, row, 'run.dismissed', null, p.actor)
      if (row.instanceId === null) change.removedRuns.add(row.id)
      else replaceRun(change, { ...row, deadLetter: false })
    })
  }

  async #act<T>(id: string, fold: (change: WorkingSet, row: RunRow) => T): Promise<T> {
    const { store, transactor, offers } = this.#deps
    const found = await store.read.run(id)
    if (found === null) throw missing('run', id)
    const { rootId, instanceId } = found
    const { value } = await transactor.run({
      roots: rootId === null ? [] : [rootId],
      wait: true,
      need: { runs: [id], ...(instanceId === null ? {} : { instances: [instanceId] }) },
      offers,
      fold: (change) => {
        settleForeignOutcome(change, id)
        const row = findRun(change, id)
        if (row === undefined) throw missing('run', id)
        return fold(change, row)
      },
    })
    return value
  }
}

function refused(change: WorkingSet, row: RunRow, expected: string, rule: string): PetrelError {
  const { id, status } = row
  const wait = status === 'pending' ? waitOf(row, change.now) : null
  const facts = { status, expected, ...(wait === null ? {} : { wait }) }
  return runError('conflict', id, `is ${wait ?? status}; ${rule}`, facts)
}
