/** Brings the schema up to date: all in one transaction under one lock, so a failure leaves the database as it was. */
import type pg from 'pg'
import {
  type AppliedMigration,
  type AppliedRepeatable,
  changedRepeatables,
  dueMigrations,
  type Migrated,
  type Migration,
  missingMigrations,
  type Repeatable,
  readSchemaFiles,
  type SchemaFiles,
  titleOf,
} from '../schema-files.ts'

/** Any number that no other application uses; the same in every version of Petrel. */
const LOCK = 7_305_803_160_811

const BEGIN = `BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0;
  SELECT pg_advisory_xact_lock(${LOCK})`

export async function migrate(client: pg.Client, files?: SchemaFiles): Promise<Migrated> {
  const known = files ?? readSchemaFiles('postgres')
  const version = known.migrations.at(-1)?.version ?? 0
  if (isCurrent(known, await recorded(client, 0))) return { applied: [], repeatables: [], version }
  try {
    // held to the end of the transaction: a second process waits here and then finds nothing left to do
    await client.query(BEGIN)
    const applied = await applyMissing(client, known)
    await client.query('COMMIT')
    return { ...applied, version }
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

function isCurrent(known: SchemaFiles, rows: readonly Recorded[]): boolean {
  const applied = migrationsIn(rows)
  if (applied.length === 0 || missingMigrations(known, applied).length > 0) return false
  return changedRepeatables(known, repeatablesIn(rows)).length === 0
}

/** Queried first: a role without the right to create schemas may still use one made for it. */
const EXISTING = `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'workflow') AS schema,
  to_regclass('workflow.workflow_migration') IS NOT NULL AS migrations,
  to_regclass('workflow.workflow_repeatable') IS NOT NULL AS repeatables`

interface Existing {
  readonly schema: boolean
  readonly migrations: boolean
  readonly repeatables: boolean
}

const LEDGER = `CREATE TABLE workflow.workflow_migration (
  version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`

/** The weeks of events depend on the day. Migration 5 makes them where the baseline is not used. */
const WEEKS = 'SELECT workflow.ensure_event_partitions()'

/**
 * All files are sent together. Repeatable files create or replace, and drop nothing: roles keep their rights to the
 * views, and views that others have created on them stay.
 */
async function applyMissing(client: pg.Client, known: SchemaFiles): Promise<Omit<Migrated, 'version'>> {
  const existing = (await client.query<Existing>(EXISTING)).rows[0] as Existing
  const applied = existing.migrations ? await rowsOf<AppliedMigration>(client, MIGRATIONS) : []
  const changed = changedRepeatables(known, existing.repeatables ? await rowsOf(client, REPEATABLES) : [])
  const { missing, baseline, single } = dueMigrations(known, applied)
  const due: readonly Repeatable[] = missing.length > 0 ? known.repeatables : changed
  const texts = [
    ...(existing.schema ? [] : ['CREATE SCHEMA workflow']),
    ...(existing.migrations ? [] : [LEDGER]),
    ...(baseline === null ? [] : [baseline.sql]),
    ...[...single, ...due].map(({ sql }) => sql),
    ...(baseline === null ? [] : [WEEKS]),
  ]
  await client.query(texts.join(';\n'))
  await client.query(RECORD_MIGRATIONS, [ledgerOf(missing)])
  await client.query(RECORD_REPEATABLES, [ledgerOf(due)])
  return { applied: missing.map(titleOf), repeatables: due.map((file) => file.name) }
}

/** As a parameter, without the texts of the files. */
function ledgerOf(files: readonly (Migration | Repeatable)[]): string {
  return JSON.stringify(files.map(({ sql, ...row }) => row))
}

async function rowsOf<Row extends object>(client: pg.Client, query: string): Promise<readonly Row[]> {
  return (await client.query<Row>(query)).rows
}

const MIGRATIONS = 'SELECT version, name, checksum FROM workflow.workflow_migration ORDER BY version'
const REPEATABLES = 'SELECT name, revision, checksum FROM workflow.workflow_repeatable'

const RECORD_MIGRATIONS = `INSERT INTO workflow.workflow_migration (version, name, checksum)
  SELECT version, name, checksum FROM json_to_recordset($1) m(version integer, name text, checksum text)`

const RECORD_REPEATABLES = `INSERT INTO workflow.workflow_repeatable (name, revision, checksum)
  SELECT name, revision, checksum FROM json_to_recordset($1) f(name text, revision integer, checksum text)
  ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum, applied_at = now()`

const NEWER = `SELECT version, NULL::integer AS revision, name, checksum FROM workflow.workflow_migration WHERE version > $1
  UNION ALL SELECT NULL, revision, name, checksum FROM workflow.workflow_repeatable`

interface Recorded {
  readonly version: number | null
  readonly revision: number | null
  readonly name: string
  readonly checksum: string
}

/** A pool opens its connections one after the other: one check serves those of this time. */
const FRESH_MS = 1_000

/**
 * Refuses a schema that a newer version of Petrel has migrated. Checked on new connections and periodically, since
 * another process may migrate while this one runs: its later writes may break rules that it does not know.
 */
export class SchemaCheck {
  #passedAt = Number.NEGATIVE_INFINITY

  async ofNew(client: pg.Client): Promise<void> {
    if (performance.now() - this.#passedAt > FRESH_MS) await this.now(client)
  }

  async now(client: pg.Client): Promise<void> {
    this.#passedAt = Number.NEGATIVE_INFINITY
    await refuseNewer(client)
    this.#passedAt = performance.now()
  }
}

async function refuseNewer(client: pg.Client): Promise<void> {
  const files = readSchemaFiles('postgres')
  const rows = await recorded(client, files.migrations.at(-1)?.version ?? 0)
  missingMigrations(files, migrationsIn(rows))
  changedRepeatables(files, repeatablesIn(rows))
}

function migrationsIn(rows: readonly Recorded[]): readonly AppliedMigration[] {
  return rows.flatMap(({ version, ...row }) => (version === null ? [] : { ...row, version }))
}

function repeatablesIn(rows: readonly Recorded[]): readonly AppliedRepeatable[] {
  return rows.flatMap(({ revision, ...row }) => (revision === null ? [] : { ...row, revision }))
}

async function recorded(client: pg.Client, newestKnown: number): Promise<readonly Recorded[]> {
  try {
    return (await client.query<Recorded>(NEWER, [newestKnown])).rows
  } catch (error) {
    // No such table: the database was never migrated, or by a version before repeatable files. No right to read it: it
    // was created for this role by another.
    if (['42P01', '3F000', '42501'].includes((error as pg.DatabaseError).code ?? '')) return []
    throw error
  }
}
