/** Filters of lists as WHERE clauses. */
import type { GateQuery, InstanceQuery, RunQuery, RunWait } from '../../../model/queries/queries.ts'
import { HELD_AT, PARKED_AT } from '../../../model/rows.ts'
import type { Value } from '../driver.ts'
import type { Reading } from '../long-reads.ts'

export interface Where {
  readonly where: string
  readonly values: Value[]
}

/** A condition (null: left out) and the values of its parameters. */
type Term = readonly [string | null, ...Value[]]

export function instanceFilter(query: InstanceQuery): Where {
  return filter([
    oneOf('state', query.states),
    [query.name === null ? null : 'name = ?', query.name],
    [query.dialect === null ? null : 'dialect = ?', query.dialect],
    [query.tenant === null ? null : 'tenant = ?', query.tenant],
    [query.rootsOnly ? 'parent_id IS NULL' : null],
    given(query.kind, "net_hash IN (SELECT hash FROM workflow_net WHERE net ->> '$.kind' = ?)"),
    given(query.startKey, 'start_key = ?'),
    given(query.retryOf, 'retry_of = ?'),
    given(query.createdAfter, 'created_at >= ?'),
    given(query.createdBefore, 'created_at < ?'),
    [query.before === null ? null : 'id < ?', query.before],
  ])
}

/** Counts no further than `atMost`. */
export function countWhere(on: Reading, table: string, { where, values }: Where, atMost: number): number {
  const sql = `SELECT count(*) FROM (SELECT 1 FROM ${table} ${where} LIMIT ?)`
  return on.statement(sql).get(...values, atMost)?.[0] as number
}

export function gateFilter(query: GateQuery): Where {
  return filter([
    // Written out: only then does the index of open gates fit.
    query.states?.join() === 'open' ? ["state = 'open'"] : oneOf('state', query.states),
    [query.instanceId === null ? null : 'instance_id = ?', query.instanceId],
    [query.tenant === null ? null : TENANTS, query.tenant],
    [query.before === null ? null : 'id < ?', query.before],
  ])
}

const TENANTS = '(SELECT tenant FROM workflow_instance i WHERE i.id = workflow_gate.instance_id) = ?'

const TREE = `instance_id IN (
  SELECT id FROM workflow_instance WHERE id = ? UNION ALL
  SELECT id FROM workflow_instance WHERE parent_id IS NOT NULL AND root_id = ?)`

export function runFilter(query: RunQuery, now: number): Where {
  return filter([
    ['deleted_at IS NULL'],
    statusOf(query, now),
    [query.queue === null ? null : 'queue = ?', query.queue],
    [query.type === null ? null : 'type = ?', query.type],
    [query.deadLetter === null ? null : query.deadLetter ? 'dead_letter = 1' : 'dead_letter = 0'],
    [query.tenant === null ? null : 'tenant = ?', query.tenant],
    given(query.createdFrom, 'created_at >= ?'),
    given(query.createdBefore, 'created_at < ?'),
    given(query.instanceId, 'instance_id = ?'),
    query.rootId ? [TREE, query.rootId, query.rootId] : [null],
    [query.before === null ? null : 'id < ?', query.before],
  ])
}

function statusOf({ status, wait = null }: RunQuery, now: number): Term {
  if (wait === null) return oneOf('status', status)
  const parts = wait.map((part) => `(${WAITS[part]})`).join(' OR ') || 'false'
  const waiting = `status = 'pending' AND (${parts})`
  const times = wait.filter((part) => WAITS[part].includes('?')).map(() => now)
  if (status === null || status.length === 0) return [waiting, ...times]
  const [named, ...values] = oneOf('status', status)
  return [`(${named} OR (${waiting}))`, ...values, ...times]
}

const LATER = `run_at > ? AND run_at < ${HELD_AT}`

/** The parts of `pending`, which these conditions assume. A parameter is the time. */
const WAITS: Readonly<Record<RunWait, string>> = {
  available: 'run_at <= ?',
  scheduled: `${LATER} AND attempt = 0`,
  retryable: `${LATER} AND attempt > 0`,
  held: `run_at >= ${HELD_AT} AND run_at < ${PARKED_AT}`,
  paused: `run_at >= ${PARKED_AT}`,
}

function oneOf(column: string, words: readonly string[] | null): Term {
  return words === null ? [null] : [`${column} IN (${words.map(() => '?').join(', ')})`, ...words]
}

function given(value: Value | undefined, condition: string): Term {
  return value === null || value === undefined ? [null] : [condition, value]
}

function filter(terms: readonly Term[]): Where {
  const used = terms.filter(([sql]) => sql !== null)
  const where = used.length === 0 ? '' : `WHERE ${used.map(([sql]) => sql).join(' AND ')}`
  return { where, values: used.flatMap(([, ...values]) => values) }
}
