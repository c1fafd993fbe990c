/**
 * simple-workflow's Go and Python clients as the database sees them: their statements with parameters, conditions and
 * row counts, in the order in which the libraries send them. After every change each client logs its own event in a
 * separate statement and ignores the result.
 */
import pg from 'pg'
import { newId } from '../../../src/kernel/ids.ts'
import { interpolated, NaiveTime, type Value } from './literal.ts'

export interface Claimed {
  readonly id: string
  readonly type: string
  readonly payload: unknown
  readonly attempt: number
  readonly max_attempts: number
}

export interface Submission {
  readonly payload?: unknown
  readonly key?: string | null
  readonly priority?: number
  readonly runAt?: number
  readonly maxAttempts?: number
}

export interface InboxClient {
  readonly name: 'Go' | 'Python'
  /** '' if the key was used. */
  submit(type: string, given?: Submission): Promise<string>
  claim(worker: string, prefixes: readonly string[], leaseSeconds?: number): Promise<Claimed | null>
  started(id: string, worker: string): Promise<void>
  /** Whether the lease was still valid; Python does not check. */
  heartbeat(id: string, seconds: number): Promise<boolean>
  cancel(id: string): Promise<boolean>
  isCancelled(id: string): Promise<boolean>
  complete(id: string, result: unknown): Promise<void>
  /** The status it intended to write. */
  fail(run: Claimed, error: string): Promise<'pending' | 'failed'>
  /** Ignores errors, as simple-workflow does; returns the number of rows written for tests to check. */
  event(id: string, word: string, data: unknown): Promise<number>
  depth(prefix: string): Promise<number>
  schedule(type: string, cron: string, timezone: string, nextRunAt: number): Promise<string>
  tick(next: number): Promise<readonly string[]>
  close(): Promise<void>
}

type Run = (text: string, values: readonly Value[]) => Promise<pg.QueryResult>

/** lib/pq: numbered parameters over persistent connections, search_path and zone from the connection. */
export async function goClient(url: string): Promise<InboxClient> {
  const pool = new pg.Pool({ connectionString: url, max: 2, options: '-c search_path=workflow' })
  pool.on('error', () => {})
  const run: Run = (text, values) => {
    let number = 0
    return pool.query(
      text.replaceAll('%s', () => `$${++number}`),
      values as unknown[],
    )
  }
  const time = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ')
  return {
    ...client('Go', run, time),
    async tick(next) {
      const connection = await pool.connect()
      try {
        let number = 0
        return await tick((text, values) => {
          number = 0
          return connection.query(
            text.replaceAll('%s', () => `$${++number}`),
            values as unknown[],
          )
        }, time(next))
      } finally {
        connection.release()
      }
    },
    close: () => pool.end(),
  }
}

/** psycopg2: values inside the text, a connection for every operation, only the schema in its search_path. */
export function pythonClient(url: string): InboxClient {
  const connected = async <T>(use: (run: Run) => Promise<T>): Promise<T> => {
    const connection = new pg.Client({ connectionString: url })
    await connection.connect()
    try {
      await connection.query('SET search_path TO workflow')
      return await use((text, values) => connection.query(interpolated(text, values)))
    } finally {
      await connection.end()
    }
  }
  const run: Run = (text, values) => connected((inner) => inner(text, values))
  return {
    ...client('Python', run, (at) => new NaiveTime(at)),
    tick: (next) => connected((inner) => tick(inner, new NaiveTime(next))),
    close: async () => {},
  }
}

const PRODUCE = `INSERT INTO workflow_run (id, type, payload, priority, run_at, idempotency_key, max_attempts)
  VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (idempotency_key) DO NOTHING RETURNING id`
const LEASE = { Go: '%s::interval', Python: "(%s || ' seconds')::interval" }
/** Only Go takes back expired leases. */
const CLAIMABLE = {
  Go: `((status = 'pending' AND run_at <= NOW()) OR (status = 'leased' AND lease_until < NOW()))`,
  Python: `status = 'pending' AND run_at <= NOW()`,
}
const CANCEL = `UPDATE workflow_run SET status = 'cancelled', updated_at = NOW() WHERE id = %s AND status IN ('pending', 'leased')`
const COMPLETE = `UPDATE workflow_run SET status = 'succeeded', result = %s, updated_at = NOW() WHERE id = %s`
const FAIL = `UPDATE workflow_run SET status = %s, attempt = %s, run_at = %s, last_error = %s, updated_at = NOW() WHERE id = %s`
const EVENT = 'INSERT INTO workflow_event (workflow_id, event_type, data) VALUES (%s, %s, %s)'
const DEPTH = `SELECT count(*)::int AS depth FROM workflow_run WHERE type LIKE %s AND status = 'pending' AND deleted_at IS NULL`
const SCHEDULE = `INSERT INTO workflow_schedule (id, type, payload, schedule, timezone, next_run_at, priority, max_attempts)
  VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id`
const DUE = `SELECT id, type, payload, schedule, timezone, next_run_at, priority, max_attempts FROM workflow_schedule
  WHERE next_run_at <= NOW() AND enabled = true AND deleted_at IS NULL FOR UPDATE SKIP LOCKED LIMIT 10`
const FIRE = `INSERT INTO workflow_run (id, type, payload, priority, run_at, idempotency_key, max_attempts)
  VALUES (%s, %s, %s, %s, NOW(), %s, %s) ON CONFLICT (idempotency_key) DO NOTHING RETURNING id`
const ADVANCE = `UPDATE workflow_schedule SET next_run_at = %s, last_run_at = NOW(), updated_at = NOW() WHERE id = %s`

function client(name: InboxClient['name'], run: Run, time: (at: number) => Value): Omit<InboxClient, 'tick' | 'close'> {
  const lease = (seconds: number): Value => (name === 'Go' ? `${seconds} seconds` : seconds)
  const event: InboxClient['event'] = async (id, word, data) => {
    const written = await run(EVENT, [id, word, data === null ? null : JSON.stringify(data)]).catch(() => null)
    return written?.rowCount ?? 0
  }
  return {
    name,
    event,
    async submit(type, { payload = {}, key = null, priority = 100, runAt = Date.now(), maxAttempts = 3 } = {}) {
      const text = JSON.stringify(payload)
      const made = await run(PRODUCE, [newId(), type, text, priority, time(runAt), key, maxAttempts])
      const id: string = made.rows[0]?.id ?? ''
      if (id !== '') await event(id, 'created', null)
      return id
    },
    async claim(worker, prefixes, leaseSeconds = 30) {
      const likes = prefixes.map(() => 'type LIKE %s').join(' OR ')
      const claimed = await run(
        `UPDATE workflow_run SET status = 'leased', leased_by = %s, lease_until = NOW() + ${LEASE[name]}, updated_at = NOW()
         WHERE id = (SELECT id FROM workflow_run WHERE ${CLAIMABLE[name]} AND deleted_at IS NULL AND (${likes})
           ORDER BY priority ASC, created_at ASC FOR UPDATE SKIP LOCKED LIMIT 1)
         RETURNING id, type, payload, attempt, max_attempts`,
        [worker, lease(leaseSeconds), ...prefixes],
      )
      const found: Claimed | undefined = claimed.rows[0]
      if (found === undefined) return null
      await event(found.id, 'leased', { worker_id: worker, attempt: found.attempt })
      return found
    },
    async started(id, worker) {
      await event(id, 'started', { worker_id: worker })
    },
    async heartbeat(id, seconds) {
      const text = `UPDATE workflow_run SET lease_until = NOW() + ${LEASE[name]}, updated_at = NOW() WHERE id = %s AND status = 'leased'`
      const beaten = await run(text, [lease(seconds), id])
      if (name === 'Go' && beaten.rowCount === 0) return false
      await event(id, 'heartbeat', { extended_by_seconds: seconds })
      return beaten.rowCount === 1
    },
    async cancel(id) {
      const cancelled = await run(CANCEL, [id])
      if (cancelled.rowCount === 0) return false
      await event(id, 'cancelled', null)
      return true
    },
    async isCancelled(id) {
      return (await run('SELECT status FROM workflow_run WHERE id = %s', [id])).rows[0]?.status === 'cancelled'
    },
    async complete(id, result) {
      await run(COMPLETE, [JSON.stringify(result), id])
      await event(id, 'succeeded', null)
    },
    async fail(claimed, error) {
      const attempt = claimed.attempt + 1
      const status = attempt >= claimed.max_attempts ? 'failed' : 'pending'
      const backoff = attempt ** 2 * 60_000
      const runAt = Date.now() + backoff + backoff * 0.1 * Math.random()
      // Go sends this one as a timestamp with its zone
      const at = name === 'Go' ? new Date(runAt).toISOString() : time(runAt)
      await run(FAIL, [status, attempt, at, error, claimed.id])
      await event(claimed.id, status === 'failed' ? 'failed' : 'retried', { attempt, error })
      return status
    },
    async depth(prefix) {
      return (await run(DEPTH, [prefix])).rows[0].depth
    },
    async schedule(type, cron, timezone, nextRunAt) {
      const made = await run(SCHEDULE, [newId(), type, '{}', cron, timezone, time(nextRunAt), 100, 3])
      return made.rows[0].id
    },
  }
}

/** One transaction: due schedules are locked, become runs, and get their next time. Returns the ids of the new runs. */
async function tick(run: Run, next: Value): Promise<readonly string[]> {
  const made: string[] = []
  await run('BEGIN', [])
  for (const due of (await run(DUE, [])).rows) {
    const key = `schedule:${due.id}:${Math.floor(due.next_run_at.getTime() / 1000)}`
    const values = [newId(), due.type, JSON.stringify(due.payload), due.priority, key, due.max_attempts]
    const fired = await run(FIRE, values)
    if (fired.rows[0] !== undefined) made.push(fired.rows[0].id)
    await run(ADVANCE, [next, due.id])
  }
  await run('COMMIT', [])
  return made
}
