/** A new database starts with the baseline and is the same as one that went through every migration (decision 049). */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readSchemaFiles, type SchemaFiles } from '../../src/store/schema-files.ts'
import { SCHEMA_STORES, type SchemaSubject } from './schema-subject.ts'

const UUID = /"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g

describe.each(SCHEMA_STORES.filter((store) => store.installed))('the baseline of $name', (store) => {
  let files: SchemaFiles
  const opened: SchemaSubject[] = []

  beforeAll(async () => {
    files = readSchemaFiles(store.name)
  })
  afterEach(async () => {
    for (const subject of opened.splice(0)) await subject.close()
  })

  async function migrated(by: SchemaFiles) {
    const subject = await store.open()
    opened.push(subject)
    return { subject, ...(await subject.migrate(by)) }
  }

  /** All rows, except the times at which files were applied. */
  async function rowsIn({ sql, tables }: SchemaSubject): Promise<readonly string[]> {
    const found: string[] = []
    for (const table of await tables()) {
      for (const { applied_at, ...row } of await sql(`SELECT * FROM ${table}`)) {
        found.push(`${table} ${JSON.stringify(row)}`.replace(UUID, 'a uuid'))
      }
    }
    return found.toSorted()
  }

  it('gives the same schema, rows and records as all migrations one after another', async () => {
    const fast = await migrated(files)
    const slow = await migrated({ ...files, baseline: null })
    expect([fast.applied, fast.repeatables, fast.version]).toEqual([slow.applied, slow.repeatables, slow.version])
    expect(await fast.subject.schema()).toEqual(await slow.subject.schema())
    const rows = await rowsIn(fast.subject)
    expect(rows).toEqual(await rowsIn(slow.subject))
    expect(rows.length).toBeGreaterThan(files.migrations.length + files.repeatables.length)
  })

  it('contains the newest migration: otherwise run npm run baseline', () => {
    expect(files.baseline?.through).toBe(files.migrations.length)
  })

  it('is followed by migrations that it does not contain', async () => {
    const version = files.migrations.length + 1
    const sql = `CREATE TABLE ${store.prefix}later (a integer)`
    const later = { ...files, migrations: [...files.migrations, { version, name: 'later', sql, checksum: 'later' }] }
    const { subject, applied } = await migrated(later)
    expect([applied.length, applied.at(-1)]).toEqual([version, expect.stringContaining('later')])
    expect(await subject.sql(`SELECT a FROM ${store.prefix}later`)).toEqual([])
    expect(await subject.migrate(later)).toMatchObject({ applied: [], repeatables: [] })
  })

  it('is not applied to a database that has migrations', async () => {
    const { subject, applied } = await migrated({ ...files, baseline: null, migrations: files.migrations.slice(0, -1) })
    expect(applied).toHaveLength(files.migrations.length - 1)
    const broken = { through: files.migrations.length, sql: 'NONSENSE' }
    expect((await subject.migrate({ ...files, baseline: broken })).applied).toHaveLength(1)
  })
})
