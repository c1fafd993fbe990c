/**
 * Parks what waits in a paused tree, and releases it after the pause, a portion per transaction. A cursor passes every row
 * once: `<instance>/<run>` while runs are parked, then `members/<instance>`. What begins to wait behind the cursor was parked
 * by the transaction that made it wait.
 */

import { PARKED, PAUSE, type ParkedRow, type PausePortion, type PauseRow } from '../../../model/pauses/pauses.ts'
import { HELD_AT, PARKED_AT } from '../../../model/rows.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import { upserter } from '../row/put.ts'
import { rowReader, selectOf } from '../row/reader.ts'

const PAUSED = `SELECT ${selectOf(PAUSE)} FROM workflow_pause WHERE kind = 'instance' AND key = ?`
const pauseOf = rowReader(PAUSE)
const ENTRIES = `SELECT ${selectOf(PARKED)} FROM workflow_parked WHERE owner = ? ORDER BY id LIMIT ? + 0`
const entryOf = rowReader(PARKED)
const put = upserter(PARKED, { keys: ['owner', 'id'] })

/** The members of the tree, with its root, from one on. */
const MEMBERS = `SELECT id FROM (
  SELECT ?1 AS id
  UNION ALL
  SELECT id FROM workflow_instance INDEXED BY idx_workflow_instance_tree
  WHERE parent_id IS NOT NULL AND root_id = ?1 AND ended_at IS NULL) WHERE id >= ?2 ORDER BY id`
const WAITING = `SELECT id, run_at, expires_at, timeout_at FROM workflow_run INDEXED BY idx_workflow_run_waiting
  WHERE status = 'pending' AND instance_id IS NOT NULL AND instance_id = ? AND id > ? ORDER BY id LIMIT ? + 0`
const PARK_RUN = `UPDATE workflow_run SET run_at = ${PARKED_AT}, expires_at = iif(?2, NULL, expires_at),
  timeout_at = iif(?2, NULL, timeout_at), engine_turn = NOT engine_turn WHERE id = ?1`
const DEFERRED = `SELECT id, timeout_at FROM workflow_run INDEXED BY idx_workflow_run_leased
  WHERE status = 'leased' AND session_id IS NULL AND deferred = 1 AND root_id = ? AND timeout_at IS NOT NULL`
const STOP_TIMEOUT = 'UPDATE workflow_run SET timeout_at = NULL, engine_turn = NOT engine_turn WHERE id = ?'
const DEADLINE = `SELECT deadline_at, phase FROM workflow_instance WHERE id = ? AND ended_at IS NULL AND deadline_at IS NOT NULL`
const STOP_DEADLINE = 'UPDATE workflow_instance SET deadline_at = NULL WHERE id = ?'
const GATES = `SELECT id, due_at, escalate_at FROM workflow_gate INDEXED BY idx_workflow_gate_open
  WHERE state = 'open' AND instance_id = ? AND (due_at IS NOT NULL OR escalate_at IS NOT NULL)`
const STOP_GATE = 'UPDATE workflow_gate SET due_at = NULL, escalate_at = NULL WHERE id = ?'
const NOTE = `UPDATE workflow_pause SET cursor = ?, state = ? WHERE kind = 'instance' AND key = ?`
/** Commands that came up during the pause and were held back: they are due at once. */
const RENEW_COMMANDS = `UPDATE workflow_command SET due_at = min(due_at, ?1)
  WHERE due_at IS NOT NULL AND (published_at IS NULL OR due_at > published_at + resend_ms) AND run_id IN (
    SELECT id FROM workflow_run INDEXED BY idx_workflow_run_leased
    WHERE status = 'leased' AND session_id IS NULL AND deferred = 1 AND root_id = ?2)`
const OVER = `DELETE FROM workflow_pause WHERE kind = 'instance' AND key = ?`

/** As in the other store: a timeout over all attempts is longer by the pause, since it is counted from the first start. */
const RELEASE_RUN = `UPDATE workflow_run SET run_at = iif(status = 'leased', run_at, ?2),
  expires_at = coalesce(?3, expires_at), timeout_at = coalesce(?4, timeout_at),
  timeout_ms = timeout_ms + iif(timeout_per = 'node' AND first_started_at IS NOT NULL, ?5, 0), engine_turn = NOT engine_turn
  WHERE id = ?1 AND ((status = 'pending' AND run_at >= ${PARKED_AT} AND ?2 IS NOT NULL)
    OR (status = 'leased' AND deferred = 1 AND ?2 IS NULL)) RETURNING queue`
const RELEASE_INSTANCE = `UPDATE workflow_instance SET queued_at = coalesce(?2, queued_at),
  deadline_at = coalesce(deadline_at, iif(phase = ?4, ?3, NULL)) WHERE id = ?1 AND ended_at IS NULL`
const RELEASE_GATE = `UPDATE workflow_gate SET due_at = coalesce(due_at, ?2), escalate_at = coalesce(escalate_at, ?3)
  WHERE id = ?1 AND state = 'open'`
const REMOVE = 'DELETE FROM workflow_parked WHERE owner = ? AND id = ?'

const IN_MEMBERS = 'members/'
const NOTHING: Omit<ParkedRow, 'owner' | 'id' | 'kind' | 'since'> = {
  runAt: null,
  expiresAt: null,
  timeoutAt: null,
  dueAt: null,
  escalateAt: null,
  deadlineAt: null,
  queuedAt: null,
  phase: null,
}

export function parkOrRelease(
  connection: Connection,
  { rootId, limit }: { readonly rootId: string; readonly limit: number },
): PausePortion {
  const cells = connection.statement(PAUSED).get(rootId)
  const pause = cells === undefined ? null : pauseOf(cells)
  if (pause === null || pause.state === 'paused') return { done: true, queues: [] }
  return pause.state === 'pausing' ? park(connection, pause, limit) : release(connection, pause, limit)
}

function park(connection: Connection, pause: PauseRow, limit: number): PausePortion {
  const from = pause.cursor ?? ''
  const inMembers = from.startsWith(IN_MEMBERS)
  const next = inMembers ? parkMembers(connection, pause, limit) : parkRuns(connection, pause, limit)
  const members = !inMembers && next === null && pause.timeouts === 'stop'
  if (members) parkDeferred(connection, pause)
  const cursor = members ? IN_MEMBERS : next
  connection.statement(NOTE).get(cursor, cursor === null ? 'paused' : 'pausing', pause.key)
  return { done: cursor === null, queues: [] }
}

/** The cursor after this portion; null: no run is left. */
function parkRuns(connection: Connection, pause: PauseRow, limit: number): string | null {
  const [from = '', after = ''] = (pause.cursor ?? '').split('/')
  const stops = pause.timeouts === 'stop'
  let left = limit
  for (const [member] of connection.statement(MEMBERS).all(pause.key, from)) {
    const instance = member as string
    const runs = connection.statement(WAITING).all(instance, instance === from ? after : '', left)
    for (const [id, runAt, expiresAt, timeoutAt] of runs as [string, number, number | null, number | null][]) {
      if (runAt >= PARKED_AT) continue
      const times = stops ? { expiresAt, timeoutAt } : {}
      put(connection, { ...NOTHING, owner: pause.key, id, kind: 'run', since: pause.pausedAt, runAt, ...times })
      connection.statement(PARK_RUN).get(id, stops ? 1 : 0)
    }
    left -= runs.length
    if (left <= 0) return `${instance}/${runs.at(-1)?.[0] as string}`
  }
  return null
}

/** Timeouts of work that no worker holds. */
function parkDeferred(connection: Connection, pause: PauseRow): void {
  for (const [id, timeoutAt] of connection.statement(DEFERRED).all(pause.key) as [string, number][]) {
    put(connection, { ...NOTHING, owner: pause.key, id, kind: 'run', since: pause.pausedAt, timeoutAt })
    connection.statement(STOP_TIMEOUT).get(id)
  }
}

/** Deadlines and gates of the next members. */
function parkMembers(connection: Connection, pause: PauseRow, limit: number): string | null {
  const after = (pause.cursor ?? '').slice(IN_MEMBERS.length)
  const about = { ...NOTHING, owner: pause.key, since: pause.pausedAt }
  const members = connection.statement(`${MEMBERS} LIMIT ?3 + 0`).all(pause.key, after, limit + 1) as [string][]
  for (const [id] of members) {
    const due = connection.statement(DEADLINE).get(id) as [number, string] | undefined
    if (due !== undefined) {
      put(connection, { ...about, id, kind: 'instance', deadlineAt: due[0], phase: due[1] })
      connection.statement(STOP_DEADLINE).get(id)
    }
    for (const [gate, dueAt, escalateAt] of connection.statement(GATES).all(id) as [string, number, number][]) {
      put(connection, { ...about, id: gate, kind: 'gate', dueAt, escalateAt })
      connection.statement(STOP_GATE).get(gate)
    }
  }
  return members.length <= limit ? null : `${IN_MEMBERS}${members.at(-1)?.[0] as string}`
}

function release(connection: Connection, pause: PauseRow, limit: number): PausePortion {
  const queues = new Set<string>()
  const entries = connection.statement(ENTRIES).all(pause.key, limit).map(entryOf)
  for (const entry of entries) {
    const queue = releaseEntry(connection, pause, entry)
    if (queue !== null) queues.add(queue)
    connection.statement(REMOVE).get(pause.key, entry.id)
  }
  const done = entries.length < limit
  if (done) {
    connection.statement(RENEW_COMMANDS).get(readClock(connection), pause.key)
    connection.statement(OVER).get(pause.key)
  }
  return { done, queues: [...queues] }
}

/** Times that stood still move by the length of their standstill; a run that was due then keeps its place. */
function releaseEntry(connection: Connection, pause: PauseRow, entry: ParkedRow): string | null {
  const stood = Math.max(entry.since, pause.pausedAt)
  const shift = pause.timeouts === 'stop' ? Math.max((pause.resumedAt ?? stood) - stood, 0) : 0
  const moved = (at: number | null): number | null => (at === null ? null : at + shift)
  const { id, kind, runAt } = entry
  if (kind === 'run') {
    const due = runAt !== null && runAt > stood && runAt < HELD_AT ? runAt + shift : runAt
    const released = connection
      .statement(RELEASE_RUN)
      .get(id, due, moved(entry.expiresAt), moved(entry.timeoutAt), shift)
    return (released?.[0] as string | undefined) ?? null
  }
  if (kind === 'instance') {
    connection.statement(RELEASE_INSTANCE).get(id, entry.queuedAt, moved(entry.deadlineAt), entry.phase)
  } else {
    connection.statement(RELEASE_GATE).get(id, moved(entry.dueAt), moved(entry.escalateAt))
  }
  return null
}

const TYPE_PAUSED = `SELECT 1 FROM workflow_pause WHERE kind = 'type' AND key = ?`
const ROOT_PAUSED = `SELECT r.root_id FROM workflow_run r JOIN workflow_instance i ON i.id = r.root_id AND i.paused IS NOT NULL
  WHERE r.id = ?`

/**
 * Releases runs that claims by plain SQL have parked, because their type was paused. A run of a paused tree stays parked,
 * and belongs to the tree from now on.
 */
export function releaseType(
  connection: Connection,
  { type, limit }: { readonly type: string; readonly limit: number },
): PausePortion {
  if (connection.statement(TYPE_PAUSED).get(type) !== undefined) return { done: true, queues: [] }
  const owner = `type:${type}`
  const queues = new Set<string>()
  const entries = connection.statement(ENTRIES).all(owner, limit).map(entryOf)
  for (const entry of entries) {
    const root = connection.statement(ROOT_PAUSED).get(entry.id)?.[0] as string | undefined
    if (root !== undefined) put(connection, { ...entry, owner: root })
    else {
      const released = connection.statement(RELEASE_RUN).get(entry.id, entry.runAt, null, null, 0)
      if (released !== undefined) queues.add(released[0] as string)
    }
    connection.statement(REMOVE).get(owner, entry.id)
  }
  return { done: entries.length < limit, queues: [...queues] }
}
