/** What events record of leases: to keep writes few, the event that ends a lease records all of it. */

import { unscopedName } from '../../../kernel/scoped-names.ts'
import type { LeaseStory, WorkStory } from '../../../model/events/run-events.ts'
import { LEASE_LOST_CODES, type RunRow, type StoredEvent } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { CheckedRemarks } from './remarks.ts'

/** While it is being built. */
export type Writable<T> = { -readonly [F in keyof T]: T[F] }

/** The same with the remarks of its worker: its notes, and the names of the context entries it wrote. */
export function storyOf(
  run: RunRow,
  execution: { readonly startedAt: number | null } & CheckedRemarks,
): Writable<WorkStory> {
  const story: Writable<WorkStory> = leaseStory(run, execution.startedAt)
  if (execution.set !== undefined) story.set = Object.keys(execution.set)
  if (execution.notes !== undefined) story.notes = execution.notes
  if (execution.build !== undefined) story.build = execution.build
  if (execution.notesDropped !== undefined) story.notes_dropped = execution.notesDropped
  return story
}

/** What the event that ends a lease must record of it. */
export function leaseStory(run: RunRow, startedAt: number | null): Writable<LeaseStory> {
  const story: Writable<LeaseStory> = {}
  // A run's own lease, and that of a foreign client (which has no leasedAt), is recorded when it begins; that of a
  // deferred
  // run when it is deferred.
  if (run.leaseMs !== null || run.leasedAt === null || run.deferred) return story
  // The creation of the run recorded a hand-off; only then does a leased run carry a report id.
  if (run.reportId === null) {
    story.leased_at = iso(run.leasedAt)
    story.leased_by = unscopedName(run.leasedBy)
  }
  const started = startedAt ?? run.startedAt
  if (started !== null) story.started_at = iso(started)
  return story
}

interface ExecutionReport {
  readonly worker_id?: string
  readonly error?: { readonly code?: string } | null
}

/** Workers that lost a lease of a run without a report, according to its history. */
export function workersWithLostLease(history: readonly StoredEvent[]): readonly string[] {
  const losers = new Set<string>()
  let holder = ''
  for (const { type, data } of history) {
    const entry = data === null ? null : (JSON.parse(data) as ExecutionReport | null)
    if (type === 'started') holder = entry?.worker_id ?? ''
    if (LEASE_LOST_CODES.includes(entry?.error?.code ?? '')) losers.add(holder)
  }
  return [...losers]
}

/** The code for a foreign worker that went silent: readers of the inbox look for it. */
export function reasonOf(error: Failure): { readonly reason?: string } {
  return error.code === 'lease_expired' ? { reason: error.code } : {}
}

let lastMs = 0
let lastIso = new Date(0).toISOString()
let secondBegan = 0
/** Up to the point before the milliseconds. */
let second = lastIso.slice(0, -4)

/** Remembered, since a transaction formats the same second many times, and Date formats all of it each time. */
export function iso(ms: number | null): string | null {
  if (ms === null) return null
  if (ms !== lastMs) {
    const into = ms - secondBegan
    if (into >= 0 && into < 1000 && Number.isInteger(ms)) lastIso = `${second}${String(into).padStart(3, '0')}Z`
    else {
      lastIso = new Date(ms).toISOString()
      secondBegan = Math.floor(ms / 1000) * 1000
      second = lastIso.slice(0, -4)
    }
    lastMs = ms
  }
  return lastIso
}
