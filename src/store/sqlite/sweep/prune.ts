/**
 * Retention, in chunks: at most about `limit` rows per call, so that no call holds the file for long. A tree of
 * instances is removed when its root and all its members ended before the cut; its rows first, the instances last, so
 * that a partly removed tree is still a tree. Idempotency keys outlive their runs. Dead letters wait for an operator; a
 * bare run that was deleted is removed by the time of its deletion.
 */
import { StoreConflictError } from '../../../kernel/store-errors.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Value } from '../driver.ts'

const ROOT = `SELECT root.id FROM workflow_instance root
  WHERE root.parent_id IS NULL AND root.ended_at IS NOT NULL AND root.ended_at < ?1
    AND NOT EXISTS (SELECT 1 FROM workflow_instance member
      WHERE member.parent_id IS NOT NULL AND member.root_id = root.id
        AND (member.ended_at IS NULL OR member.ended_at >= ?1))`
const MEMBERS = `SELECT ?1 AS id UNION ALL SELECT id FROM workflow_instance WHERE parent_id IS NOT NULL AND root_id = ?1`
const RUNS_OF_TREE = `SELECT id FROM workflow_run WHERE instance_id IN (${MEMBERS}) LIMIT ?2`
const BARE_RUNS = `SELECT id FROM workflow_run
  WHERE instance_id IS NULL AND finished_at IS NOT NULL AND finished_at < ?1 AND settled_at IS NOT NULL
    AND dead_letter = 0 AND status IN ('succeeded', 'failed', 'cancelled')`
/** Deleted by hand: in any state, unless a worker still has it. */
const DELETED_RUNS = `WHERE deleted_at IS NOT NULL AND deleted_at < ?1 AND instance_id IS NULL
    AND (status = 'pending' OR settled_at IS NOT NULL)`
/** The oldest rows, by the index of their time. */
const OLDEST = {
  bare: `${BARE_RUNS} ORDER BY finished_at LIMIT ?2`,
  deleted: `SELECT id FROM workflow_run INDEXED BY idx_workflow_run_deleted_at ${DELETED_RUNS} ORDER BY deleted_at LIMIT ?2 + 0`,
  roots: `${ROOT} ORDER BY root.ended_at LIMIT ?2`,
}
/** The named rows, found by id (`+` keeps SQLite from using the index of the time): the other old ones are not read. */
const THESE = 'IN (SELECT value FROM json_each(?3)) LIMIT ?2'
const NAMED = {
  bare: `${BARE_RUNS.replace('finished_at <', '+finished_at <')} AND id ${THESE}`,
  deleted: `SELECT id FROM workflow_run ${DELETED_RUNS.replace('deleted_at <', '+deleted_at <')} AND id ${THESE}`,
  roots: `${ROOT.replace('root.ended_at <', '+root.ended_at <')} AND root.id ${THESE}`,
}
const KEEP_KEY = `INSERT OR IGNORE INTO workflow_kept_key (idempotency_key, run_id)
  SELECT idempotency_key, id FROM workflow_run WHERE id = ? AND idempotency_key IS NOT NULL`
/** Oldest first, so that the remaining numbered events of an instance are always its last. */
const EVENTS_OF_TREE = `DELETE FROM workflow_event WHERE id IN (
  SELECT id FROM workflow_event WHERE instance_id IN (${MEMBERS}) AND id < (SELECT max(id) FROM workflow_event)
  ORDER BY id LIMIT ?2)`
const EVENTS_OF_RUN = `DELETE FROM workflow_event WHERE workflow_id = ? AND id < (SELECT max(id) FROM workflow_event)`
/** The newest row stays: the next id is one more than the greatest. */
const OLD_EVENTS = `DELETE FROM workflow_event WHERE id IN (
  SELECT id FROM workflow_event WHERE created_at < ?1 AND id < (SELECT max(id) FROM workflow_event) ORDER BY id LIMIT ?2)`
const OLDEST_EVENT = 'SELECT created_at FROM workflow_event ORDER BY id LIMIT 1'
export const OPEN_MEMBER = `SELECT id FROM workflow_instance
  WHERE parent_id IS NOT NULL AND root_id = ? AND ended_at IS NULL LIMIT 1`
const PARTS = ['workflow_slot', 'workflow_item', 'workflow_gate'] as const
const DEAD_SESSIONS = `DELETE FROM workflow_worker WHERE state = 'dead' AND expires_at < ?1 AND NOT EXISTS (
  SELECT 1 FROM workflow_run WHERE status = 'leased' AND session_id = workflow_worker.id)`

/** They are evidence of nothing, so they are not kept. */
const EXPIRED_SIGN_INS = `DELETE FROM workflow_sign_in WHERE hash IN (
  SELECT hash FROM workflow_sign_in WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`
/** Where no run with a key waits, the turns begin with the first key again. */
const UNUSED_TURNS = `DELETE FROM workflow_fair_turn WHERE NOT EXISTS (
  SELECT 1 FROM workflow_run r INDEXED BY idx_workflow_run_fair
  WHERE r.status = 'pending' AND r.deleted_at IS NULL AND r.fair_key IS NOT NULL AND r.queue = workflow_fair_turn.queue)`
const OLD_GROUPS = `DELETE FROM workflow_error_group WHERE fingerprint IN (
  SELECT fingerprint FROM workflow_error_group WHERE last_at < ?1 ORDER BY last_at LIMIT ?2)`

interface Cut {
  readonly endedBefore: number
  readonly eventsBefore: number
  readonly limit: number
  readonly among?: readonly string[]
}

export function prunable(
  connection: Connection,
  { endedBefore, limit }: Pick<Cut, 'endedBefore' | 'limit'>,
): { readonly id: string }[] {
  const found = Object.values(OLDEST).flatMap((sql) =>
    connection
      .statement(sql)
      .all(endedBefore, limit)
      .map(([id]) => id as string),
  )
  return [...new Set(found)].slice(0, limit).map((id) => ({ id }))
}

export function prune(connection: Connection, { endedBefore, eventsBefore, limit, among }: Cut): number {
  const { bare, deleted, roots } = among === undefined ? OLDEST : NAMED
  const old = (sql: string): readonly string[] =>
    connection
      .statement(sql)
      .all(endedBefore, left, ...(among === undefined ? [] : [JSON.stringify(among)]))
      .map(([id]) => id as string)
  let left = limit
  left -= pruneRuns(connection, old(bare))
  if (left > 0) left -= pruneRuns(connection, old(deleted))
  if (left > 0) left -= pruneTrees(connection, old(roots), left)
  if (among !== undefined && among.length > 0) return limit - left
  if (left > 0) left -= pruneEvents(connection, eventsBefore, left)
  if (left > 0) left -= remove(connection, DEAD_SESSIONS, endedBefore)
  if (left > 0) left -= remove(connection, OLD_GROUPS, endedBefore, left)
  if (left > 0) left -= remove(connection, EXPIRED_SIGN_INS, readClock(connection), left)
  if (left > 0) left -= remove(connection, UNUSED_TURNS)
  return limit - left
}

function pruneRuns(connection: Connection, ids: readonly string[]): number {
  return ids.reduce((removed, id) => removed + removeRun(connection, id), 0)
}

/** Runs of a tree that has more than `limit`, not its instances: what is left is still a tree. */
export function trimTree(connection: Connection, root: string, limit: number): number {
  const runs = connection.statement(RUNS_OF_TREE).all(root, limit + 1)
  if (runs.length <= limit) return 0
  for (const [id] of runs.slice(0, limit)) removeRun(connection, id as string)
  return limit
}

/** An ended tree, with everything that belongs to it, in the transaction of the caller. */
export function removeWholeTree(connection: Connection, root: string): void {
  const open = connection.statement(OPEN_MEMBER).get(root)
  if (open !== undefined) throw new StoreConflictError('tree_open', `instance ${open[0]} has not ended`)
  for (const [id] of connection.statement(RUNS_OF_TREE).all(root, -1)) removeRun(connection, id as string)
  remove(connection, EVENTS_OF_TREE, root, -1)
  removeTree(connection, root)
}

function pruneTrees(connection: Connection, roots: readonly string[], limit: number): number {
  let removed = 0
  for (const root of roots) {
    removed += remove(connection, EVENTS_OF_TREE, root, limit - removed)
    if (removed >= limit) break
    for (const [id] of connection.statement(RUNS_OF_TREE).all(root, limit - removed)) {
      removed += removeRun(connection, id as string)
    }
    if (removed >= limit) break
    removed += removeTree(connection, root)
    if (removed >= limit) break
  }
  return removed
}

function removeTree(connection: Connection, root: string): number {
  const parts = PARTS.map((table) => `DELETE FROM ${table} WHERE instance_id IN (${MEMBERS})`)
  const removed = parts.reduce((sum, sql) => sum + remove(connection, sql, root), 0)
  remove(connection, 'DELETE FROM workflow_name WHERE root_id = ?1', root)
  remove(connection, `DELETE FROM workflow_term WHERE id IN (${MEMBERS})`, root)
  remove(connection, 'DELETE FROM workflow_parked WHERE owner = ?1', root)
  remove(connection, `DELETE FROM workflow_pause WHERE kind = 'instance' AND key = ?1`, root)
  return removed + remove(connection, 'DELETE FROM workflow_instance WHERE root_id = ?1 OR id = ?1', root)
}

function removeRun(connection: Connection, id: string): number {
  connection.statement(KEEP_KEY).get(id)
  const events = remove(connection, EVENTS_OF_RUN, id)
  remove(connection, 'DELETE FROM workflow_checkpoint WHERE run_id = ?', id)
  remove(connection, 'DELETE FROM workflow_command WHERE run_id = ?', id)
  remove(connection, 'DELETE FROM workflow_log WHERE run_id = ?', id)
  remove(connection, 'DELETE FROM workflow_term WHERE id = ?', id)
  return events + remove(connection, 'DELETE FROM workflow_run WHERE id = ?', id)
}

/** Events are stored in the order of their time: if the first is not old enough, none is. */
function pruneEvents(connection: Connection, before: number, limit: number): number {
  const oldest = connection.statement(OLDEST_EVENT).get()
  return oldest === undefined || (oldest[0] as number) >= before ? 0 : remove(connection, OLD_EVENTS, before, limit)
}

function remove(connection: Connection, sql: string, ...values: Value[]): number {
  return Number(connection.statement(sql).run(...values).changes)
}
