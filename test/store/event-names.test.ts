/** The SQL of the stores uses the same types of events as the code. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { EVENT_TYPES, type EventType, RESERVED_PREFIXES } from '../../src/model/events/events.ts'

const STORE = fileURLToPath(new URL('../../src/store/', import.meta.url))
/** Types that SQL writes by itself: outcomes that plain SQL gave a run, heartbeats, and tables of their own. */
const WRITTEN: Readonly<Record<'postgres' | 'sqlite', readonly EventType[]>> = {
  postgres: [
    'created',
    'heartbeat',
    'leased',
    'progress',
    'registry.changed',
    'registry.removed',
    'retried',
    'returned',
    'schedule.disabled',
    'started',
  ],
  sqlite: ['created', 'failed', 'heartbeat', 'leased', 'progress', 'retried', 'returned', 'started'],
}

describe.each(['postgres', 'sqlite'] as const)('event types in the SQL of %s', (kind) => {
  const declared: ReadonlySet<string> = new Set(EVENT_TYPES)

  it('are declared', () => {
    const types = [...typesIn(kind)]
    expect(types).toEqual(expect.arrayContaining(['created', 'heartbeat', 'retried']))
    expect(types.filter((type) => !declared.has(type))).toEqual([])
  })

  it('are written where the code expects it', () => {
    expect(typesWritten(kind)).toEqual(WRITTEN[kind])
  })

  it('the check of the table names those without a dot', () => {
    const file = kind === 'postgres' ? 'postgres/migrations/0005_event.sql' : 'sqlite/migrations/0001_tables.sql'
    const check =
      /event_type +text NOT NULL CHECK \(([\s\S]*?)\),\n/i.exec(readFileSync(join(STORE, file), 'utf8'))?.[1] ?? ''
    const named = words(check).filter((word) => !word.includes('.'))
    expect([...named].sort()).toEqual(EVENT_TYPES.filter((type) => !type.includes('.')).sort())
  })

  it('reserves exactly the declared prefixes, and its message names them', () => {
    expect([...reservedIn(kind)].sort()).toEqual(RESERVED_PREFIXES)
    const [, named = ''] = /names that begin with ([a-z_, ]+) are the engine/.exec(eventTriggers(kind)) ?? []
    expect(named.split(/, | or /).sort()).toEqual(RESERVED_PREFIXES)
  })
})

interface Sql {
  readonly path: string
  readonly text: string
}

/** SQL of the current version: repeatable files, and statements in the code. */
function storeSql(kind: 'postgres' | 'sqlite'): readonly Sql[] {
  return readdirSync(join(STORE, kind), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|sql)$/.test(path) && !path.startsWith('migrations') && !path.endsWith('.test.ts'))
    .map((path) => ({ path, text: readFileSync(join(STORE, kind, path), 'utf8') }))
}

const words = (text: string): readonly string[] =>
  [...text.matchAll(/'([a-z_]+(?:\.[a-z_]+)?)'/g)].map(([, word]) => word as string)

/** Types that a statement compares, and types that it writes. */
function typesIn(kind: 'postgres' | 'sqlite'): ReadonlySet<string> {
  const compared = storeSql(kind).flatMap(({ text }) =>
    [...text.matchAll(/event_type (?:=|<>|IN|NOT IN) (\([^)]*\)|'[^']*')/g)].flatMap(([, list = '']) => words(list)),
  )
  return new Set([...compared, ...typesWritten(kind)])
}

function typesWritten(kind: 'postgres' | 'sqlite'): readonly string[] {
  const found = storeSql(kind).flatMap(({ text }) => [
    ...[...text.matchAll(/(?:inbox_record_event\(\w+, |\brecorded\()('[a-z_.]+')/g)].flatMap(([, word = '']) =>
      words(word),
    ),
    ...[...text.matchAll(/INSERT INTO (?:workflow\.)?workflow_event \([^)]*\)\s+(?:SELECT|VALUES) (.*)/g)].flatMap(
      ([, values = '']) => written(values),
    ),
  ])
  return [...new Set(found)].sort()
}

/** The first column with literals: `'created'`, or `iif(status = 'pending', 'retried', 'failed')`. */
function written(values: string): readonly string[] {
  const [column = ''] =
    /(?:iif\([^']*'[^']*', '[^']*', '[^']*'\)|iif\([^']*'[^']*', '[^']*'\)|'[^']*')/.exec(values) ?? []
  return words(column.replace(/\w+ = '[a-z]*'/, ''))
}

function eventTriggers(kind: 'postgres' | 'sqlite'): string {
  return readFileSync(join(STORE, kind, 'repeatable/70_events.sql'), 'utf8')
}

/** Words before a dot that clients cannot use. */
function reservedIn(kind: 'postgres' | 'sqlite'): readonly string[] {
  const text = eventTriggers(kind)
  const list =
    kind === 'postgres'
      ? /'\^\(([a-z_|]+)\)\\\.'/.exec(text)?.[1]?.split('|')
      : [...text.matchAll(/'([a-z_]+)\.'/g)].map(([, word]) => word as string)
  return list ?? []
}
