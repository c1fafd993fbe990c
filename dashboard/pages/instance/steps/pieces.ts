/** The rows of one step in the timeline: its firings, its items, and the attempts of each. */
import type { api } from '../../../api/client.ts'
import { sumsOf, wordsOf } from '../../../api/columns.ts'

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

export function piecesOf(timeline: Timeline): readonly Piece[] {
  const { rows } = timeline
  const segments = attemptsByRow(timeline)
  const reasons = new Map(timeline.waiting.map(({ row, reasons: of }) => [row, of]))
  const [kinds, roles, states] = [wordsOf(rows.kind), wordsOf(rows.role), wordsOf(rows.state)]
  const begins = sumsOf(rows.begin, Date.parse(timeline.base))
  return kinds.map((kind, at) => ({
    id: rows.ids?.[at] ?? '',
    kind: kind ?? 'run',
    fire: rows.fire[at] ?? null,
    item: itemOf(rows.item[at]),
    role: roles[at] ?? null,
    state: states[at] ?? '',
    begin: begins[at] ?? 0,
    took: rows.took[at] ?? null,
    attempts: segments.get(at) ?? [],
    reasons: reasons.get(at) ?? [],
  }))
}

function itemOf(item: number | null | undefined): number | null {
  return item == null || item < 0 ? null : item
}

function attemptsByRow({ segments }: Timeline): ReadonlyMap<number, readonly Attempt[]> {
  const found = new Map<number, Attempt[]>()
  const rows = sumsOf(segments.row, 0)
  const [waits, workers, errors] = [wordsOf(segments.waits), wordsOf(segments.worker), wordsOf(segments.error)]
  for (const [at, row] of rows.entries()) {
    const attempts = found.get(row ?? 0) ?? []
    found.set(row ?? 0, attempts)
    const number = segments.attempt[at] ?? 1
    const isSame = attempts.at(-1)?.number === number
    const before = (isSame ? attempts.pop() : undefined) ?? { ...NOTHING, number }
    const [wait, took] = [waits[at] ?? null, segments.took[at] ?? null]
    attempts.push({
      number,
      waitedMs: before.waitedMs + (wait === null ? 0 : (took ?? 0)),
      ranMs: wait === null ? (before.ranMs ?? 0) + (took ?? 0) : before.ranMs,
      isRunning: wait === null && took === null,
      worker: workers[at] ?? before.worker,
      error: errors[at] ?? before.error,
      waits: took === null ? wait : null,
    })
  }
  return found
}

const NOTHING = { waitedMs: 0, ranMs: null, isRunning: false, worker: null, error: null, waits: null }
