/** Runs of a working set: created, changed, ended. */

import { unscopedName } from '../../../kernel/scoped-names.ts'
import type { Ending as EndData } from '../../../model/events/run-events.ts'
import type { RunRow } from '../../../model/rows.ts'
import { transitionOf } from '../../../model/run-transitions.ts'
import type { Failure } from '../../../net/marking.ts'
import { recordRunEvent } from '../events.ts'
import { memberOf } from '../members.ts'
import { recordFailure } from '../terms.ts'
import { type ChangedRuns, type Events, follow, type Runs, type WorkingSet } from '../working-set.ts'
import { iso, reasonOf, storyOf, type Writable } from './lease-events.ts'
import { CANCELLED_UNSTARTED, type Finish, finished, placeOf } from './runs.ts'

export function findRun(change: Runs, id: string): RunRow | undefined {
  return change.runs.get(id) ?? change.newRuns.get(id) ?? change.loaded.runs.get(id)
}

/** Replaces the row of a run: one that is new in this transaction remains a single insert. */
export function replaceRun(change: ChangedRuns, row: RunRow): void {
  if (change.newRuns.has(row.id)) change.newRuns.set(row.id, row)
  else change.runs.set(row.id, row)
}

/**
 * Adds a new run. It has succeeded already if the instance that is retried did this work: its result is taken over. It has
 * failed already if its arguments cannot be given to it.
 */
export function addRun(change: WorkingSet, run: RunRow, actor: string | null = null): void {
  change.newRuns.set(run.id, run)
  const { to: created, event } = transitionOf(null, 'create')
  if (run.status === 'failed' && run.instanceId !== null) {
    const error = JSON.parse(run.error ?? 'null') as Failure
    recordFailure(change, run, error, { held: null })
    recordRunEvent(change, run, event, null)
    recordRunEvent(change, run, transitionOf(created, 'refuse').event, {
      error,
      attempt: run.attempt,
    })
    follow(change, run.instanceId, { kind: 'ended', place: placeOf(run), outcome: { kind: 'failed', error } })
    return
  }
  if (run.status === 'succeeded' && run.instanceId !== null) {
    recordRunEvent(change, run, event, { taken_over: true })
    recordRunEvent(change, run, transitionOf(created, 'take_over').event, null)
    change.results.record(run)
    const outcome = { kind: 'succeeded' as const, ...change.taken.get(run.id) }
    follow(change, run.instanceId, { kind: 'ended', place: placeOf(run), outcome })
    return
  }
  change.createdEvents.set(run.id, change.events.length)
  const due = run.runAt > change.now ? { run_at: iso(run.runAt) } : null
  const counted = change.counted.get(run.id)
  recordRunEvent(change, run, event, counted === undefined ? due : { ...due, ...counted }, actor)
}

/** Leases a new run at once: its `created` event records the lease as well. */
export function handedOut(
  change: Pick<WorkingSet, 'newRuns' | 'createdEvents' | 'events' | 'counted'>,
  run: RunRow,
): void {
  change.newRuns.set(run.id, run)
  const at = change.createdEvents.get(run.id)
  const event = at === undefined ? undefined : change.events[at]
  if (at === undefined || event === undefined) return
  change.events[at] = {
    ...event,
    type: 'created',
    data: { leased_at: iso(run.leasedAt), leased_by: unscopedName(run.leasedBy), ...change.counted.get(run.id) },
  }
}

/** Happenings that end a run. */
export type Ending = Events &
  ChangedRuns &
  Pick<WorkingSet, 'admission' | 'results' | 'endedIds' | 'terms' | 'failures'>

/** Ends a run: row, event, result, limits. Does not advance its instance. */
export function finishRun(change: Ending, run: RunRow, how: Finish): RunRow {
  if (run.status === 'leased') change.admission.release(run)
  const member = run.instanceId === null ? null : memberOf(change, run.instanceId)
  const { to, event } = transitionOf(run.status, how.happening, how.guard)
  const row = finished(run, to, how, member === null ? null : member.seq + 1)
  const data: Writable<EndData> = storyOf(run, how.execution)
  if (how.error !== null) Object.assign(data, reasonOf(how.error), { error: how.error })
  if (to !== 'succeeded') data.attempt = row.attempt
  replaceRun(change, row)
  recordRunEvent(change, row, event, Object.keys(data).length === 0 ? null : data, how.execution.actor ?? null)
  if (to === 'succeeded') change.results.record(row)
  if (to === 'failed' && how.error !== null) recordFailure(change, row, how.error, { ...how.execution, held: run })
  if (row.instanceId === null) change.endedIds.push(row.id)
  return row
}

export function cancelUnstarted(change: Ending & Runs, id: string): void {
  const run = findRun(change, id) ?? unstartedRow(change, id)
  finishRun(change, run, { ...CANCELLED_UNSTARTED, now: change.now })
}

function unstartedRow({ loaded }: Runs, id: string): RunRow {
  for (const rows of loaded.unstarted.values()) {
    const row = rows.find((r) => r.id === id)
    if (row !== undefined) return row
  }
  throw new Error(`run ${id} was not loaded`)
}
