/** What events tell of leases: to keep writes few, the event that ends a lease tells all of it. */

import { unscopedName } from '../../../kernel/scoped-names.ts'
import type { LeaseStory, WorkStory } from '../../../model/events/run-events.ts'
import { LEASE_LOST_CODES, type RunRow, type StoredEvent } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { CheckedRemarks } from './remarks.ts'

/** While it is put together. */
export type Writable<T> = { -readonly [F in keyof T]: T[F] }

/** The same with what its worker said: its notes, and which context entries it wrote. */
export function storyOf(
  run: RunRow,
  execution: { readonly startedAt: number | null } & CheckedRemarks,
): Writable<WorkStory> {
  const story: Writable<WorkStory> = leaseStory(run, execution.startedAt)
  if (execution.set !== undefined) story.set = Object.keys(execution.set)
  if (execution.notes !== undefined) story.notes = execution.notes
  if (execution.notesDropped !== undefined) story.notes_dropped = execution.notesDropped
  return story
}

/** What the event that ends a lease must tell of it. */
export function leaseStory(run: RunRow, startedAt: number | null): Writable<LeaseStory> {
  const story: Writable<LeaseStory> = {}
  // Leases of their own and of foreign clients (which have no leasedAt) are told when they begin, deferred ones when
  // they are deferred.
  if (run.leaseMs !== null || run.leasedAt === null || run.deferred) return story
  // A hand-off was told with the run's creation; only then does a leased run carry a report id.
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

/** Workers under whom a lease of a run ended without their report, by its history. */
export function losersOf(history: readonly StoredEvent[]): readonly string[] {
  const losers = new Set<string>()
  let holder = ''
  for (const { type, data } of history) {
    const entry = data === null ? null : (JSON.parse(data) as ExecutionReport | null)
    if (type === 'started') holder = entry?.worker_id ?? ''
    if (LEASE_LOST_CODES.includes(entry?.error?.code ?? '')) losers.add(holder)
  }
  return [...losers]
}

/** A foreign worker went silent: only the store can detect it, and simple-workflow's readers look for this word. */
export function reasonOf(error: Failure): { readonly reason?: string } {
  return error.code === 'lease_expired' ? { reason: error.code } : {}
}

let lastMs = 0
let lastIso = new Date(0).toISOString()
let secondBegan = 0
/** Up to the point before the milliseconds. */
let second = lastIso.slice(0, -4)

/** A transaction asks for the same moment again and again, and Date writes all of it anew each time. */
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
