/**
 * Brings the schema up to date. Each migration is recorded with its checksum; a database that knows a migration we
 * do not, or knows another text under the same number, is refused and left as it is.
 */

import { readdir, readFile } from 'node:fs/promises'
import { codeFile } from '../../files.ts'
import { sha256 } from '../../kernel/hash.ts'
import { StoreUnusableError } from '../../kernel/store-errors.ts'
import type { Connection } from './connection.ts'
import { RECALL_TRIGGERS } from './triggers.ts'

interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

const FOLDER = codeFile('store/sqlite/migrations/')

export async function readMigrations(): Promise<readonly Migration[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (file) => {
      const sql = await readFile(new URL(file, FOLDER), 'utf8')
      const checksum = sha256(sql)
      return { version: Number(file.slice(0, 4)), name: file.slice(5, -4), sql, checksum }
    }),
  )
}

/** Throws if this program must not use the database. Reads only. Returns the versions applied. */
export function checkSchema(connection: Connection, migrations: readonly Migration[]): ReadonlySet<number> {
  const exists = connection.statement(
    `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'workflow_migration'`,
  )
  if (exists.get() === undefined) return new Set()
  const applied = connection.statement('SELECT version, name, checksum FROM workflow_migration ORDER BY version').all()
  for (const [version, name, checksum] of applied) {
    const known = migrations.find((migration) => migration.version === version)
    if (known === undefined) {
      throw new StoreUnusableError(
        'schema_newer',
        `the database has migration ${version} (${name}), which this version of Petrel does not know: it was migrated ` +
          'by a newer one. Use that version, or restore a backup taken before.',
      )
    }
    if (known.checksum !== checksum) {
      throw new StoreUnusableError(
        'schema_changed',
        `migration ${version} (${name}) was applied with another text than this version of Petrel has (recorded ` +
          `${String(checksum).slice(0, 12)}, ours ${known.checksum.slice(0, 12)}). Use the version that migrated this ` +
          'database; a released migration is never edited.',
      )
    }
  }
  return new Set(applied.map(([version]) => version as number))
}

/** For each time that others have committed: looks at the migrations only when the schema has changed. */
export function schemaGuard(connection: Connection, migrations: readonly Migration[]): () => void {
  let seen: unknown = null
  return () => {
    const version = connection.statement('PRAGMA schema_version').get()?.[0]
    if (version === seen) return
    checkSchema(connection, migrations)
    seen = version
  }
}

/** Under the write lock, so two processes that start together apply each migration once. */
export async function migrate(connection: Connection): Promise<{ applied: readonly string[]; version: number }> {
  const migrations = await readMigrations()
  const done = await connection.write(() => {
    const present = checkSchema(connection, migrations)
    const missing = migrations.filter((migration) => !present.has(migration.version))
    if (missing.length > 0) {
      connection.exec(RECALL_TRIGGERS)
      connection.exec(`CREATE TABLE IF NOT EXISTS workflow_migration (
        version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
      ) STRICT`)
    }
    for (const { version, name, sql, checksum } of missing) {
      connection.exec(sql)
      connection
        .statement('INSERT INTO workflow_migration (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)')
        .get(version, name, checksum, Date.now())
    }
    return { applied: missing.map((migration) => migration.name), version: migrations.at(-1)?.version ?? 0 }
  })
  // Also when another process has just done it: this one has read the new schema, with its triggers.
  await connection.forgetTriggers()
  return done
}
