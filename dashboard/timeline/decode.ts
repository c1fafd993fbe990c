/** Reads the columns of `GET /v1/instances/:id/timeline` as rows. */
import type { TimelineReply } from '../../src/wire/pictures/timeline.ts'
import type { Value } from '../../src/wire/schema.ts'
import { sumsOf, wordsOf } from '../api/columns.ts'

export type TimelineAnswer = Value<typeof TimelineReply>

export interface Segment {
  readonly attempt: number
  /** Why it waits; null: it runs. */
  readonly waits: string | null
  /** Milliseconds since 1970; `to` null: it has not ended. */
  readonly from: number
  readonly to: number | null
  readonly worker: string | null
  readonly error: string | null
}

export interface Row {
  readonly kind: string
  readonly node: string
  readonly fire: number
  readonly item: number | null
  readonly role: string | null
  readonly type: string | null
  readonly state: string
  readonly from: number
  readonly to: number | null
  readonly segments: readonly Segment[]
  readonly gate: TimelineAnswer['gates'][number] | null
  readonly child: TimelineAnswer['children'][number] | null
  /** Why it waits now, as sentences. */
  readonly reasons: readonly string[]
  readonly shortened: boolean
}

export function rowsOf(answer: TimelineAnswer): readonly Row[] {
  const { rows, gates, children, waiting, shortened } = answer
  const words = {
    kind: wordsOf(rows.kind),
    node: wordsOf(rows.node),
    role: wordsOf(rows.role),
    type: wordsOf(rows.type),
    state: wordsOf(rows.state),
  }
  const begins = sumsOf(rows.begin, Date.parse(answer.base))
  const segments = segmentsOf(answer, begins)
  const gateAt = new Map(gates.map((gate) => [gate.row, gate]))
  const childAt = new Map(children.map((child) => [child.row, child]))
  const reasonsAt = new Map(waiting.map(({ row, reasons }) => [row, reasons.map(({ text }) => text)]))
  const short = new Set(shortened)
  return begins.map((begin, i): Row => {
    const from = begin ?? 0
    const took = rows.took[i] ?? null
    return {
      kind: words.kind[i] ?? 'run',
      node: words.node[i] ?? '',
      fire: rows.fire[i] ?? 0,
      item: rows.item[i] ?? null,
      role: words.role[i] ?? null,
      type: words.type[i] ?? null,
      state: words.state[i] ?? '',
      from,
      to: took === null ? null : from + took,
      segments: segments.get(i) ?? [],
      gate: gateAt.get(i) ?? null,
      child: childAt.get(i) ?? null,
      reasons: reasonsAt.get(i) ?? [],
      shortened: short.has(i),
    }
  })
}

/** Segments of a row follow one another from its begin. */
function segmentsOf({ segments }: TimelineAnswer, begins: readonly (number | null)[]): Map<number, Segment[]> {
  const rows = sumsOf(segments.row, 0)
  const waits = wordsOf(segments.waits)
  const workers = wordsOf(segments.worker)
  const errors = wordsOf(segments.error)
  const found = new Map<number, Segment[]>()
  for (const [i, row] of rows.entries()) {
    if (row === null) continue
    const own = found.get(row) ?? []
    if (own.length === 0) found.set(row, own)
    const from = own.at(-1)?.to ?? begins[row] ?? 0
    const took = segments.took[i] ?? null
    own.push({
      attempt: segments.attempt[i] ?? 1,
      waits: waits[i] ?? null,
      from,
      to: took === null ? null : from + took,
      worker: workers[i] ?? null,
      error: errors[i] ?? null,
    })
  }
  return found
}
