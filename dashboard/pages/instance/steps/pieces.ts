/** The rows of one step in the timeline: its firings, its items, and the attempts of each. */
import type { api } from '../../../api/client.ts'

export type Timeline = Awaited<ReturnType<typeof api<'GET /v1/instances/:id/timeline'>>>

export interface Piece {
  /** Of the run, the nested instance or the gate. */
  readonly id: string
  readonly kind: string
  readonly fire: number | null
  readonly item: number | null
  readonly role: string | null
  readonly state: string
  /** Milliseconds since 1970. */
  readonly begin: number
  readonly took: number | null
  readonly attempts: readonly Attempt[]
  readonly reasons: Timeline['waiting'][number]['reasons']
}

/** What one execution waited and ran. */
export interface Attempt {
  readonly number: number
  readonly waitedMs: number
  /** null: it has not begun. */
  readonly ranMs: number | null
  readonly isRunning: boolean
  readonly worker: string | null
  readonly error: string | null
  /** Why it waits now. */
  readonly waits: string | null
}

interface Words {
  readonly words: readonly string[]
  readonly of: readonly (number | null)[]
}

function wordAt({ words, of }: Words, at: number): string | null {
  const index = of[at]
  return index == null ? null : (words[index] ?? null)
}

export function piecesOf(timeline: Timeline): readonly Piece[] {
  const { rows } = timeline
  const segments = segmentsByRow(timeline)
  const reasons = new Map(timeline.waiting.map(({ row, reasons: of }) => [row, of]))
  let begin = Date.parse(timeline.base)
  return rows.kind.of.map((_, at) => {
    begin += rows.begin[at] ?? 0
    return {
      id: rows.ids?.[at] ?? '',
      kind: wordAt(rows.kind, at) ?? 'run',
      fire: rows.fire[at] ?? null,
      item: itemOf(rows.item[at]),
      role: wordAt(rows.role, at),
      state: wordAt(rows.state, at) ?? '',
      begin,
      took: rows.took[at] ?? null,
      attempts: attemptsOf(timeline, segments.get(at) ?? []),
      reasons: reasons.get(at) ?? [],
    }
  })
}

function itemOf(item: number | null | undefined): number | null {
  return item == null || item < 0 ? null : item
}

/** Indexes of the segments of each row. */
function segmentsByRow({ segments }: Timeline): ReadonlyMap<number, readonly number[]> {
  const found = new Map<number, number[]>()
  let row = 0
  for (const [at, step] of segments.row.entries()) {
    row += step ?? 0
    const known = found.get(row)
    if (known === undefined) found.set(row, [at])
    else known.push(at)
  }
  return found
}

function attemptsOf({ segments }: Timeline, indexes: readonly number[]): readonly Attempt[] {
  const attempts: Attempt[] = []
  for (const at of indexes) {
    const number = segments.attempt[at] ?? 1
    const waits = wordAt(segments.waits, at)
    const took = segments.took[at] ?? null
    const last = attempts.at(-1)
    const isNew = last === undefined || last.number !== number
    const attempt: Attempt = isNew
      ? { number, waitedMs: 0, ranMs: null, isRunning: false, worker: null, error: null, waits: null }
      : last
    const next: Attempt = {
      ...attempt,
      waitedMs: attempt.waitedMs + (waits === null ? 0 : (took ?? 0)),
      ranMs: waits === null ? (attempt.ranMs ?? 0) + (took ?? 0) : attempt.ranMs,
      isRunning: waits === null && took === null,
      worker: wordAt(segments.worker, at) ?? attempt.worker,
      error: wordAt(segments.error, at) ?? attempt.error,
      waits: waits !== null && took === null ? waits : null,
    }
    if (isNew) attempts.push(next)
    else attempts[attempts.length - 1] = next
  }
  return attempts
}
