/** docs/schema.md describes exactly what the stores contain. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EVENT_TYPES, isInstanceEvent, isNodeEvent, isRunEvent, isStoreEvent } from '../../src/model/events/events.ts'
import { RUN_TRANSITIONS } from '../../src/model/run-transitions.ts'
import { SLOT_KINDS } from '../../src/net/slots.ts'
import { readSchemaFiles } from '../../src/store/schema-files.ts'
import { root } from '../cli/petrel.ts'
import { SCHEMA_STORES } from '../store/schema-subject.ts'

const page = readFileSync(join(root, 'docs/schema.md'), 'utf8')

/** The cells of the rows of the first table in a text. */
function rowsIn(text: string): readonly (readonly string[])[] {
  const [, , ...lines] = /(?:^\|.*\|\n)+/m.exec(text)?.[0].trimEnd().split('\n') ?? []
  return lines.map((line) => line.slice(2, -2).split(' | '))
}

function section(title: string): string {
  const [, rest = ''] = page.split(`\n## ${title}\n`)
  return rest.split('\n## ')[0] as string
}

const code = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text as string)

interface Described {
  readonly name: string
  /** null: on both. */
  readonly only: string | null
  readonly columns: readonly { readonly name: string; readonly type: string; readonly meaning: string }[]
}

const DESCRIBED: readonly Described[] = page
  .split('\n### ')
  .slice(1)
  .filter((part) => part.includes('| column | type | meaning |'))
  .map((part) => {
    const [, name = '', only = null] = /^(\S+)(?: \((\w+)\))?\n/.exec(part) ?? []
    const columns = rowsIn(part).map(([column = '', type = '', meaning = '']) => ({
      name: code(column)[0] ?? '',
      type,
      meaning,
    }))
    return { name, only, columns }
  })

const ONLY_ON_SQLITE = rowsIn(page.split('\n### Only on SQLite\n')[1] ?? '').map(([name = '', columns = '']) => ({
  name: code(name)[0] ?? '',
  columns: code(columns),
}))

const COLUMNS = {
  sqlite: `SELECT m.name AS relation, c.name AS column, '' AS type FROM sqlite_master m, pragma_table_info(m.name) c
    WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%'`,
  postgres: `SELECT CASE n.nspname WHEN 'saga' THEN 'saga.' ELSE '' END || c.relname AS relation, a.attname AS column,
      replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz')
        || CASE WHEN c.relkind = 'v' OR a.attnotnull THEN '' ELSE '?' END AS type
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('workflow', 'saga') AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v')
      AND NOT c.relispartition`,
} as const

describe('docs/schema.md', () => {
  it.each(SCHEMA_STORES.filter((store) => store.installed))(
    'has the tables, views and columns of $name',
    async (store) => {
      const subject = await store.open()
      await subject.migrate(readSchemaFiles(store.name))
      const found = (await subject.sql(COLUMNS[store.name])).map(
        (row) => `${row['relation']}.${row['column']} ${row['type']}`,
      )
      await subject.close()
      const sqlite = store.name === 'sqlite'
      const described = DESCRIBED.filter(({ only }) => only === null || only.toLowerCase() === store.name).flatMap(
        ({ name, columns }) =>
          columns.map((column) =>
            sqlite ? `${name.replace('.', '_')}.${column.name} ` : `${name}.${column.name} ${column.type}`,
          ),
      )
      const own = ONLY_ON_SQLITE.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column} `))
      expect([...described, ...(sqlite ? own : [])].toSorted()).toEqual(found.toSorted())
    },
  )

  it('has a meaning for each column', () => {
    for (const { name, columns } of DESCRIBED) {
      for (const column of columns) expect(column.meaning, `${name}.${column.name}`).toMatch(/\S\.?$/)
    }
  })

  it('has every kind of slot, with its value and its writers', () => {
    const described = rowsIn(section('Slots')).map(([key = '', holds, writers = '']) => [
      code(key)[0],
      holds,
      code(writers),
    ])
    expect(described).toEqual(SLOT_KINDS.map(({ pattern, holds, writers }) => [pattern, holds, writers]))
  })

  it.each([
    ['Events of runs', isRunEvent],
    ['Events of instances', (type: string) => isInstanceEvent(type) || (isNodeEvent(type) && !isRunEvent(type))],
    ['Other events', isStoreEvent],
  ] as const)('%s: has exactly the existing types', (title, belongs) => {
    const table = section('Events').split(`\n### ${title}\n`)[1] ?? ''
    const described = rowsIn(table).map(([type = '']) => code(type)[0] as string)
    expect(described.toSorted()).toEqual(EVENT_TYPES.filter((type) => belongs(type)).toSorted())
  })

  it('has the event of every transition of a run', () => {
    expect(EVENT_TYPES).toEqual(expect.arrayContaining(RUN_TRANSITIONS.map(({ event }) => event)))
  })
})
