/** Pauses: reading and listing. They are stored in `transact`; sweep/parking.ts parks and releases what waits. */
import {
  PARKED,
  PAUSE,
  type PauseKey,
  type PauseKind,
  type PauseRow,
  type Pauses,
  pauseName,
} from '../../../model/pauses/pauses.ts'
import type { Connection } from '../connection.ts'
import { upserter } from '../row/put.ts'
import { rowReader, selectOf } from '../row/reader.ts'
import { parkOrRelease, releaseType } from '../sweep/parking.ts'

const CELLS = selectOf(PAUSE)
export const pauseOf = rowReader(PAUSE)
const GET = `SELECT ${CELLS} FROM workflow_pause WHERE kind = ? AND key = ?`
const BEFORE = '(?2 IS NULL OR (paused_at, key) < (?2, ?3)) ORDER BY paused_at DESC, key DESC LIMIT ?1 + 0'
const LIST = `SELECT ${CELLS} FROM workflow_pause INDEXED BY idx_workflow_pause_listed WHERE ${BEFORE}`
const LIST_OF_TENANT = `SELECT ${CELLS} FROM workflow_pause INDEXED BY idx_workflow_pause_of_tenant
  WHERE tenant IS NOT NULL AND tenant = ?4 AND ${BEFORE}`
const UNFINISHED = `SELECT kind, key FROM workflow_pause WHERE state <> 'paused' ORDER BY key LIMIT ?`
const COUNT_RULES = `SELECT count(*) FROM workflow_pause WHERE kind IN ('definition', 'type')`
/** From one owner to the next: however many runs each has. */
const PARKED_TYPES = `WITH RECURSIVE parked(name) AS (
    SELECT (SELECT min(owner) FROM workflow_parked WHERE owner >= 'type:' AND owner < 'type;')
    UNION ALL
    SELECT (SELECT min(owner) FROM workflow_parked WHERE owner > p.name AND owner < 'type;') FROM parked p WHERE p.name IS NOT NULL)
  SELECT substr(name, 6) FROM parked WHERE name IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workflow_pause WHERE kind = 'type' AND key = substr(name, 6)) LIMIT ?`
const REMOVE = 'DELETE FROM workflow_pause WHERE kind = ? AND key = ?'

export const putPause = upserter(PAUSE, { keys: ['kind', 'key'] })
export const putParked = upserter(PARKED, { keys: ['owner', 'id'] })

export function readPause(connection: Connection, { kind, key }: PauseKey): PauseRow | null {
  const cells = connection.statement(GET).get(kind, key)
  return cells === undefined ? null : pauseOf(cells)
}

/** Once it is known that there is none, nothing is read until a pause is written. */
export function pauseStateOf(connection: Connection, key: PauseKey): PauseRow['state'] | null {
  const name = `pause of ${pauseName(key)}`
  const { ruleless } = connection.recent
  if (ruleless.has(name)) return null
  const state = readPause(connection, key)?.state ?? null
  if (state === null) ruleless.add(name)
  return state
}

export function loadPauses(connection: Connection, keys: readonly PauseKey[], into: Map<string, PauseRow>): void {
  for (const key of keys) {
    const pause = readPause(connection, key)
    if (pause !== null) into.set(pauseName(key), pause)
  }
}

export function removePause(connection: Connection, { kind, key }: PauseKey): void {
  connection.statement(REMOVE).get(kind, key)
}

const PLANNED = 'SELECT run_at FROM workflow_parked WHERE owner = ? AND id = ? AND run_at IS NOT NULL'

export function plannedTimes(
  connection: Connection,
  parked: readonly { readonly owner: string; readonly id: string }[],
): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  for (const { owner, id } of parked) {
    const at = connection.statement(PLANNED).get(owner, id)?.[0]
    if (typeof at === 'number') times.set(id, at)
  }
  return times
}

export function pausesOn(connection: Connection): Pauses {
  return {
    get: (key) => connection.read(() => readPause(connection, key)),
    list: ({ tenant, limit, before }) =>
      connection.read(() => {
        const page = [limit, before?.pausedAt ?? null, before?.key ?? null]
        const found =
          tenant === null
            ? connection.statement(LIST).all(...page)
            : connection.statement(LIST_OF_TENANT).all(...page, tenant)
        return found.map(pauseOf)
      }),
    unfinished: ({ limit }) =>
      connection.read(() =>
        connection
          .statement(UNFINISHED)
          .all(limit)
          .map(([kind, key]) => ({ kind: kind as PauseKind, key: key as string })),
      ),
    parkedTypes: ({ limit }) =>
      connection.read(() =>
        connection
          .statement(PARKED_TYPES)
          .all(limit)
          .map(([type]) => type as string),
      ),
    releaseType: (params) => connection.write(() => releaseType(connection, params)),
    countRules: () => connection.read(() => connection.statement(COUNT_RULES).get()?.[0] as number),
    portion: (params) => connection.write(() => parkOrRelease(connection, params)),
  }
}
