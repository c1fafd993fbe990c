/**
 * The only way to change state.
 *
 *   flight 1   BEGIN, lock roots, load the need, clock and version of the registry
 *   decide     as often as it needs more, one flight each
 *   flight 2   all writes, COMMIT                             (ROLLBACK when there is nothing to write: no fsync)
 *
 * If everything it needs is remembered (recent.ts), it is one flight: BEGIN, expect clock, registry and rows to be as
 * assumed, all writes, COMMIT. Anything else (rows changed meanwhile, more is needed, nothing to write) takes the way
 * above. Both ways call the same `decide`.
 *
 * No statement waits for a row that another transaction holds for long (foreign-locks.ts): the transaction is refused,
 * or, if it may wait, retried later. While it waits it has no connection.
 *
 * A flight is one round trip. Until COMMIT was sent any connection error, and any deadlock, leaves nothing behind and
 * the whole is retried. After that a lost connection leaves the outcome open (`commit_unknown`) unless the server
 * reported that a statement before COMMIT had failed.
 */

import type pg from 'pg'
import { sleep } from '../../kernel/sleep.ts'
import { type LockedRow, StoreError, StoreLockedError, StoreUnavailableError } from '../../kernel/store-errors.ts'
import type { Delta, Need } from '../../model/transaction.ts'
import type { Transaction } from '../store.ts'
import { nowFrom, type StoreClock } from './clock.ts'
import {
  causeOf,
  isCollision,
  isConnectionLoss,
  isServerError,
  LOCKED,
  ROWS_CHANGED,
  toStoreError,
} from './connection/failure.ts'
import { FlightError, fly } from './connection/flight.ts'
import type { Lane, Lanes } from './connection/lanes.ts'
import { type Call, statement } from './connection/statement.ts'
import { type ForeignLocks, Touched } from './foreign-locks.ts'
import type { KnownListings } from './listings.ts'
import { Loading } from './load/loading.ts'
import { CLOCK } from './load/plain.ts'
import type { Recent } from './recent.ts'
import { type Versions, writeCalls } from './write/apply.ts'

export type Probe = (point: 'before-commit' | 'after-commit') => void

export interface TransactParams {
  readonly lanes: Lanes
  /** For transactions that wait for locked rows: they never take a connection from the others. */
  readonly patient: Lanes
  readonly locks: ForeignLocks
  /** How long a transaction waits for locked rows. */
  readonly lockPatienceMs: number
  readonly clock: StoreClock
  readonly recent: Recent
  readonly listings: KnownListings
  readonly probe: Probe | null
  /** Sent after each BEGIN: settings that a pooler does not accept at the start of a connection. */
  readonly prologue: readonly Call[]
}

const BEGIN: Call = { statement: statement('BEGIN'), values: [] }
const COMMIT: Call = { statement: statement('COMMIT'), values: [] }
const ROLLBACK: Call = { statement: statement('ROLLBACK'), values: [] }

/** The version of every row this transaction writes. */
const VERSION = statement('SELECT pg_current_xact_id()::xid')

const DISCARD_PLANS: Call = { statement: statement('DISCARD PLANS'), values: [] }

/** A plan assumes the sizes of the tables at its time; making all plans again takes a few milliseconds. */
const PLANS_LAST_MS = 10_000

const COLLISIONS = 10
/** A lock whose holder is not found was probably one of ours. */
const LOCK_TRIES = 2
const LOCKED_PAUSE_MS = 50
const PATIENCE_MS = 5000

/** The error left by a COMMIT that may or may not have happened. */
class CommitUnknown extends Error {}

export async function transact<T>(params: TransactParams, transaction: Transaction<T>): Promise<T> {
  const begunAt = performance.now()
  const lanes = transaction.wait ? params.patient : params.lanes
  let locked = 0
  for (let tries = 1; ; tries++) {
    try {
      return await lanes.use((lane) => attempt(params, lane, transaction))
    } catch (error) {
      if (error instanceof CommitUnknown) {
        throw new StoreUnavailableError('commit_unknown', 'the connection was lost while committing', {
          cause: error.cause,
        })
      }
      const waited = performance.now() - begunAt
      const unexplained = error instanceof FlightError && causeOf(error).code === LOCKED
      if (unexplained || error instanceof StoreLockedError) {
        const again = transaction.wait ? waited < params.lockPatienceMs : unexplained && ++locked < LOCK_TRIES
        if (!again) throw toStoreError(error)
        await pause(LOCKED_PAUSE_MS)
        continue
      }
      if (!(error instanceof FlightError)) throw error
      const cause = causeOf(error)
      const again = isCollision(cause) ? tries < COLLISIONS : isConnectionLoss(cause) && waited < PATIENCE_MS
      if (!again) throw toStoreError(error)
      if (isCollision(cause)) params.clock.forget()
      await pause(Math.min(5 * 2 ** tries, 200))
    }
  }
}

function pause(most: number): Promise<void> {
  return sleep(Math.random() * most)
}

async function attempt<T>(params: TransactParams, lane: Lane, transaction: Transaction<T>): Promise<T> {
  const remembered = await attemptFromMemory(params, lane, transaction)
  if ('result' in remembered) return remembered.result
  const { client } = lane
  const { locks } = params
  const loading = new Loading(locks)
  const touched = new Touched().roots(transaction.roots)
  let registry = ''
  const clockCall: Call = {
    statement: CLOCK,
    values: [],
    row: (fields) => {
      loading.now = params.clock.read(fields)
      registry = fields[2] ?? ''
    },
  }
  const calls = [
    ...loading.roots(transaction.roots, transaction.wait),
    ...loading.calls(transaction.need),
    ...(remembered.need === null ? [] : loading.calls(remembered.need)),
  ]
  touched.loaded(transaction.need)
  if (remembered.need !== null) touched.loaded(remembered.need)
  try {
    // The clock comes last: the registry counts as of when the locks are held, not when the wait for them began.
    await fly(client, [...openingOf(params, lane), ...calls, clockCall])
    loading.listings = await params.listings.at(registry, (asked) => fly(client, asked))
    for (;;) {
      const decided = transaction.decide(loading)
      if ('delta' in decided) {
        params.recent.note(loading)
        touched.written(decided.delta)
        refuseLocked(locks, decided.delta, loading)
        await finish(params, lane, decided.delta, loading)
        return decided.result
      }
      const more = loading.calls(decided.need)
      touched.loaded(decided.need)
      await fly(client, more)
    }
  } catch (error) {
    await giveUp(lane)
    throw await explained(params, lane, touched, error)
  }
}

/** Rows that are written without having been locked first: for example an instance that is not a root. */
function refuseLocked(locks: ForeignLocks, delta: Delta, loading: Loading): void {
  if (!locks.any) return
  const ours = { run: loading.heldRuns, instance: loading.locked, limit: loading.limits, unique: loading.uniques }
  const rows = locks
    .among(new Touched().written(delta))
    .filter(({ table, key }) => !(ours[table as keyof typeof ours] ?? loading.schedules).has(key))
  if (rows.length > 0) throw new StoreLockedError(rows)
}

/** A lock that did not become free in time: finds its row, if it is held by a transaction that is not ours. */
async function explained(params: TransactParams, lane: Lane, touched: Touched, error: unknown): Promise<unknown> {
  if (!(error instanceof FlightError) || causeOf(error).code !== LOCKED) return error
  const rows = await params.locks.look(lane, touched).catch(() => [])
  return rows.length === 0 ? error : new StoreLockedError(rows, { cause: error.cause })
}

/** The result, or what it needs beyond the transaction's own need (null: unknown). */
async function attemptFromMemory<T>(
  params: TransactParams,
  lane: Lane,
  transaction: Transaction<T>,
): Promise<{ readonly result: T } | { readonly need: Need | null }> {
  const estimate = params.clock.estimate()
  const recalled = estimate === null || meetsLock(params, transaction) ? null : params.recent.recall(transaction)
  if (estimate === null || recalled === null) return { need: null }
  const { loading, versions } = recalled
  loading.now = estimate.now
  const listings = params.listings.latest
  loading.listings = listings
  let decided: ReturnType<typeof transaction.decide>
  try {
    decided = transaction.decide(loading)
  } catch (error) {
    if (error instanceof StoreError) throw error
    // Refused, but perhaps only because of stale memory, which has not been compared yet.
    return { need: null }
  }
  if ('need' in decided) return decided
  if (!allKnown(decided.delta, versions)) return { need: null }
  const writes = writeCalls(decided.delta, loading, versions)
  if (writes.length === 0) return { need: null }
  let version = ''
  const guard = recalled.guard(estimate, listings, (xid) => {
    version = xid
  })
  const opening = [...openingOf(params, lane), guard]
  const { nextUrgency = [] } = transaction.need
  try {
    await commit(params, lane, [...opening, ...loading.calls({ nextUrgency }), ...writes])
  } catch (error) {
    await giveUp(lane)
    if (!(error instanceof FlightError)) throw error
    const { code } = causeOf(error)
    if (code !== ROWS_CHANGED && code !== LOCKED) throw error
    params.recent.forget(transaction)
    // The wait timed out: find the holder before waiting again.
    if (code === LOCKED && error.reached >= opening.length) {
      const touched = new Touched().roots(transaction.roots).loaded(transaction.need).written(decided.delta)
      await params.locks.look(lane, touched).catch(() => [])
    }
    return { need: null }
  }
  params.recent.keep(decided.delta, loading, version)
  return { result: decided.result }
}

/** Memory assumes that nothing is locked. */
function meetsLock({ locks }: TransactParams, { roots, need }: Transaction<unknown>): boolean {
  return locks.any && locks.among(new Touched().roots(roots).loaded(need)).length > 0
}

/** Rows that are updated without having been requested must be loaded first. */
function allKnown({ instances, runs }: Delta, versions: Versions): boolean {
  for (const { id } of instances?.update ?? []) if (!versions.instances.has(id)) return false
  for (const { id } of runs?.update ?? []) if (!versions.runs.has(id)) return false
  return true
}

function openingOf(params: TransactParams, lane: Lane): readonly Call[] {
  return [BEGIN, ...replanned(lane), ...params.prologue]
}

/** After an error before COMMIT: the server skipped the rest and the transaction is still open. */
async function giveUp(lane: Lane): Promise<void> {
  if (!lane.lost) await fly(lane.client, [ROLLBACK]).catch(() => endLane(lane))
}

function replanned(lane: Lane): readonly Call[] {
  const now = performance.now()
  if (now - lane.plannedAt < PLANS_LAST_MS) return []
  lane.plannedAt = now
  return [DISCARD_PLANS]
}

async function finish(params: TransactParams, lane: Lane, delta: Delta, loading: Loading): Promise<void> {
  const writes = writeCalls(delta, loading)
  if (writes.length === 0) {
    await fly(lane.client, [ROLLBACK])
    return
  }
  let version = ''
  const versionCall: Call = {
    statement: VERSION,
    values: [],
    row: (fields) => {
      version = fields[0] as string
    },
  }
  try {
    await commit(params, lane, [...writes, versionCall])
  } catch (error) {
    throw keysTaken(error, writes, delta) ?? error
  }
  params.recent.keep(delta, loading, version)
}

/**
 * An insert only waits for another uncommitted insert of the same key. That row cannot be seen, so it may be any of the
 * keys.
 */
function keysTaken(error: unknown, writes: readonly Call[], { runs }: Delta): StoreLockedError | null {
  if (!(error instanceof FlightError) || causeOf(error).code !== LOCKED) return null
  if (writes[error.reached]?.statement.text.startsWith('INSERT INTO workflow.workflow_run ') !== true) return null
  const rows: LockedRow[] = []
  for (const { idempotencyKey: key } of runs?.insert ?? []) {
    if (key !== null) rows.push({ table: 'idempotency_key', key, holder: null })
  }
  return rows.length === 0 ? null : new StoreLockedError(rows, { cause: error.cause })
}

async function commit(params: TransactParams, lane: Lane, writes: readonly Call[]): Promise<void> {
  params.probe?.('before-commit')
  let tags: readonly string[]
  try {
    tags = await fly(lane.client, [...writes, COMMIT])
  } catch (error) {
    if (!(error instanceof FlightError)) throw error
    if (mayHaveCommitted(error, writes.length)) throw new CommitUnknown(error.message, { cause: error.cause })
    throw error
  }
  // COMMIT of a transaction that was aborted unnoticed is answered with ROLLBACK
  if (tags.at(-1) !== 'COMMIT') throw new StoreError('not_committed', `COMMIT was answered with ${tags.at(-1)}`)
  params.probe?.('after-commit')
}

/** Answers come in order: an error the server reported before the last write was done came before COMMIT ran. */
function mayHaveCommitted(error: FlightError, writes: number): boolean {
  return isConnectionLoss(error.cause) && !(isServerError(error.cause) && error.reached < writes)
}

function endLane(lane: Lane): void {
  lane.lost = true
  lane.client.end().catch(() => {})
}

/** Runs one statement on a client of the caller; works with any pg client, pooled or pipelined. */
async function callOn(client: pg.ClientBase, call: Call): Promise<void> {
  const { name, text } = call.statement
  const types = { getTypeParser: () => (value: unknown) => value }
  const config = { name, text, values: call.values as unknown[], rowMode: 'array' as const, types }
  const answer = await client.query<(string | null)[]>(config)
  if (call.row !== undefined) for (const row of answer.rows) call.row(row)
}

/**
 * The same inside a transaction of the caller: no BEGIN, no COMMIT, no retry. An error leaves the caller's transaction
 * aborted, as any failed statement does.
 */
export async function transactOn<T>(client: pg.ClientBase, transaction: Transaction<T>): Promise<T> {
  const loading = new Loading(null)
  const clockCall: Call = {
    statement: CLOCK,
    values: [],
    row: (fields) => {
      loading.now = nowFrom(fields)
    },
  }
  const run = async (calls: readonly Call[]): Promise<void> => {
    try {
      for (const call of calls) await callOn(client, call)
    } catch (error) {
      throw toStoreError(error)
    }
  }
  const load = (need: Need): Promise<void> => run(loading.calls(need))
  await run([clockCall, ...loading.roots(transaction.roots, transaction.wait)])
  await load(transaction.need)
  for (;;) {
    const decided = transaction.decide(loading)
    if ('delta' in decided) {
      await run(writeCalls(decided.delta, loading))
      return decided.result
    }
    await load(decided.need)
  }
}
