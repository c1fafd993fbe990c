/**
 * The files that make the schema of a store.
 *
 * Numbered migrations (migrations/0001_name.sql) are applied once each, in order, and never change after their release.
 * The baseline (baseline.sql) makes in one step what the first of them make one after another; a new database starts
 * with it (decision 049).
 * Repeatable files (repeatable/10_name.sql) contain the current text of all views, triggers and functions. A file is
 * applied when the database has another text of it, and all of them, in order, after any numbered migration.
 *
 * The first line of a repeatable file is its revision. A database with a higher number or revision, or with a file that
 * this build lacks, was migrated by a newer build and is refused: an old process would restore its own text (decision
 * 031).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { codeFile } from '../files.ts'
import { sha256 } from '../kernel/hash.ts'
import { StoreUnusableError } from '../kernel/store-errors.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

export interface Repeatable {
  readonly name: string
  readonly revision: number
  readonly sql: string
  readonly checksum: string
}

export interface Baseline {
  /** The number of the last migration that it contains. */
  readonly through: number
  readonly sql: string
}

export interface SchemaFiles {
  readonly baseline: Baseline | null
  readonly migrations: readonly Migration[]
  readonly repeatables: readonly Repeatable[]
}

/** The migrations recorded in a database: rows of workflow_migration and workflow_repeatable. */
export type AppliedMigration = Pick<Migration, 'version' | 'name' | 'checksum'>
export type AppliedRepeatable = Pick<Repeatable, 'name' | 'revision' | 'checksum'>

export interface Migrated {
  /** Numbered migrations that were applied. */
  readonly applied: readonly string[]
  /** Repeatable files that were applied because they are new, have changed, or follow a numbered migration. */
  readonly repeatables: readonly string[]
  /** The number of the newest numbered migration. */
  readonly version: number
}

const read = new Map<string, SchemaFiles>()

/** Reads the files once per process. */
export function readSchemaFiles(store: 'postgres' | 'sqlite'): SchemaFiles {
  let files = read.get(store)
  if (files === undefined) {
    files = readFolders(codeFile(`store/${store}/`))
    read.set(store, files)
  }
  return files
}

/** Synchronously: as many reads at once in the thread pool take several times as long. */
function readFolders(folder: URL): SchemaFiles {
  const baseline = readFileSync(new URL('baseline.sql', folder), 'utf8')
  const migrations = readSql(new URL('migrations/', folder), /^\d{4}_\w+\.sql$/)
  const repeatables = readSql(new URL('repeatable/', folder), /^\d\d_\w+\.sql$/)
  return {
    baseline: { through: throughOf(baseline), sql: baseline },
    migrations: migrations.map((file) => ({
      ...file,
      version: Number(file.name.slice(0, 4)),
      name: file.name.slice(5),
    })),
    repeatables: repeatables.map((file) => ({ ...file, revision: revisionOf(file) })),
  }
}

interface SqlFile {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

function readSql(folder: URL, pattern: RegExp): SqlFile[] {
  const files = readdirSync(folder)
    .filter((file) => pattern.test(file))
    .sort()
  return files.map((file) => {
    const sql = readFileSync(new URL(file, folder), 'utf8')
    return { name: file.slice(0, -4), sql, checksum: sha256(sql) }
  })
}

function throughOf(baseline: string): number {
  const match = /^-- Migrations 1 to (\d+)\.\n/.exec(baseline)
  if (match === null) throw new Error('baseline.sql must begin with its migrations, as in "-- Migrations 1 to 34."')
  return Number(match[1])
}

function revisionOf({ name, sql }: SqlFile): number {
  const match = /^-- Revision (\d+)\.\n/.exec(sql)
  if (match === null) throw new Error(`repeatable/${name}.sql must begin with its revision, as in "-- Revision 1."`)
  return Number(match[1])
}

/** Throws if a newer build has migrated the database, or if a released migration has another text there. */
export function missingMigrations(
  { migrations }: SchemaFiles,
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  for (const row of applied) {
    const known = migrations.find((migration) => migration.version === row.version)
    if (known === undefined) throw newer(`migration ${row.version} (${row.name})`)
    if (known.checksum !== row.checksum) {
      throw new StoreUnusableError(
        'schema_changed',
        `migration ${row.version} (${row.name}) was applied with another text than this version of Petrel has (recorded ` +
          `${row.checksum.slice(0, 12)}, here ${known.checksum.slice(0, 12)}); use the version that migrated the database, ` +
          'or restore the file',
      )
    }
  }
  const versions = new Set(applied.map((row) => row.version))
  return migrations.filter((migration) => !versions.has(migration.version))
}

/** Files to apply, in order; `baseline` replaces the migrations that it contains. */
export interface DueMigrations {
  readonly missing: readonly Migration[]
  readonly baseline: Baseline | null
  /** Those that follow the baseline. */
  readonly single: readonly Migration[]
}

export function dueMigrations(files: SchemaFiles, applied: readonly AppliedMigration[]): DueMigrations {
  const missing = missingMigrations(files, applied)
  const baseline = applied.length === 0 ? files.baseline : null
  return { missing, baseline, single: missing.filter(({ version }) => version > (baseline?.through ?? 0)) }
}

/** Throws if a newer build has applied its repeatable files. */
export function changedRepeatables(
  { repeatables }: SchemaFiles,
  applied: readonly AppliedRepeatable[],
): readonly Repeatable[] {
  for (const row of applied) {
    const known = repeatables.find((file) => file.name === row.name)
    if (known === undefined || known.revision < row.revision) {
      throw newer(`revision ${row.revision} of repeatable/${row.name}`)
    }
  }
  const checksums = new Map(applied.map((row) => [row.name, row.checksum]))
  return repeatables.filter((file) => checksums.get(file.name) !== file.checksum)
}

/** The form in which `Migrated` and the command `migrate` list it. */
export function titleOf(migration: AppliedMigration): string {
  return `${String(migration.version).padStart(4, '0')}_${migration.name}`
}

function newer(what: string): StoreUnusableError {
  return new StoreUnusableError(
    'schema_newer',
    `the database has ${what}, which this version of Petrel does not support: a newer version has migrated it; ` +
      'upgrade Petrel, or connect it to another database',
  )
}
