/** Clients independent of Petrel: they work by plain SQL on the tables, on both stores. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Json } from '../../src/net/net.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import type { Place } from '../engine/drive.ts'
import { freshDatabase, postgresUrl } from '../services.ts'

type Row = { readonly [column: string]: unknown }

export interface Answer {
  readonly rows: readonly Row[]
  /** Rows written. */
  readonly count: number
}

export interface Claimed {
  readonly id: string
  readonly type: string
  readonly payload: Json
  readonly attempt: number
  readonly maxAttempts: number
}

/** A database on disk that other processes can open as well. */
export const SHARED: readonly Place[] = [
  {
    name: 'sqlite',
    open: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'petrel-inbox-'))
      const drop = async (): Promise<void> => rmSync(folder, { recursive: true, force: true })
      return { url: `sqlite:${join(folder, 'petrel.db')}`, drop }
    },
  },
  ...(postgresUrl() === null ? [] : [{ name: 'postgres', open: freshDatabase }]),
]

/** One connection. Its statements are those of the inbox specification, on the store's clock. */
export class Foreign {
  readonly #send: (text: string) => Promise<Answer>
  readonly #now: string
  /** A time this long after now, as SQL. */
  readonly later: (seconds: number) => string
  readonly #lock: string
  readonly close: () => Promise<void>

  private constructor(p: {
    readonly send: (text: string) => Promise<Answer>
    readonly now: string
    readonly later: (seconds: number) => string
    readonly lock: string
    readonly close: () => Promise<void>
  }) {
    this.#send = p.send
    this.#now = p.now
    this.later = p.later
    this.#lock = p.lock
    this.close = p.close
  }

  static async connect(url: string): Promise<Foreign> {
    if (!url.startsWith('sqlite:')) return Foreign.#connectPostgres(url)
    const database = await openDatabase(url.slice('sqlite:'.length))
    // Waits here, not inside SQLite: the process that holds the lock may be one that this one is going to kill.
    database.exec('PRAGMA busy_timeout = 0')
    const now = '(SELECT now FROM workflow_clock)'
    const send = (text: string): Promise<Answer> => patiently(() => execute(text))
    const execute = (text: string): Answer => {
      const statement = database.prepare(text)
      if (!/^SELECT|RETURNING/.test(text)) return { rows: [], count: Number(statement.run().changes) }
      const rows = statement.all() as unknown as Row[]
      return { rows, count: rows.length }
    }
    const later = (seconds: number): string => `${now} + ${Math.round(seconds * 1000)}`
    return new Foreign({ send, now, later, lock: '', close: async () => database.close() })
  }

  static async #connectPostgres(url: string): Promise<Foreign> {
    const client = new pg.Client({ connectionString: url, options: '-c search_path=workflow' })
    client.on('error', () => {})
    await client.connect()
    const send = async (text: string): Promise<Answer> => {
      const { rows, rowCount } = await client.query(text)
      return { rows, count: rowCount ?? 0 }
    }
    const now = 'workflow.clock()'
    const later = (seconds: number): string => `${now} + interval '${seconds} seconds'`
    return new Foreign({ send, now, later, lock: 'FOR UPDATE SKIP LOCKED', close: () => client.end() })
  }

  /** Any statement; `NOW` stands for the store's clock. */
  sql(text: string): Promise<Answer> {
    return this.#send(text.replaceAll('NOW', this.#now))
  }

  async insert(type: string, payload: Json = {}, key: string | null = null): Promise<string | null> {
    const values = `${quoted(type)}, ${quoted(JSON.stringify(payload))}, ${key === null ? 'NULL' : quoted(key)}`
    const { rows } = await this.sql(
      `INSERT INTO workflow_run (type, payload, idempotency_key) VALUES (${values})
       ON CONFLICT (idempotency_key) DO NOTHING RETURNING id`,
    )
    return (rows[0]?.['id'] as string | undefined) ?? null
  }

  /** `types` is a LIKE pattern. */
  async claim(worker = 'go-1', types = '%', seconds = 30): Promise<Claimed | null> {
    const { rows } = await this.sql(
      `UPDATE workflow_run SET status = 'leased', leased_by = ${quoted(worker)}, lease_until = ${this.later(seconds)}, updated_at = NOW
       WHERE id = (SELECT id FROM workflow_run WHERE status = 'pending' AND run_at <= NOW AND deleted_at IS NULL
           AND type LIKE ${quoted(types)} ORDER BY priority, created_at, id LIMIT 1 ${this.#lock})
       RETURNING id, type, payload, attempt, max_attempts`,
    )
    const [row] = rows
    if (row === undefined) return null
    const payload = typeof row['payload'] === 'string' ? JSON.parse(row['payload']) : row['payload']
    const { id, type, attempt, max_attempts: maxAttempts } = row as { [name: string]: never }
    return { id, type, payload, attempt, maxAttempts } as unknown as Claimed
  }

  async claimed(worker?: string, types?: string, seconds?: number): Promise<Claimed> {
    const run = await this.claim(worker, types, seconds)
    if (run === null) throw new Error('nothing to claim')
    return run
  }

  heartbeat(id: string, seconds = 30): Promise<Answer> {
    return this.sql(
      `UPDATE workflow_run SET lease_until = ${this.later(seconds)}, updated_at = NOW WHERE id = '${id}' AND status = 'leased'`,
    )
  }

  succeed(id: string, result: Json = null): Promise<Answer> {
    const text = quoted(JSON.stringify(result))
    return this.sql(
      `UPDATE workflow_run SET status = 'succeeded', result = ${text}, updated_at = NOW WHERE id = '${id}'`,
    )
  }

  /** Like simple-workflow's workers: `failed` at the last attempt, otherwise again after n² minutes. */
  fail({ id, attempt, maxAttempts }: Omit<Claimed, 'type' | 'payload'>, error = 'no luck'): Promise<Answer> {
    const n = attempt + 1
    return this.sql(
      `UPDATE workflow_run SET status = '${n >= maxAttempts ? 'failed' : 'pending'}', attempt = ${n},
         run_at = ${this.later(n * n * 60)}, last_error = ${quoted(error)}, updated_at = NOW WHERE id = '${id}'`,
    )
  }

  cancel(id: string): Promise<Answer> {
    return this.sql(
      `UPDATE workflow_run SET status = 'cancelled', updated_at = NOW WHERE id = '${id}' AND status IN ('pending', 'leased')`,
    )
  }

  delete(id: string): Promise<Answer> {
    return this.sql(`UPDATE workflow_run SET deleted_at = NOW, updated_at = NOW WHERE id = '${id}'`)
  }

  async status(id: string): Promise<string> {
    const { rows } = await this.sql(`SELECT status FROM workflow_run WHERE id = '${id}'`)
    return rows[0]?.['status'] as string
  }

  /** Claims and completes until nothing is left; returns the types in the order of the claims. */
  async work(worker = 'go-1', types = '%', answer: (run: Claimed) => Json = () => null): Promise<string[]> {
    const done: string[] = []
    for (;;) {
      const run = await this.claim(worker, types)
      if (run === null) return done
      done.push(run.type)
      await this.succeed(run.id, answer(run))
    }
  }
}

async function patiently<T>(write: () => T): Promise<T> {
  const giveUpAt = performance.now() + 10_000
  for (;;) {
    try {
      return write()
    } catch (error) {
      if (!/database is locked/.test(String(error)) || performance.now() > giveUpAt) throw error
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
