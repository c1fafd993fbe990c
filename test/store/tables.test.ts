/** Every described table is a table of both stores: its columns exist, and their defaults are the initial values. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND } from '../../src/model/commands.ts'
import { DEFINITION } from '../../src/model/definitions.ts'
import * as rows from '../../src/model/rows.ts'
import { type Column, columnsOf, type Description } from '../../src/model/table.ts'
import { cellsOf } from '../../src/store/cells.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { rowReader, selectOf } from '../../src/store/sqlite/row/reader.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { freshDatabase, postgresUrl } from '../services.ts'

const TABLES: readonly Description<object>[] = [
  ...Object.values(rows).filter((value) => typeof value === 'object' && 'fields' in value),
  DEFINITION,
  COMMAND,
] as never

/** Columns with an initial value, which inserts may leave out, by name. */
function initials(columns: readonly Column[]): Record<string, unknown> {
  return Object.fromEntries(columns.filter((c) => c.initial !== undefined).map((c) => [c.name, c.initial]))
}

const names = (columns: readonly Column[]): string[] => columns.map(({ name }) => name.replaceAll('"', ''))

describe('SQLite', () => {
  let folder: string
  let database: Awaited<ReturnType<typeof openDatabase>>
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petrel-tables-'))
    const path = join(folder, 'a.db')
    const store = await openSqlite({ path })
    await store.migrate()
    await store.close()
    database = await openDatabase(path)
  })
  afterAll(() => {
    database.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it.each(TABLES.map((table) => [table.name, table] as const))('%s', (name, table) => {
    const found = database.prepare(`SELECT name, dflt_value FROM pragma_table_info('${name}')`).all() as never as {
      readonly name: string
      readonly dflt_value: string | null
    }[]
    const columns = columnsOf(table)
    expect(found.map((column) => column.name)).toEqual(expect.arrayContaining(names(columns)))
    const defaults = Object.fromEntries(
      columns
        .filter(({ initial }) => initial !== undefined)
        .map((column) => {
          const { dflt_value } = found.find((f) => f.name === column.name.replaceAll('"', ''))!
          const value = dflt_value === null ? null : JSON.parse(dflt_value.replaceAll("'", '"'))
          return [column.name, column.kind === 'bool' ? value === 1 : value]
        }),
    )
    expect(defaults).toEqual(initials(columns))
  })
})

describe.skipIf(postgresUrl() === null)('Postgres', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>
  let client: pg.Client
  beforeAll(async () => {
    database = await freshDatabase()
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
  })
  afterAll(async () => {
    await client.end()
    await database.drop()
  })

  it.each(TABLES.map((table) => [table.name, table] as const))('%s', async (name, table) => {
    const { rows: found } = await client.query(
      `SELECT column_name AS name, column_default AS value FROM information_schema.columns
       WHERE table_schema = 'workflow' AND table_name = $1`,
      [name],
    )
    const columns = columnsOf(table)
    expect(found.map((column) => column.name)).toEqual(expect.arrayContaining(names(columns)))
    const defaults: Record<string, unknown> = {}
    for (const { name, initial } of columns) {
      if (initial === undefined) continue
      const { value } = found.find((column) => column.name === name.replaceAll('"', ''))!
      const given = value === null ? null : (await client.query(`SELECT ${value} AS value`)).rows[0].value
      defaults[name] = Array.isArray(given) ? JSON.stringify(given) : given
    }
    expect(defaults).toEqual(initials(columns))
  })
})

describe('a row', () => {
  /** Each field contains its own name. */
  const named = new Proxy({}, { get: (_, key) => key }) as never

  it.each([
    ['run', rows.RUN],
    ['instance', rows.INSTANCE],
    ['event', rows.EVENT],
  ])('is written in the order of its columns: %s', (_, table) => {
    expect(cellsOf(table as Description<object>)(named)).toEqual(columnsOf(table).map(({ key }) => key))
  })

  it.each([
    ['run', rows.RUN],
    ['instance', rows.INSTANCE],
  ])('is read from a selection, whether or not columns have their initial values: %s', (_, table) => {
    const columns = columnsOf(table)
    const single = columns.filter(({ usual }) => usual)
    const packed = columns.filter(({ usual }) => !usual)
    const read = rowReader(table as Description<object>)
    const value = ({ key, kind }: Column): unknown => (kind === 'bool' ? 1 : `${key} as stored`)
    const all = read([...single.map(value), JSON.stringify(packed.map(value))] as never)
    expect(all).toEqual(Object.fromEntries(columns.map((c) => [c.key, c.kind === 'bool' ? true : value(c)])))
    expect(read([...single.map(value), null] as never)).toMatchObject(
      Object.fromEntries(packed.map(({ key, initial }) => [key, initial])),
    )
    expect(selectOf(table)).toContain(single.map(({ name }) => name).join(', '))
  })
})
