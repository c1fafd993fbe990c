/**
 * Types that wait for a worker which is not here: with due runs that no live worker takes. Workers over HTTP without
 * heartbeats and clients of plain SQL cannot be known: a type that only they take is listed as long as its runs are due.
 */
import { typeMatcher } from '../../kernel/type-filters.ts'
import { type DueOfKind, type Kind, MAX_KINDS, type WaitingKind } from '../../model/queries/kinds.ts'
import type { WorkerRow } from '../../model/rows.ts'
import { operation } from '../operation.ts'

const MOST_LISTED = 50

export interface Missing {
  readonly now: number
  /** Due longest first. */
  readonly kinds: readonly (Kind & DueOfKind)[]
  /** There may be others: more kinds wait than are read, or more are missing than are listed. */
  readonly more: boolean
}

export const listMissing = operation({ scope: 'read', shared: true }, async ({ engine }, _: null): Promise<Missing> => {
  const { queueing, now, workers } = engine.queries
  const [waiting, at, known] = await Promise.all([queueing.kinds.waiting({ limit: MAX_KINDS }), now(), workers()])
  const live = known.filter(({ state, expiresAt }) => state === 'running' && expiresAt > at).map(taking)
  const untaken = waiting.filter((kind) => kind.registered?.enabled !== false && !live.some((takesIt) => takesIt(kind)))
  const found: (Kind & DueOfKind)[] = []
  let looked = 0
  for (const { queue, type } of untaken) {
    if (found.length === MOST_LISTED) break
    looked++
    const due = await queueing.kinds.due({ queue, type })
    if (due.oldestAt !== null) found.push({ queue, type, ...due })
  }
  return {
    now: at,
    kinds: found.sort((a, b) => (a.oldestAt as number) - (b.oldestAt as number)),
    more: waiting.length === MAX_KINDS || looked < untaken.length,
  }
})

/** Whether a worker takes runs of a kind; one of a tenant counts for the whole kind. */
function taking({ queues, types, runtime }: WorkerRow): (kind: WaitingKind) => boolean {
  const ofType = typeMatcher(types.length === 0 ? null : types)
  const ofQueues = queues.length === 0 ? null : new Set(queues)
  return ({ queue, type, registered }) =>
    (ofQueues === null || ofQueues.has(queue)) &&
    (registered === null || registered.runtime === runtime) &&
    ofType(type)
}
