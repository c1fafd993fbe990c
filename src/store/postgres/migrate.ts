/** Brings the schema up to date: all in one transaction under one lock, so a failure leaves the database as it was. */
import type pg from 'pg'
import {
  type AppliedMigration,
  type AppliedRepeatable,
  changedRepeatables,
  type Migrated,
  missingMigrations,
  type Repeatable,
  readSchemaFiles,
  type SchemaFiles,
  titleOf,
} from '../schema-files.ts'

/** Any number that no other application uses; the same in every version of Petrel. */
const LOCK = 7_305_803_160_811

export async function migrate(client: pg.Client, files?: SchemaFiles): Promise<Migrated> {
  const known = files ?? (await readSchemaFiles('postgres'))
  await client.query('BEGIN')
  try {
    // held to the end of the transaction: a second process waits here and then finds nothing left to do
    await client.query('SET LOCAL lock_timeout = 0')
    await client.query('SET LOCAL statement_timeout = 0')
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    const applied = await applyMigrations(client, known)
    const repeatables = await applyRepeatables(client, known, applied.length > 0)
    await client.query('COMMIT')
    return { applied, repeatables, version: known.migrations.at(-1)?.version ?? 0 }
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Queried first: a role without the right to create schemas may still use one made for it. */
const EXISTING = `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'workflow') AS schema,
  to_regclass('workflow.workflow_migration') IS NOT NULL AS ledger`

const LEDGER = `CREATE TABLE workflow.workflow_migration (
  version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`

async function applyMigrations(client: pg.Client, known: SchemaFiles): Promise<string[]> {
  const existing = (await client.query<{ schema: boolean; ledger: boolean }>(EXISTING)).rows[0]
  if (!existing?.schema) await client.query('CREATE SCHEMA workflow')
  if (!existing?.ledger) await client.query(LEDGER)
  const { rows } = await client.query<AppliedMigration>(
    'SELECT version, name, checksum FROM workflow.workflow_migration ORDER BY version',
  )
  const missing = missingMigrations(known, rows)
  for (const { sql, version, name, checksum } of missing) {
    await client.query(sql)
    await client.query('INSERT INTO workflow.workflow_migration (version, name, checksum) VALUES ($1, $2, $3)', [
      version,
      name,
      checksum,
    ])
  }
  return missing.map(titleOf)
}

/**
 * The files create or replace, and drop nothing: roles keep their rights to the views, and views that others have
 * created on them stay.
 */
async function applyRepeatables(client: pg.Client, known: SchemaFiles, migrated: boolean): Promise<string[]> {
  const { rows } = await client.query<AppliedRepeatable>(
    'SELECT name, revision, checksum FROM workflow.workflow_repeatable',
  )
  const changed = changedRepeatables(known, rows)
  const due: readonly Repeatable[] = migrated ? known.repeatables : changed
  for (const { sql, name, revision, checksum } of due) {
    await client.query(sql)
    await client.query(
      `INSERT INTO workflow.workflow_repeatable (name, revision, checksum) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum, applied_at = now()`,
      [name, revision, checksum],
    )
  }
  return due.map((file) => file.name)
}

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
  const files = await readSchemaFiles('postgres')
  const rows = await recorded(client, files.migrations.at(-1)?.version ?? 0)
  missingMigrations(
    files,
    rows.flatMap(({ version, ...row }) => (version === null ? [] : { ...row, version })),
  )
  changedRepeatables(
    files,
    rows.flatMap(({ revision, ...row }) => (revision === null ? [] : { ...row, revision })),
  )
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
