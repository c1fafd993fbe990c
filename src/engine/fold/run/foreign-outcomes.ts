/**
 * Runs that a foreign client has ended by plain SQL. The triggers of the store have checked the write, cleared the lease
 * and increased the epoch; such a row is terminal and has no settledAt. Settling it advances its instance, gives back the
 * room it held and notifies those that wait for its end. The trigger has recorded the end of a bare run; the end of an
 * instance's run is recorded here, where its event gets its number.
 */

import { storableText } from '../../../kernel/json-limits.ts'
import type { LeaseStory } from '../../../model/events/run-events.ts'
import type { RunRow } from '../../../model/rows.ts'
import { transitionOf } from '../../../model/run-transitions.ts'
import type { Failure, Outcome } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'
import { noteStart, recordRunEvent } from '../events.ts'
import { happen } from '../happenings.ts'
import { applyPassedDeadline } from '../instance/deadline.ts'
import { memberOf } from '../members.ts'
import { NeedMore } from '../need.ts'
import { outputFailure } from '../node-schemas.ts'
import { recordFailure } from '../terms.ts'
import type { Members, WorkingSet } from '../working-set.ts'
import { findRun, replaceRun } from './changed-runs.ts'
import { leaseStory } from './lease-events.ts'
import { policyOf } from './retry-policy.ts'
import { placeOf, settled } from './runs.ts'

const LONGEST_FAILURE = 65_536

/**
 * Does nothing to any other run, and nothing a second time. `instead`: a failure that replaces what the client wrote.
 */
export function settleForeignOutcome(change: WorkingSet, runId: string, instead: Failure | null = null): void {
  const run = findRun(change, runId)
  if (run === undefined || run.settledAt !== null || run.status === 'pending' || run.status === 'leased') return
  const story = run.instanceId === null ? {} : unrecordedLease(change, run)
  change.admission.release(run)
  noteStart(change, run, begunAt(change, run))
  const misfit = instead ?? (run.status === 'succeeded' ? outputFailure(change, run, run.result) : null)
  const { to, event } = transitionOf(run.status, 'settle', misfit === null ? null : 'misfit')
  // A trigger has already counted the attempt of a failed run.
  const attempt = run.status === 'failed' ? run.attempt : run.attempt + 1
  const ended: RunRow = misfit === null ? run : { ...run, status: to, result: null, attempt }
  const error = misfit ?? (ended.status === 'succeeded' ? null : errorOf(ended))
  const deadLetter = ended.status === 'failed' && policyOf(change, ended).deadLetter
  const seq = run.instanceId === null ? null : memberOf(change, run.instanceId).seq + 1
  const row = settled(ended, { now: change.now, seq, error, deadLetter })
  replaceRun(change, row)
  if (row.status === 'failed' && error !== null) recordFailure(change, row, error, { held: run })
  if (row.instanceId === null) {
    change.endedIds.push(row.id)
    return
  }
  const about = error === null ? {} : { error, attempt: row.attempt }
  const data = { ...story, ...about }
  recordRunEvent(change, row, event, Object.keys(data).length === 0 ? null : data)
  if (row.status === 'succeeded') change.results.record(row)
  if (row.role === 'work') applyPassedDeadline(change, row.instanceId)
  happen(change, row.instanceId, { kind: 'ended', place: placeOf(row), outcome: outcomeOf(change, row, error) })
}

/**
 * Cancelled while a session held it: no event has recorded that lease, and the write that ended it removed the holder's
 * name.
 */
function unrecordedLease(change: Pick<WorkingSet, 'loaded' | 'asked'>, run: RunRow): LeaseStory {
  const { sessionId } = run
  if (sessionId === null) return {}
  const session = change.loaded.sessions.get(sessionId)
  if (session === undefined && !change.asked.has(`session ${sessionId}`)) {
    change.asked.add(`session ${sessionId}`)
    throw new NeedMore({ sessions: [sessionId] })
  }
  return leaseStory({ ...run, leasedBy: run.leasedBy ?? session?.name ?? null }, null)
}

/** The start of the work: an outcome that was written without a claim began at that write at the latest. */
function begunAt(change: Pick<WorkingSet, 'now'>, run: RunRow): number | null {
  if (run.startedAt !== null || run.status === 'cancelled') return run.startedAt
  return run.finishedAt ?? change.now
}

function errorOf(run: RunRow): Failure {
  const written = run.status === 'failed' ? failureIn(run.lastError) : null
  if (written !== null) return written
  const stored = run.error === null ? null : (JSON.parse(run.error) as Partial<Failure> | null)
  const { code, message } = stored ?? {}
  if (typeof code === 'string' && typeof message === 'string') return { ...stored, code, message }
  const fallback = run.status === 'failed' ? 'handler_error' : 'cancelled'
  return { code: fallback, message: run.lastError ?? `${run.status} by a foreign client` }
}

/** `last_error` is all that a client can write about a failure; as a JSON object it can contain more than a message. */
function failureIn(text: string | null): Failure | null {
  if (text === null || !text.startsWith('{') || text.length > LONGEST_FAILURE) return null
  try {
    const { message, code, category, details } = JSON.parse(text) as { readonly [key: string]: Json | undefined }
    if (typeof message !== 'string') return null
    const failure: Failure = {
      code: typeof code === 'string' && code !== '' ? code : 'handler_error',
      message,
      ...(typeof category === 'string' ? { category } : {}),
      ...(details === undefined ? {} : { details }),
    }
    // It could be stored as a text, but its unescaped values possibly cannot.
    storableText(failure as unknown as Json, 'last_error', 2 * LONGEST_FAILURE)
    return failure
  } catch {
    return null
  }
}

function outcomeOf(change: Members, run: RunRow, error: Failure | null): Outcome {
  if (error === null) return { kind: 'succeeded' }
  if (run.unknown) return { kind: 'unknown', error }
  // A run that is given back in a drain is not retried, and has not failed.
  const draining = memberOf(change, run.instanceId as string).row.phase === 'drain'
  return run.status === 'cancelled' && draining ? { kind: 'cancelled' } : { kind: 'failed', error }
}
