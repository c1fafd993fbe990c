/** Runs that wait for a time become due at once. */
import { type PetrelError, runError } from '../../kernel/errors.ts'
import type { RunRow } from '../../model/rows.ts'
import { recordRunEvent } from '../fold/events.ts'
import { findRun, replaceRun } from '../fold/run/changed-runs.ts'
import { iso } from '../fold/run/lease-events.ts'
import { waitOf } from '../fold/run/runs.ts'
import type { WorkingSet } from '../fold/working-set.ts'

/** For the time at which it was to be done, or done again. */
export function waits(change: Pick<WorkingSet, 'now'>, row: RunRow): boolean {
  if (row.status !== 'pending' || row.deletedAt !== null) return false
  const wait = waitOf(row, change.now)
  return wait === 'scheduled' || wait === 'retryable'
}

export function makeDue(change: WorkingSet, row: RunRow, actor: string | null): RunRow {
  const due: RunRow = { ...row, runAt: change.now }
  replaceRun(change, due)
  recordRunEvent(change, due, 'run.due_now', { run_at: iso(row.runAt) }, actor)
  return due
}

/** Those that have begun in the meantime are left out. */
export function makeAllDue(change: WorkingSet, ids: readonly string[], actor: string | null): number {
  const rows = ids.flatMap((id) => findRun(change, id) ?? []).filter((row) => waits(change, row))
  for (const row of rows) makeDue(change, row, actor)
  return rows.length
}

const HINTS = {
  available: 'It is due already: petrel why shows what it waits for.',
  held: 'It waits to be activated: activate it.',
  paused: 'It begins when what is paused is resumed: petrel why shows what that is.',
  leased: 'A worker holds it: wait for its end.',
  succeeded: 'What has succeeded is done again by a fork of its workflow.',
  failed: 'Redrive it: POST /v1/runs/ID/redrive.',
  cancelled: 'Redrive it: POST /v1/runs/ID/redrive.',
} as const

export function notWaiting(change: Pick<WorkingSet, 'now'>, row: RunRow): PetrelError {
  const { id, status } = row
  const wait = status === 'pending' ? waitOf(row, change.now) : null
  const state = row.deletedAt === null ? (wait ?? status) : 'deleted'
  const hint = HINTS[state as keyof typeof HINTS] ?? 'It stays as it is.'
  const facts = { status, expected: 'scheduled', ...(wait === null ? {} : { wait }), hint }
  return runError('conflict', id, `is ${state}; only a run that waits for a time can be made due`, facts)
}
