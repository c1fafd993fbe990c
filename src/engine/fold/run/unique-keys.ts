/** Unique keys of runs: which run holds a key, and what happens when another run claims it. */

import { type PetrelError, runError } from '../../../kernel/errors.ts'
import { scopedName, unscopedName } from '../../../kernel/scoped-names.ts'
import type { UniqueParams } from '../../../model/enqueue.ts'
import type { RunWait } from '../../../model/queries/queries.ts'
import type { RunRow, UniqueRow } from '../../../model/rows.ts'
import { NeedMore } from '../need.ts'
import type { Runs, WorkingSet } from '../working-set.ts'
import type { Ending } from './changed-runs.ts'
import { findRun, finishRun } from './changed-runs.ts'
import { NO_REPORT } from './remarks.ts'
import { waitOf } from './runs.ts'

const DEFAULT_LIVE = ['pending', 'leased'] as const

export interface Claimed {
  /** The run that keeps the key and is returned in place of the new one; null: the new run has the key. */
  readonly holder: RunRow | null
  /** The run that was cancelled in favour of the new one. */
  readonly replaced: string | null
  /** When the new run is due, if it takes over the holder's time. */
  readonly runAt: number | null
}

/** The stored form, which separates tenants. Keys of OJS name their tenant themselves. */
export function uniqueKeyOf({ key }: UniqueParams, tenant: string | undefined): string {
  return tenant === undefined || key.startsWith('ojs:') ? key : scopedName(key, tenant)
}

/** `taken`: keys that were taken in this transaction. */
export function claimUnique(
  change: Ending & Runs & Pick<WorkingSet, 'uniques' | 'asked'>,
  id: string,
  unique: UniqueParams,
  taken: Map<string, string>,
): Claimed {
  const holder = holderOf(change, unique, taken)
  if (holder !== null && unique.onConflict === 'ignore') return { holder, replaced: null, runAt: null }
  if (holder !== null && unique.onConflict === 'reject') throw duplicate(holder, unique.key)
  taken.set(`unique ${unique.key}`, id)
  const row: UniqueRow = {
    key: unique.key,
    runId: id,
    expiresAt: unique.periodMs === undefined ? null : change.now + unique.periodMs,
    states: unique.states ?? DEFAULT_LIVE,
  }
  change.uniques.set(unique.key, row)
  if (holder === null || !replace(change, holder)) return { holder: null, replaced: null, runAt: null }
  const keepsTime = unique.onConflict === 'replace_except_schedule' && holder.status === 'pending'
  return { holder: null, replaced: holder.id, runAt: keepsTime ? holder.runAt : null }
}

/** The run that holds the key by the rules of the new run; null: the new run may have it. */
function holderOf(
  change: Runs & Pick<WorkingSet, 'asked' | 'now'>,
  unique: UniqueParams,
  taken: ReadonlyMap<string, string>,
): RunRow | null {
  const given = taken.get(`unique ${unique.key}`)
  const row = given === undefined ? change.loaded.uniques.get(unique.key) : undefined
  const id = given ?? row?.runId
  if (id === undefined) return null
  // A run holds a key no longer than it requested.
  if (row !== undefined && row.expiresAt !== null && row.expiresAt <= change.now) return null
  const run = findRun(change, id)
  if (run === undefined) {
    if (change.asked.has(`run ${id}`)) return null
    change.asked.add(`run ${id}`)
    throw new NeedMore({ runs: [id] })
  }
  // It was deleted, so it will never run.
  if (run.deletedAt !== null && run.status === 'pending') return null
  if (unique.periodMs !== undefined && run.createdAt + unique.periodMs <= change.now) return null
  const states: readonly string[] = unique.states ?? DEFAULT_LIVE
  return states.includes(run.status) || (run.status === 'pending' && waits(run, states, change.now)) ? run : null
}

/** A run of a paused workflow waits as it did before the pause; which way is not known here. */
function waits(run: RunRow, states: readonly string[], now: number): boolean {
  const wait = waitOf(run, now)
  return wait === 'paused' ? WAITS.some((state) => states.includes(state)) : states.includes(wait)
}

const WAITS: readonly RunWait[] = ['available', 'scheduled', 'retryable', 'held']

/** Cancels a run that has not ended. The lease of an active run ends at once; how far its work came is unknown. */
function replace(change: Ending, holder: RunRow): boolean {
  if (holder.status !== 'pending' && holder.status !== 'leased') return false
  finishRun(change, holder, {
    happening: 'cancel',
    now: change.now,
    result: null,
    unknown: holder.status === 'leased',
    deadLetter: false,
    failure: false,
    execution: NO_REPORT,
    error: { code: 'replaced', message: 'replaced by a later run with the same unique key' },
  })
  return true
}

function duplicate(holder: RunRow, key: string): PetrelError {
  const problem = `already holds the unique key '${unscopedName(key)}'`
  return runError('duplicate', holder.id, problem, { status: holder.status, existing: holder.id })
}
