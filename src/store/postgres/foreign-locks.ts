/**
 * Rows that a transaction elsewhere has held for longer than a transaction of ours takes: a client that opened one and
 * left it, an uncommitted statement of an operator. No lane waits for such a row. The first transaction that meets it
 * waits for LOCK_WAIT_MS (settings.ts), then queries here which transaction holds it. From then on the row is known as
 * locked: transactions that need it are refused without a wait, until a look finds it free.
 *
 * This is only advice: a row that is not known here may be locked, and one that is known may just have become free.
 */
import type { LockedRow } from '../../kernel/store-errors.ts'
import type { Delta, Need } from '../../model/transaction.ts'
import { textArray } from './connection/batch.ts'
import { fly } from './connection/flight.ts'
import type { Lane, Lanes } from './connection/lanes.ts'
import { LOCK_WAIT_MS } from './connection/settings.ts'
import { type Call, type Fields, type Statement, statement } from './connection/statement.ts'

const LOOK_EVERY_MS = 100

type Table = Exclude<LockedRow['table'], 'idempotency_key'>

/**
 * SKIP LOCKED reveals which rows are locked, and their xmax the transaction that locked them, unless several share the
 * lock. A young transaction is likely one of ours and about to end. The age of other roles' transactions may be hidden.
 */
function lookFor(table: string, key: string, type: string): Statement {
  const asked = `r.${key} = ANY ($1::text[]::${type}[])`
  return statement(
    `WITH free AS MATERIALIZED (SELECT r.${key} AS key FROM workflow.${table} r WHERE ${asked} FOR UPDATE SKIP LOCKED)
     SELECT h.key, h.pid, h.name, (extract(epoch FROM h.since) * 1000)::float8 FROM (
       SELECT r.${key} AS key, l.pid, coalesce(s.application_name, '') AS name, s.xact_start AS since
       FROM workflow.${table} r
       LEFT JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = r.xmax
       LEFT JOIN pg_stat_activity s ON s.pid = l.pid
       WHERE ${asked} AND r.${key} NOT IN (SELECT f.key FROM free f)) h
     WHERE h.since IS NULL OR h.since < clock_timestamp() - interval '${LOCK_WAIT_MS} ms'`,
  )
}

const LOOKS: Readonly<Record<Table, Statement>> = {
  instance: lookFor('workflow_instance', 'id', 'uuid'),
  run: lookFor('workflow_run', 'id', 'uuid'),
  limit: lookFor('workflow_limit', 'key', 'text'),
  unique: lookFor('workflow_unique', 'key', 'text'),
  schedule: lookFor('workflow_cron', 'name', 'text'),
}

const BEGIN: Call = { statement: statement('BEGIN'), values: [] }
const ROLLBACK: Call = { statement: statement('ROLLBACK'), values: [] }

/** The rows that a transaction locks or writes, by table. */
export class Touched {
  readonly keys: Readonly<Record<Table, Set<string>>> = {
    instance: new Set(),
    run: new Set(),
    limit: new Set(),
    unique: new Set(),
    schedule: new Set(),
  }

  roots(ids: readonly string[]): this {
    return this.#add('instance', ids)
  }

  /** The rows that are locked when they are loaded. */
  loaded({ runs, limits, heldLimits, uniques, schedules }: Need): this {
    this.#add('run', runs)
    this.#add('limit', limits)
    this.#add('limit', heldLimits)
    this.#add('unique', uniques)
    return this.#add('schedule', schedules)
  }

  written({ instances, runs, slots, limits, uniques, schedules }: Delta): this {
    this.#add(
      'instance',
      instances?.update?.map((row) => row.id),
    )
    this.#add(
      'instance',
      slots?.put?.map((row) => row.instanceId),
    )
    this.#add(
      'run',
      runs?.update?.map((row) => row.id),
    )
    this.#add('run', runs?.remove)
    this.#add(
      'limit',
      limits?.map((row) => row.key),
    )
    this.#add(
      'unique',
      uniques?.put?.map((row) => row.key),
    )
    this.#add('unique', uniques?.remove)
    this.#add(
      'schedule',
      schedules?.put?.map((row) => row.name),
    )
    return this.#add('schedule', schedules?.remove)
  }

  #add(table: Table, keys: readonly string[] | undefined): this {
    if (keys !== undefined) for (const key of keys) this.keys[table].add(key)
    return this
  }
}

export class ForeignLocks {
  readonly #lanes: Lanes
  readonly #known = new Map<string, LockedRow & { readonly table: Table }>()
  #timer: NodeJS.Timeout | null = null
  #closed = false

  /** `lanes`: for the looks at known locks. */
  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  /** false: no lock is known, the usual case. */
  get any(): boolean {
    return this.#known.size > 0
  }

  has(table: Table, key: string): boolean {
    return this.#known.has(`${table} ${key}`)
  }

  /** The rows of a transaction that are known to be locked. */
  among({ keys }: Touched): readonly LockedRow[] {
    const found: LockedRow[] = []
    for (const row of this.#known.values()) if (keys[row.table].has(row.key)) found.push(row)
    return found
  }

  /** Queries which of these rows are locked, outside of any transaction, and remembers them. */
  async look(lane: Lane, touched: Touched): Promise<readonly LockedRow[]> {
    const found = await looked(lane, touched.keys)
    for (const row of found) this.#known.set(`${row.table} ${row.key}`, row)
    this.#lookAgain()
    return found
  }

  close(): void {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #lookAgain(): void {
    if (this.#timer !== null || this.#closed || this.#known.size === 0) return
    this.#timer = setTimeout(() => void this.#renew(), LOOK_EVERY_MS).unref()
  }

  async #renew(): Promise<void> {
    const asked = new Touched()
    for (const { table, key } of this.#known.values()) asked.keys[table].add(key)
    let found: readonly (LockedRow & { readonly table: Table })[] = []
    try {
      found = await this.#lanes.use((lane) => looked(lane, asked.keys))
    } catch {
      // The store is unavailable: no locks are known, and a transaction that meets one looks again.
    }
    const still = new Set(found.map((row) => `${row.table} ${row.key}`))
    for (const [name, { table, key }] of this.#known) {
      if (asked.keys[table].has(key) && !still.has(name)) this.#known.delete(name)
    }
    this.#timer = null
    this.#lookAgain()
  }
}

async function looked(lane: Lane, keys: Touched['keys']): Promise<readonly (LockedRow & { readonly table: Table })[]> {
  const found: (LockedRow & { readonly table: Table })[] = []
  const calls: Call[] = []
  for (const [name, wanted] of Object.entries(keys)) {
    if (wanted.size === 0) continue
    const table = name as Table
    const row = ([key, pid, application, since]: Fields): void => {
      const at = since == null ? null : Number(since)
      const holder = pid == null ? null : { pid: Number(pid), application: application ?? '', since: at }
      found.push({ table, key: key as string, holder })
    }
    calls.push({ statement: LOOKS[table], values: [textArray([...wanted])], row })
  }
  if (calls.length === 0) return found
  try {
    await fly(lane.client, [BEGIN, ...calls, ROLLBACK])
  } catch (error) {
    if (!lane.lost) await fly(lane.client, [ROLLBACK]).catch(() => {})
    throw error
  }
  return found
}
