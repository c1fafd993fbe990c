/** Applies the numbered files of migrations/, each once, all in one transaction under one lock. */

import { readdir, readFile } from 'node:fs/promises'
import type pg from 'pg'
import { codeFile } from '../../files.ts'
import { sha256 } from '../../kernel/hash.ts'
import { StoreUnusableError } from '../../kernel/store-errors.ts'

interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

const FOLDER = codeFile('store/postgres/migrations/')

/** Any number nobody else uses; the same in every version of Petrel. */
const LOCK = 7_305_803_160_811

async function readMigrations(): Promise<Migration[]> {
  const files = (await readdir(FOLDER)).filter((file) => /^\d{4}_\w+\.sql$/.test(file)).sort()
  return Promise.all(
    files.map(async (file) => {
      const sql = await readFile(new URL(file, FOLDER), 'utf8')
      const checksum = sha256(sql)
      return { version: Number(file.slice(0, 4)), name: file.slice(5, -4), sql, checksum }
    }),
  )
}

export async function migrate(
  client: pg.Client,
): Promise<{ readonly applied: readonly string[]; readonly version: number }> {
  const known = await readMigrations()
  await client.query('BEGIN')
  try {
    // held to the end of the transaction: a second process waits here and then finds nothing left to do
    await client.query('SET LOCAL lock_timeout = 0')
    await client.query('SET LOCAL statement_timeout = 0')
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    const applied = await applyMissing(client, known)
    await client.query('COMMIT')
    return { applied, version: known.at(-1)?.version ?? 0 }
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

async function applyMissing(client: pg.Client, known: readonly Migration[]): Promise<string[]> {
  // asked first: a role without the right to create schemas may still use one made for it
  const schema = await client.query("SELECT FROM pg_namespace WHERE nspname = 'workflow'")
  if (schema.rowCount === 0) await client.query('CREATE SCHEMA workflow')
  const ledger = await client.query("SELECT to_regclass('workflow.workflow_migration') AS found")
  if (ledger.rows[0].found === null) {
    await client.query(`CREATE TABLE workflow.workflow_migration (
      version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
  }
  const done = await client.query<{ version: number; name: string; checksum: string }>(
    'SELECT version, name, checksum FROM workflow.workflow_migration ORDER BY version',
  )
  const byVersion = new Map(known.map((migration) => [migration.version, migration]))
  for (const row of done.rows) check(row, byVersion.get(row.version))
  const doneVersions = new Set(done.rows.map((row) => row.version))
  const missing = known.filter((migration) => !doneVersions.has(migration.version))
  for (const migration of missing) {
    await client.query(migration.sql)
    await client.query('INSERT INTO workflow.workflow_migration (version, name, checksum) VALUES ($1, $2, $3)', [
      migration.version,
      migration.name,
      migration.checksum,
    ])
  }
  return missing.map((migration) => `${String(migration.version).padStart(4, '0')}_${migration.name}`)
}

let newestKnown: Promise<number> | null = null

/**
 * Refuses a schema that a newer version of Petrel has migrated. Asked of every new connection and from time to time, since
 * another process may migrate while this one runs: what it writes from then on may break rules that it does not know.
 */
export async function refuseNewer(client: pg.Client): Promise<void> {
  newestKnown ??= readMigrations().then((known) => known.at(-1)?.version ?? 0)
  const newest = await newestKnown
  const sql = 'SELECT version, name FROM workflow.workflow_migration WHERE version > $1 ORDER BY version LIMIT 1'
  // No such table: the database was never migrated. No right to read it: it was made for this role by someone else.
  const found = await client
    .query<{ version: number; name: string }>(sql, [newest])
    .catch((error: pg.DatabaseError) => {
      if (error.code === '42P01' || error.code === '3F000' || error.code === '42501') return { rows: [] }
      throw error
    })
  if (found.rows[0] !== undefined) throw newer(found.rows[0])
}

function newer(row: { readonly version: number; readonly name: string }): StoreUnusableError {
  return new StoreUnusableError(
    'schema_newer',
    `the database has migration ${row.version} (${row.name}), which this version of Petrel does not know; ` +
      'upgrade Petrel, or connect it to another database',
  )
}

function check(
  row: { readonly version: number; readonly name: string; readonly checksum: string },
  migration: Migration | undefined,
): void {
  if (migration === undefined) throw newer(row)
  if (migration.checksum !== row.checksum) {
    throw new StoreUnusableError(
      'schema_changed',
      `migration ${row.version} (${row.name}) was applied with other contents than this version of Petrel has; ` +
        'install the version that made the database, or restore the file',
    )
  }
}
