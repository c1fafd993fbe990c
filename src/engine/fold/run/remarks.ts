/**
 * Remarks: what a worker reports besides an outcome, which is context entries to write with it, and notes for the history.
 * They are checked before the report joins a batch. Entries that cannot be stored fail their run; such notes are dropped and
 * counted.
 */

import { unstorable } from '../../../kernel/json-limits.ts'
import { MAX_NOTES_BYTES, nameProblem } from '../../../kernel/remarks.ts'
import type { Entries, Failure } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'

export interface CheckedRemarks {
  readonly set?: Entries
  readonly notes?: readonly Json[]
  /** How many notes were dropped for lack of room. */
  readonly notesDropped?: number
  /** Of the worker. */
  readonly build?: string
}

/** The facts about an execution apart from its outcome. */
export interface ExecutionReport extends CheckedRemarks {
  readonly startedAt: number | null
  readonly reportId: string | null
  /** A result that was reported with a failure, in case it is the last. */
  readonly result?: string
  /** Who ended it, if that was an operator. */
  readonly actor?: string
}

export const NO_REPORT: ExecutionReport = { startedAt: null, reportId: null }

/** As in a session's report: JSON text of an object, and of a list. */
interface RemarkTexts {
  readonly set?: string
  readonly notes?: string
  readonly notesDropped?: number
}

export function readRemarks({ set, notes, notesDropped }: RemarkTexts, limits: RemarkLimits): CheckedRemarks | Failure {
  if (set === undefined && notes === undefined && notesDropped === undefined) return {}
  const entries = set === undefined ? undefined : parse(set)
  if (entries === null) return wrong('the context entries are not JSON')
  const parsedNotes = notes === undefined ? undefined : parse(notes)
  return checkRemarks(
    {
      ...(entries !== undefined && { set: entries.value as Entries }),
      ...(parsedNotes !== undefined && {
        notes: parsedNotes === null || !Array.isArray(parsedNotes.value) ? [UNREADABLE] : parsedNotes.value,
      }),
      ...(notesDropped !== undefined && { notesDropped }),
    },
    limits,
  )
}

export interface RemarkLimits {
  /** false: a bare run, which has no context. */
  readonly inWorkflow: boolean
  readonly maxBytes: number
}

const UNREADABLE = 'notes that could not be read'

/** The remarks that can be stored, or why the run must fail. */
export function checkRemarks(
  { set, notes = [], notesDropped = 0 }: CheckedRemarks,
  limits: RemarkLimits,
): CheckedRemarks | Failure {
  const problem = set === undefined ? null : entriesProblem(set, limits)
  if (problem !== null) return problem
  const kept: Json[] = []
  let room = MAX_NOTES_BYTES
  for (const note of notes) {
    const text = JSON.stringify(note)
    const bytes = Buffer.byteLength(text) + 1
    if (bytes > room || unstorable(text, MAX_NOTES_BYTES) !== null) continue
    room -= bytes
    kept.push(note)
  }
  const dropped = notesDropped + notes.length - kept.length
  return {
    ...(set !== undefined && Object.keys(set).length > 0 && { set }),
    ...(kept.length > 0 && { notes: kept }),
    ...(dropped > 0 && { notesDropped: dropped }),
  }
}

export function isRefused(remarks: CheckedRemarks | Failure): remarks is Failure {
  return 'code' in remarks
}

function entriesProblem(set: Json | Entries, { inWorkflow, maxBytes }: RemarkLimits): Failure | null {
  if (typeof set !== 'object' || set === null || Array.isArray(set)) {
    return wrong('context entries are an object, by name')
  }
  const names = Object.keys(set)
  if (names.length > 0 && !inWorkflow) {
    return wrong('context entries were given, but the run belongs to no workflow, so there is no context')
  }
  for (const name of names) {
    const problem = nameProblem(name)
    if (problem !== null) return wrong(problem)
  }
  const refusal = unstorable(JSON.stringify(set), maxBytes)
  return refusal === null ? null : { ...refusal, message: `the context entries: ${refusal.message}` }
}

function wrong(message: string): Failure {
  return { code: 'invalid_request', message, retryable: false }
}

/** null: it is not JSON. */
function parse(text: string): { readonly value: Json } | null {
  try {
    return { value: JSON.parse(text) as Json }
  } catch {
    return null
  }
}
