/** Brings the schema up to date: all in one transaction under the write lock, so a failure leaves the file as it was. */
import {
  type AppliedMigration,
  type AppliedRepeatable,
  changedRepeatables,
  type DueMigrations,
  dueMigrations,
  type Migrated,
  type Migration,
  type Repeatable,
  readSchemaFiles,
  type SchemaFiles,
  titleOf,
} from '../schema-files.ts'
import type { Connection } from './connection.ts'
import { RECALL_TRIGGERS } from './triggers.ts'

interface Due {
  readonly migrations: DueMigrations
  readonly repeatables: readonly Repeatable[]
}

/** Throws if this program must not use the database. Only reads. Returns the files to apply. */
export function checkSchema(connection: Connection, files: SchemaFiles): Due {
  const tables = new Set(connection.statement(LEDGERS).all().flat())
  const migrations = dueMigrations(files, tables.has('workflow_migration') ? readMigrations(connection) : [])
  const changed = changedRepeatables(files, tables.has('workflow_repeatable') ? readRepeatables(connection) : [])
  return { migrations, repeatables: migrations.missing.length > 0 ? files.repeatables : changed }
}

const LEDGERS = `SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('workflow_migration', 'workflow_repeatable')`

function readMigrations(connection: Connection): AppliedMigration[] {
  return connection
    .statement('SELECT version, name, checksum FROM workflow_migration ORDER BY version')
    .all()
    .map(([version, name, checksum]) => ({ version, name, checksum }) as AppliedMigration)
}

function readRepeatables(connection: Connection): AppliedRepeatable[] {
  return connection
    .statement('SELECT name, revision, checksum FROM workflow_repeatable')
    .all()
    .map(([name, revision, checksum]) => ({ name, revision, checksum }) as AppliedRepeatable)
}

/** Called after commits of other processes: reads the ledgers only if the schema has changed. */
export function schemaGuard(connection: Connection, files: SchemaFiles): () => void {
  let seen: unknown = null
  return () => {
    const version = connection.statement('PRAGMA schema_version').get()?.[0]
    if (version === seen) return
    checkSchema(connection, files)
    seen = version
  }
}

/** Under the write lock, so that of two processes that start together one finds nothing left to do. */
export async function migrate(connection: Connection, files?: SchemaFiles): Promise<Migrated> {
  const known = files ?? readSchemaFiles('sqlite')
  const done = await connection.write(() => {
    const { migrations, repeatables } = checkSchema(connection, known)
    const { missing, baseline, single } = migrations
    if (repeatables.length > 0) connection.exec(RECALL_TRIGGERS)
    if (missing.length > 0) connection.exec(LEDGER)
    for (const { sql } of baseline === null ? single : [baseline, ...single]) connection.exec(sql)
    for (const migration of missing) record(connection, migration)
    for (const file of repeatables) applyRepeatable(connection, file)
    return {
      applied: missing.map(titleOf),
      repeatables: repeatables.map((file) => file.name),
      version: known.migrations.at(-1)?.version ?? 0,
    }
  })
  // Also when another process has just migrated: this one has read the new schema, with its triggers.
  await connection.forgetTriggers()
  return done
}

const LEDGER = `CREATE TABLE IF NOT EXISTS workflow_migration (
  version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
) STRICT`

function record(connection: Connection, { version, name, checksum }: Migration): void {
  connection
    .statement('INSERT INTO workflow_migration (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)')
    .get(version, name, checksum, Date.now())
}

/** SQLite cannot replace a view or a trigger, so those that the file creates are dropped first. */
function applyRepeatable(connection: Connection, { name, revision, sql, checksum }: Repeatable): void {
  for (const [, kind, object] of sql.matchAll(/^CREATE (TRIGGER|VIEW) (\w+)/gm)) {
    connection.exec(`DROP ${kind} IF EXISTS ${object}`)
  }
  connection.exec(sql)
  connection
    .statement(
      `INSERT INTO workflow_repeatable (name, revision, checksum, applied_at) VALUES (?, ?, ?, ?) ON CONFLICT (name)
       DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum, applied_at = excluded.applied_at`,
    )
    .get(name, revision, checksum, Date.now())
}
