/** An empty database of each store, migrated with the files that a test gives, and its whole schema as text. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { migrate as migratePostgres } from '../../src/store/postgres/migrate.ts'
import type { Migrated, SchemaFiles } from '../../src/store/schema-files.ts'
import { Connection } from '../../src/store/sqlite/connection.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { migrate as migrateSqlite } from '../../src/store/sqlite/migrate.ts'
import { emptyDatabase, postgresUrl } from '../services.ts'

export interface SchemaSubject {
  migrate(files: SchemaFiles): Promise<Migrated>
  /** As a release before repeatable files left it. */
  applyNumbered(files: SchemaFiles, upTo: number): Promise<void>
  /** Several statements; the rows of a single one. */
  sql(text: string): Promise<readonly Record<string, unknown>[]>
  tables(): Promise<readonly string[]>
  /** One text per table, column, index, constraint, view, trigger and function. */
  schema(): Promise<readonly string[]>
  close(): Promise<void>
}

export interface SchemaStore {
  readonly name: 'postgres' | 'sqlite'
  readonly installed: boolean
  /** The prefix of table names in SQL. */
  readonly prefix: string
  /** The newest numbered migration of the last release without repeatable files. */
  readonly before: number
  open(): Promise<SchemaSubject>
}

export const SCHEMA_STORES: readonly SchemaStore[] = [
  { name: 'sqlite', installed: true, prefix: '', before: 16, open: openSqliteSubject },
  { name: 'postgres', installed: postgresUrl() !== null, prefix: 'workflow.', before: 25, open: openPostgresSubject },
]

async function openSqliteSubject(): Promise<SchemaSubject> {
  const folder = mkdtempSync(join(tmpdir(), 'petrel-schema-'))
  const path = join(folder, 'petrel.db')
  const connection = await Connection.open(path, null)
  await connection.prepareForWriting()
  const database = await openDatabase(path)
  const sql = async (text: string) => {
    if (!/^SELECT/.test(text)) database.exec(text)
    const rows: unknown = /^SELECT/.test(text) ? database.prepare(text).all() : []
    return rows as Record<string, unknown>[]
  }
  return {
    migrate: (files) => migrateSqlite(connection, files),
    applyNumbered: (files, upTo) =>
      applyNumbered(sql, files, upTo, {
        ledger: `CREATE TABLE IF NOT EXISTS workflow_migration (
          version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
        ) STRICT`,
        row: 'INSERT INTO workflow_migration (applied_at, version, name, checksum) VALUES (0,',
      }),
    sql,
    tables: async () =>
      (await sql(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)).map(({ name }) =>
        String(name),
      ),
    schema: async () => {
      // Views and triggers in the order of their creation, which decides which of several triggers runs first.
      const rows = await sql(`SELECT type, name, tbl_name, replace(sql, 'IF NOT EXISTS ', '') AS sql FROM sqlite_master
        WHERE name NOT LIKE 'sqlite_%' ORDER BY type, iif(type IN ('view', 'trigger'), rowid, 0), name`)
      return rows.map(
        ({ type, name, tbl_name, sql }) => `${type} ${name} ON ${tbl_name}: ${String(sql).replace(/\s+/g, ' ')}`,
      )
    },
    close: async () => {
      database.close()
      await connection.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function openPostgresSubject(): Promise<SchemaSubject> {
  const fresh = await emptyDatabase()
  const client = new pg.Client({ connectionString: fresh.url })
  await client.connect()
  const sql = async (text: string) => (await client.query(text)).rows ?? []
  return {
    migrate: (files) => migratePostgres(client, files),
    applyNumbered: (files, upTo) =>
      applyNumbered(sql, files, upTo, {
        ledger: `CREATE SCHEMA workflow; CREATE TABLE workflow.workflow_migration (version integer PRIMARY KEY,
          name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
        row: 'INSERT INTO workflow.workflow_migration (version, name, checksum) VALUES (',
      }),
    sql,
    tables: async () =>
      (
        await sql(`SELECT oid::regclass::text AS name FROM pg_class
          WHERE relnamespace = 'workflow'::regnamespace AND relkind = 'r'`)
      ).map(({ name }) => String(name)),
    schema: async () => (await sql(CATALOG)).map(({ thing }) => thing as string),
    close: async () => {
      await client.end()
      await fresh.drop()
    },
  }
}

async function applyNumbered(
  sql: (text: string) => Promise<unknown>,
  { migrations }: SchemaFiles,
  upTo: number,
  words: { readonly ledger: string; readonly row: string },
): Promise<void> {
  await sql(words.ledger)
  for (const { version, name, sql: text, checksum } of migrations.filter((migration) => migration.version <= upTo)) {
    await sql(text)
    await sql(`${words.row} ${version}, '${name}', '${checksum}')`)
  }
}

const NAMESPACES = `('workflow'::regnamespace, 'saga'::regnamespace)`

const CATALOG = `
  SELECT format('function %s %s %s', p.oid::regprocedure, p.proacl, pg_get_functiondef(p.oid)) AS thing
  FROM pg_proc p WHERE p.pronamespace IN ${NAMESPACES}
  UNION ALL
  SELECT format('trigger on %s %s: %s', t.tgrelid::regclass, t.tgenabled, pg_get_triggerdef(t.oid))
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace IN ${NAMESPACES}
  UNION ALL
  SELECT format('%s %s %s %s %s: %s', c.relkind, c.oid::regclass, c.relacl, c.reloptions, obj_description(c.oid, 'pg_class'),
    CASE c.relkind WHEN 'v' THEN pg_get_viewdef(c.oid) WHEN 'i' THEN pg_get_indexdef(c.oid) END)
  FROM pg_class c WHERE c.relnamespace IN ${NAMESPACES}
  UNION ALL
  SELECT format('column %s.%s %s %s %s %s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnum,
    a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE c.relnamespace IN ${NAMESPACES} AND a.attnum > 0
  UNION ALL
  SELECT format('constraint %s on %s: %s', k.conname, k.conrelid::regclass, pg_get_constraintdef(k.oid))
  FROM pg_constraint k WHERE k.connamespace IN ${NAMESPACES}
  ORDER BY thing`
