/**
 * The notes of a worker about a pipeline: one per attempt of a task. They are sent with the outcome of the run, so a
 * worker that dies loses the notes of that execution, and its attempts may happen again.
 */
import type { Json } from '../../../net/net.ts'
import type { Emit } from './unfold.ts'

export interface Note {
  readonly task: string
  readonly kind: string
  /** Executions of tasks in this run so far, this one included; a retry keeps it. */
  readonly visit: number
  /** From 1. */
  readonly attempt: number
  readonly at: number
  readonly ms: number
  readonly status: 'ok' | 'error'
  readonly error?: Json
  /** The rule that decided; index null: none matched. Left out: the task has none. */
  readonly rule?: {
    readonly index: number | null
    readonly do: string
    readonly to?: string
    readonly delay_s?: number
  }
  readonly http?: { readonly status: number }
  /** The attempt that finished the task. */
  readonly last: boolean
}

/** The valid notes of one line; a foreign worker may have written anything there. */
export function notesIn(data: { readonly [name: string]: Json | undefined }): readonly Note[] {
  const { notes } = data
  return Array.isArray(notes) ? notes.filter(isNote) : []
}

function isNote(value: unknown): value is Note {
  if (typeof value !== 'object' || value === null) return false
  const { task, visit, attempt, at, ms } = value as { readonly [name: string]: unknown }
  return typeof task === 'string' && [visit, attempt, at, ms].every((n) => Number.isFinite(n))
}

/** An execution that continues an earlier one has this as its first note. */
export function isResumed(data: { readonly [name: string]: Json | undefined }): boolean {
  const { notes } = data
  return Array.isArray(notes) && notes.some((note) => eventOf(note) === 'pipeline.resumed')
}

/** How many attempts were not recorded, because there were too many of them. */
export function omittedIn(data: { readonly [name: string]: Json | undefined }): number {
  const { notes, notes_dropped } = data
  const counts = (Array.isArray(notes) ? notes : []).map((note) =>
    eventOf(note) === 'notes.omitted' ? Number((note as { readonly count?: Json }).count ?? 0) : 0,
  )
  return counts.reduce((sum, n) => sum + n, typeof notes_dropped === 'number' ? notes_dropped : 0)
}

function eventOf(note: Json): Json | undefined {
  return (note as { readonly event?: Json } | null)?.event
}

export function taskEvents(p: {
  readonly notes: readonly Note[]
  readonly own: { readonly step: string; readonly stepRun: string; readonly run: string; readonly iteration?: number }
  readonly emit: Emit
}): void {
  for (const note of p.notes) {
    const own = { ...p.own, task: note.task, taskRun: `${p.own.run}/${note.visit}`, source: 'worker' as const }
    const at = note.at
    const end = note.at + note.ms
    const attempt = note.attempt
    const about = { task: note.task, kind: note.kind }
    if (attempt === 1) p.emit({ ...own, type: 'task.started', status: 'in_progress', at, payload: about })
    p.emit({ ...own, type: 'task.attempt.started', status: 'in_progress', at, attempt, payload: about })
    const ok = note.status === 'ok'
    const outcome = {
      ...about,
      duration_ms: note.ms,
      ...(note.http === undefined ? {} : { http: { status: note.http.status } }),
      ...(note.error === undefined ? {} : { error: note.error }),
    }
    const attempted = ok ? 'task.attempt.done' : 'task.attempt.failed'
    p.emit({ ...own, type: attempted, status: ok ? 'success' : 'error', at: end, attempt, payload: outcome })
    if (note.rule !== undefined) {
      const rule = note.rule as unknown as { readonly [name: string]: Json }
      p.emit({
        ...own,
        type: 'policy.task.evaluated',
        status: 'success',
        at: end,
        attempt,
        payload: { ...about, ...rule },
      })
    }
    if (!note.last) continue
    // A rule may let an error pass, or fail a success: it decides.
    const failed = note.rule === undefined ? !ok : note.rule.do === 'fail' || note.rule.do === 'retry'
    const type = failed ? 'task.failed' : 'task.done'
    p.emit({ ...own, type, status: failed ? 'error' : 'success', at: end, attempt, payload: outcome })
  }
}
