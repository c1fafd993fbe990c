/** Entries in the history of a schedule, and the keys of runs on request. */
import type { Fired, FireRow } from '../../model/schedules/fires.ts'
import type { Store } from '../../store/store.ts'

/** What an earlier request under this key has made; null: there was none. */
export async function firedBefore(store: Store, schedule: string, requestKey: string | null): Promise<Fired | null> {
  if (requestKey === null) return null
  const fire = await store.read.timetable.fireByKey({ schedule, requestKey })
  if (fire === null || fire.made === null || fire.madeId === null) return null
  return { created: false, made: fire.made, id: fire.madeId, fire }
}

/** Lists make the key of a schedule and a request unambiguous, whatever characters they contain. */
export function runKey(schedule: string, request: string): string {
  return `petrel:run-now:${JSON.stringify([schedule, request])}`
}

/** A fire that has made nothing yet. */
export function blankFire(schedule: string, id: string, firedAt: number): FireRow {
  const nothing = { plannedAt: null, made: null, madeId: null, madeCount: 0 } as const
  return { schedule, id, firedAt, ...nothing, skipped: null, reason: null, actor: null, requestKey: null }
}
