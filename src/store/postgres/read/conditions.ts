/** Filters of lists as WHERE clauses. Only the given filters are included: each set of filters has its own plan. */
import type { GateQuery, InstanceQuery, RunQuery, RunWait } from '../../../model/queries/queries.ts'
import { HELD_AT, PARKED_AT } from '../../../model/rows.ts'
import { textArray } from '../connection/batch.ts'
import { isUuid } from '../connection/uuid.ts'

/** A WHERE clause with its values. */
export class Conditions {
  readonly conditions: string[] = []
  readonly values: string[] = []

  add(condition: (parameter: string) => string, value: string): void {
    this.conditions.push(condition(this.value(value)))
  }

  /** An id that is not a UUID matches no row. */
  addId(condition: (parameter: string) => string, id: string): void {
    if (isUuid(id)) this.add(condition, id)
    else this.conditions.push('false')
  }

  value(value: string): string {
    this.values.push(value)
    return `$${this.values.length}`
  }

  text(): string {
    return this.conditions.length === 0 ? '' : `WHERE ${this.conditions.join(' AND ')}`
  }

  page(query: { readonly limit: number; readonly offset?: number }): string {
    const limit = `LIMIT ${this.value(String(query.limit))}::int`
    return query.offset === undefined || query.offset === 0
      ? limit
      : `${limit} OFFSET ${this.value(String(query.offset))}::int`
  }
}

export function instanceConditions(query: InstanceQuery): Conditions {
  const where = new Conditions()
  if (query.states !== null) where.add((n) => `i.state = ANY (${n}::text[])`, textArray(query.states))
  if (query.name !== null) where.add((n) => `i.name = ${n}`, query.name)
  if (query.dialect !== null) where.add((n) => `i.dialect = ${n}`, query.dialect)
  if (query.tenant !== null) where.add((n) => `i.tenant = ${n}`, query.tenant)
  if (query.before !== null) where.addId((n) => `i.id < ${n}::uuid`, query.before)
  if (query.rootsOnly) where.conditions.push('i.parent_id IS NULL')
  const { startKey = null, retryOf = null, createdAfter = null, createdBefore = null } = query
  if (startKey !== null) where.add((n) => `i.start_key = ${n}`, startKey)
  if (retryOf !== null) where.addId((n) => `i.retry_of = ${n}::uuid`, retryOf)
  if (createdAfter !== null) where.add((n) => `i.created_at >= ${moment(n)}`, String(createdAfter))
  if (createdBefore !== null) where.add((n) => `i.created_at < ${moment(n)}`, String(createdBefore))
  if (query.kind !== undefined && query.kind !== null) {
    const nets = (n: string): string => `SELECT n.hash FROM workflow.workflow_net n WHERE n.net ->> 'kind' = ${n}`
    where.add((n) => `i.net_hash IN (${nets(n)})`, query.kind)
  }
  return where
}

/** Milliseconds since 1970, exactly: a division would round. */
function moment(parameter: string): string {
  return `'epoch'::timestamptz + ${parameter}::bigint * interval '1 millisecond'`
}

export function gateConditions(query: GateQuery): Conditions {
  const where = new Conditions()
  const { states, instanceId, tenant, before } = query
  // Written out: only then does the index of open gates fit.
  if (states?.join() === 'open') where.conditions.push("g.state = 'open'")
  else if (states !== null) where.add((n) => `g.state = ANY (${n}::text[])`, textArray(states))
  if (instanceId !== null) where.addId((n) => `g.instance_id = ${n}::uuid`, instanceId)
  const tenants = 'SELECT i.tenant FROM workflow.workflow_instance i WHERE i.id = g.instance_id'
  if (tenant !== null) where.add((n) => `(${tenants}) = ${n}`, tenant)
  if (before !== null) where.addId((n) => `g.id < ${n}::uuid`, before)
  return where
}

const LATER = `r.run_at > (SELECT workflow.clock()) AND r.run_at < to_timestamp(${HELD_AT / 1000})`

/** The parts of `pending`, which all the conditions below assume. */
const WAITS: Readonly<Record<RunWait, string>> = {
  available: 'r.run_at <= (SELECT workflow.clock())',
  scheduled: `${LATER} AND r.attempt = 0`,
  retryable: `${LATER} AND r.attempt > 0`,
  held: `r.run_at >= to_timestamp(${HELD_AT / 1000}) AND r.run_at < to_timestamp(${PARKED_AT / 1000})`,
  paused: `r.run_at >= to_timestamp(${PARKED_AT / 1000})`,
}

export function runConditions(query: RunQuery): Conditions {
  const where = new Conditions()
  where.conditions.push('r.deleted_at IS NULL')
  const { status, wait = null } = query
  if (status !== null && wait === null) where.add((n) => `r.status = ANY (${n}::text[])`, textArray(status))
  if (wait !== null) {
    const parts = wait.map((part) => `(${WAITS[part]})`).join(' OR ') || 'false'
    const waiting = `r.status = 'pending' AND (${parts})`
    if (status === null || status.length === 0) where.conditions.push(waiting)
    else where.add((n) => `(r.status = ANY (${n}::text[]) OR (${waiting}))`, textArray(status))
  }
  if (query.queue !== null) where.add((n) => `r.queue = ${n}`, query.queue)
  if (query.type !== null) where.add((n) => `r.type = ${n}`, query.type)
  if (query.tenant !== null) where.add((n) => `r.tenant = ${n}`, query.tenant)
  const { createdFrom = null, createdBefore = null } = query
  if (createdFrom !== null) where.add((n) => `r.created_at >= to_timestamp(${n}::float8 / 1000)`, String(createdFrom))
  if (createdBefore !== null)
    where.add((n) => `r.created_at < to_timestamp(${n}::float8 / 1000)`, String(createdBefore))
  if (query.instanceId !== undefined && query.instanceId !== null) {
    where.addId((n) => `r.instance_id = ${n}::uuid`, query.instanceId)
  }
  if (query.rootId !== undefined && query.rootId !== null) {
    const tree = (n: string): string =>
      `SELECT i.id FROM workflow.workflow_instance i WHERE i.root_id = ${n}::uuid AND i.parent_id IS NOT NULL`
    where.addId((n) => `(r.instance_id = ${n}::uuid OR r.instance_id IN (${tree(n)}))`, query.rootId)
  }
  if (query.before !== null) where.addId((n) => `r.id < ${n}::uuid`, query.before)
  if (query.deadLetter !== null) where.conditions.push(query.deadLetter ? 'r.dead_letter' : 'NOT r.dead_letter')
  return where
}
