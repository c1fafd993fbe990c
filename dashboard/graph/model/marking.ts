/** The state of each node, from `GET /v1/instances/:id/marking`, and what has changed since put over it. */

import type { MarkingReply } from '../../../src/wire/pictures/marking.ts'
import type { Value } from '../../../src/wire/schema.ts'
import { sumsOf, wordsOf } from '../../api/columns.ts'

export type MarkingAnswer = Value<typeof MarkingReply>

export interface Items {
  readonly pending: number
  readonly running: number
  readonly completed: number
  readonly failed: number
  readonly exact: boolean
}

export interface Mark {
  readonly state: string
  readonly attempts: number
  /** Milliseconds since 1970. */
  readonly startedAt: number | null
  readonly tookMs: number | null
  /** Of a list that has begun. */
  readonly items: Items | null
}

export interface Marking {
  readonly instance: MarkingAnswer['instance']
  readonly seq: number
  readonly marks: ReadonlyMap<string, Mark>
}

/** `before`: what the answer is put over; null: it is the first page of a complete marking. */
export function merged(before: Marking | null, answer: MarkingAnswer, { isPage = false } = {}): Marking {
  const marks = new Map(before?.marks)
  const states = wordsOf(answer.state)
  const base = Date.parse(answer.base)
  const started = sumsOf(answer.started, base)
  const items = itemsByNode(answer)
  for (const [i, node] of answer.nodes.entries()) {
    marks.set(node, {
      state: states[i] ?? 'pending',
      attempts: answer.attempts[i] ?? 0,
      startedAt: started[i] ?? null,
      tookMs: answer.took[i] ?? null,
      items: items.get(i) ?? null,
    })
  }
  // Of several pages, changes since the first one are read afterwards.
  const seq = isPage && before !== null ? before.seq : answer.seq
  return { instance: answer.instance, seq, marks }
}

function itemsByNode({ lists }: MarkingAnswer): ReadonlyMap<number, Items> {
  return new Map(
    lists.node.map((node, i) => [
      node,
      {
        pending: lists.pending[i] ?? 0,
        running: lists.running[i] ?? 0,
        completed: lists.completed[i] ?? 0,
        failed: lists.failed[i] ?? 0,
        exact: lists.exact[i] ?? true,
      },
    ]),
  )
}

export function total({ pending, running, completed, failed }: Items): number {
  return pending + running + completed + failed
}
