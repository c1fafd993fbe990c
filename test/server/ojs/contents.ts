/**
 * Every row of a store, read by plain SQL independently of the engine, to check that a refused request changed nothing.
 */
import pg from 'pg'
import { openDatabase } from '../../../src/store/sqlite/driver.ts'

/** Written by the engine's own timers, independently of clients. */
const CLOCKWORK = /_(setting|migration|repeatable|registry|total|key)$|_default$|_p\d/

export type Contents = Readonly<Record<string, readonly string[]>>

export function contents(url: string): Promise<Contents> {
  return url.startsWith('sqlite:') ? inSqlite(url.slice('sqlite:'.length)) : inPostgres(url)
}

async function inPostgres(url: string): Promise<Contents> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(
      `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'workflow'::regnamespace
         AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
    )
    const found: Record<string, readonly string[]> = {}
    for (const { name } of rows) {
      if (CLOCKWORK.test(name)) continue
      const all = await client.query(`SELECT t::text AS row FROM workflow.${name} t ORDER BY 1`)
      found[name] = all.rows.map(({ row }) => row)
    }
    return found
  } finally {
    await client.end()
  }
}

async function inSqlite(path: string): Promise<Contents> {
  const database = await openDatabase(path)
  try {
    database.exec('PRAGMA busy_timeout = 5000')
    const tables = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1`).all()
    const found: Record<string, readonly string[]> = {}
    for (const { name } of tables as unknown as { readonly name: string }[]) {
      if (!name.startsWith('workflow_') || CLOCKWORK.test(name)) continue
      const rows = database.prepare(`SELECT * FROM ${name}`).all()
      found[name] = rows
        .map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value)))
        .sort()
    }
    return found
  } finally {
    database.close()
  }
}

/** The contents once nothing changes by itself any more. */
export async function settledContents(url: string): Promise<Contents> {
  for (let before = await contents(url); ; ) {
    await new Promise((resolve) => setTimeout(resolve, 150))
    const after = await contents(url)
    if (JSON.stringify(after) === JSON.stringify(before)) return after
    before = after
  }
}
