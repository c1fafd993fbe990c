/**
 * Finds claimable runs. The claim index is ordered (queue, type, priority, run_at, id); we jump in it from one
 * (queue, type) to the next and from one priority to the next, so the cost is the number of distinct queues, types and
 * priorities of pending runs, never the number of rows: a million runs of other types or of tomorrow cost nothing.
 * Prefixes need no LIKE, hence no escaping: a prefix is a range of types in byte order, which ends at the first type
 * that does not begin with it. Types that the registry closes to this runtime are skipped here: however many are
 * pending, they displace no other run.
 *
 * Among the best runs, those with a fair key only hold places: which runs of their queue and priority take these places is
 * decided by the turns of the keys (fair.ts). Where no run has a key, nothing is looked up.
 */

import { splitTypeFilters, takes } from '../../../kernel/type-filters.ts'
import { type FairPlace, fairScope } from '../../../model/queues/fair.ts'
import type { RunRow } from '../../../model/rows.ts'
import type { Candidates, ClaimFilter } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'
import type { Reading } from '../long-reads.ts'
import { RUN_CELLS, runOf } from '../row/run.ts'
import { fairRuns } from './fair.ts'

export const WAITING = `FROM workflow_run INDEXED BY idx_workflow_run_type_prefix
  WHERE status = 'pending' AND deleted_at IS NULL`
/** The jumps stay inside SQLite: invalid text would come back as other bytes, and the jumps would never end. */
const QUEUES = `WITH RECURSIVE waiting(name) AS (
    SELECT (SELECT queue ${WAITING} ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT queue ${WAITING} AND queue > w.name ORDER BY queue LIMIT 1) FROM waiting w WHERE w.name IS NOT NULL)
  SELECT name FROM waiting WHERE name IS NOT NULL`
export const WAITING_TYPES = `WITH RECURSIVE waiting(name) AS (
    SELECT (SELECT type ${WAITING} AND queue = ?1 AND type >= ?2 ORDER BY type LIMIT 1)
    UNION ALL
    SELECT (SELECT type ${WAITING} AND queue = ?1 AND type > w.name ORDER BY type LIMIT 1)
    FROM waiting w WHERE substr(w.name, 1, length(?2)) = ?2)
  SELECT name FROM waiting WHERE substr(name, 1, length(?2)) = ?2`
export const NEXT_PRIORITY = `SELECT priority ${WAITING} AND queue = ? AND type = ? AND priority > ? ORDER BY priority LIMIT 1`
const DUE = `${WAITING} AND queue = ?1 AND type = ?2 AND priority = ?3 AND run_at <= ?4
  AND (expires_at IS NULL OR expires_at > ?4) AND (?5 IS NULL OR tenant = ?5)
  AND (limit_key IS NULL OR limit_key NOT IN (SELECT value FROM json_each(?6)))`
/**
 * `+ 0`: the planner examines a bare LIMIT parameter, so SQLite would prepare the statement again at each call (claim
 * of ten: 250 µs instead of 63).
 */
const FIRST = 'ORDER BY run_at, id LIMIT ?7 + 0'
const DUE_RUNS = `SELECT ${RUN_CELLS} ${DUE} ${FIRST}`
const DUE_KEYS = `SELECT id, run_at, fair_key, queue ${DUE} ${FIRST}`
/** The length of a text is at the beginning of its row: long payloads are not read for it. */
const DUE_BYTES = `SELECT total(bytes) FROM (SELECT octet_length(payload) AS bytes ${DUE} ${FIRST})`
/** This many are read without measuring their lengths first. */
const FEW = 16
const PAUSED = 'SELECT 1 FROM workflow_queue WHERE name = ? AND paused = 1'
const BARRED = `SELECT 1 FROM workflow_registry WHERE workflow_name = ?1 AND deleted_at IS NULL
  AND (is_enabled = 0 OR runtime IS NOT ?2)
  UNION ALL SELECT 1 FROM workflow_pause WHERE kind = 'type' AND key = ?1`

/** A filter, with the queues and limit keys that are full if it is for a claim. */
type Wanted = ClaimFilter & Partial<Pick<Candidates, 'skipQueues' | 'skipLimitKeys'>>

/** The pending runs of one queue and type, with the current priority. */
interface Line {
  readonly queue: string
  readonly type: string
  priority: number
}

/** Bytes of payloads that may still be read; below 0: no more. */
interface Room {
  left: number
  readonly fairPlaces: FairPlace[]
}

/** A run among the best of its priority. */
interface Place {
  readonly id: string
  readonly runAt: number
  readonly fairKey: string | null
  readonly queue: string
}

export interface Found {
  readonly runs: readonly RunRow[]
  readonly fairPlaces: readonly FairPlace[]
}

/** The best claimable runs: by priority, then run_at, then id; in order, one queue after the other. */
export function candidates(connection: Connection, filter: Candidates, now: number): Found {
  const room: Room = { left: filter.maxBytes ?? Number.POSITIVE_INFINITY, fairPlaces: [] }
  const { fairPlaces } = room
  if (filter.inOrder !== true || filter.queues === null)
    return { runs: best(connection, filter, now, room), fairPlaces }
  const runs: RunRow[] = []
  for (const queue of new Set(filter.queues)) {
    const limit = filter.limit - runs.length
    if (limit > 0 && room.left >= 0) runs.push(...best(connection, { ...filter, queues: [queue], limit }, now, room))
  }
  return { runs, fairPlaces }
}

function best(connection: Connection, filter: Candidates, now: number, room: Room): RunRow[] {
  const chosen: RunRow[] = []
  let lines = linesOf(connection, filter)
  while (lines.length > 0 && chosen.length < filter.limit && room.left >= 0) {
    const level = Math.min(...lines.map((line) => line.priority))
    const best = lines.filter((line) => line.priority === level)
    chosen.push(...dueOf(connection, best, { ...filter, limit: filter.limit - chosen.length }, now, room))
    if (chosen.length < filter.limit) {
      const spent = new Set(best.filter((line) => !advance(connection, line)))
      lines = lines.filter((line) => !spent.has(line))
    }
  }
  return chosen
}

/** Smallest priority among claimable runs; null: none. */
export function urgency(connection: Connection, filter: ClaimFilter, now: number): number | null {
  let best: number | null = null
  for (const line of linesOf(connection, filter)) {
    while (best === null || line.priority < best) {
      if (due(connection, DUE_KEYS, line, filter, now, 1).length > 0) best = line.priority
      else if (!advance(connection, line)) break
    }
  }
  return best
}

function dueOf(connection: Connection, lines: readonly Line[], filter: Candidates, now: number, room: Room): RunRow[] {
  const { limit } = filter
  const [only] = lines
  if (lines.length === 1 && only && (limit <= FEW || bytesDue(connection, only, filter, now) <= room.left)) {
    const runs = due(connection, DUE_RUNS, only, filter, now, limit).map(runOf)
    if (runs.some(({ fairKey }) => fairKey !== null)) {
      return rowsOf(connection, byTurns(connection, runs, lines, { filter, now, room }), room)
    }
    for (const { payload } of runs) room.left -= Buffer.byteLength(payload)
    return runs
  }
  const places = lines.flatMap((line) => due(connection, DUE_KEYS, line, filter, now, limit).map(placeOf))
  places.sort((a, b) => a.runAt - b.runAt || (a.id < b.id ? -1 : 1))
  const chosen = byTurns(connection, places.slice(0, limit), lines, { filter, now, room })
  return rowsOf(connection, chosen, room)
}

function placeOf([id, runAt, fairKey, queue]: Cells): Place {
  return { id: id as string, runAt: runAt as number, fairKey: fairKey as string | null, queue: queue as string }
}

function rowsOf(connection: Connection, ids: readonly string[], room: Room): RunRow[] {
  const byId = connection.statement(`SELECT ${RUN_CELLS} FROM workflow_run WHERE id = ?`)
  const runs: RunRow[] = []
  for (const id of ids) {
    if (room.left < 0) break
    const cells = byId.get(id)
    if (cells === undefined) continue
    const run = runOf(cells)
    room.left -= Buffer.byteLength(run.payload)
    runs.push(run)
  }
  return runs
}

interface Claiming {
  readonly filter: Candidates
  readonly now: number
  readonly room: Room
}

/** The ids for these places: where runs have keys, of the runs whose turn it is. */
function byTurns(
  connection: Connection,
  places: readonly Place[],
  lines: readonly Line[],
  { filter, now, room }: Claiming,
): readonly string[] {
  const shared = places.filter(({ fairKey }) => fairKey !== null)
  if (shared.length === 0) return places.map(({ id }) => id)
  const scope = fairScope(filter)
  const chosen = new Map<string, string[]>()
  for (const queue of new Set(shared.map((place) => place.queue))) {
    const own = lines.filter((line) => line.queue === queue)
    const ring = { queue, priority: (own[0] as Line).priority, types: own.map(({ type }) => type) }
    const standing = shared.flatMap((place) => (place.queue === queue ? [place.id] : []))
    const runs = fairRuns(connection, ring, filter, now, standing.length)
    for (const { id, key, used } of runs) {
      room.fairPlaces.push({ runId: id, turn: { queue, priority: ring.priority, scope, key, used } })
    }
    const ids = runs.map(({ id }) => id)
    // The walk was cut short: the longest due take the places that are left.
    const others = ids.length === standing.length ? [] : standing.filter((id) => !ids.includes(id))
    chosen.set(queue, [...ids, ...others].slice(0, standing.length))
  }
  return places.map(({ id, fairKey, queue }) => (fairKey === null ? id : (chosen.get(queue)?.shift() as string)))
}

function bytesDue(connection: Connection, line: Line, filter: Candidates, now: number): number {
  if (filter.maxBytes === undefined) return 0
  return due(connection, DUE_BYTES, line, filter, now, filter.limit)[0]?.[0] as number
}

function due(connection: Connection, sql: string, line: Line, filter: Wanted, now: number, limit: number): Cells[] {
  const full = JSON.stringify(filter.skipLimitKeys ?? [])
  return connection.statement(sql).all(line.queue, line.type, line.priority, now, filter.tenant, full, limit)
}

/** Moves a line to its next priority; false: it has no more. */
function advance(connection: Connection, line: Line): boolean {
  const next = connection.statement(NEXT_PRIORITY).get(line.queue, line.type, line.priority)
  if (next === undefined) return false
  line.priority = next[0] as number
  return true
}

function linesOf(connection: Connection, filter: Wanted): Line[] {
  const lines: Line[] = []
  const { exact, prefixes, withTools } = splitTypeFilters(filter.types)
  for (const queue of filter.queues === null ? waitingQueues(connection) : new Set(filter.queues)) {
    if (filter.skipQueues?.includes(queue) || connection.statement(PAUSED).get(queue) !== undefined) continue
    const types = new Set(exact)
    for (const prefix of prefixes) for (const type of waitingTypes(connection, queue, prefix)) types.add(type)
    for (const each of withTools)
      for (const type of waitingTypes(connection, queue, each.before)) if (takes(each, type)) types.add(type)
    for (const type of types) {
      const line = { queue, type, priority: Number.MIN_SAFE_INTEGER }
      if (!advance(connection, line)) continue
      if (connection.statement(BARRED).get(type, filter.runtime) === undefined) lines.push(line)
    }
  }
  return lines
}

export function waitingQueues(connection: Connection): string[] {
  return connection
    .statement(QUEUES)
    .all()
    .map(([name]) => name as string)
}

export function waitingTypes(connection: Reading, queue: string, prefix: string): string[] {
  return connection
    .statement(WAITING_TYPES)
    .all(queue, prefix)
    .map(([name]) => name as string)
}
