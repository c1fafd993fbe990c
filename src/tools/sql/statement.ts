/** A task's statement: its text, and the values that belong to it. */
import type { Json } from '../../net/net.ts'
import { checkScript, scriptOf } from '../code.ts'
import { misfit } from '../envelope.ts'
import { checkOneOf, type FieldTable, given, isGiven, isMap } from '../fields.ts'
import type { Fields, Problem } from '../tool.ts'
import { positional } from './named.ts'

export const STATEMENT_FIELDS: FieldTable = {
  command: { types: ['text'] },
  commands: { types: ['text', 'list'] },
  query: { types: ['text'] },
  sql: { types: ['text'] },
  script: { types: ['map'], hint: 'script: { uri: path/to/file.sql, source: { type: file } }' },
  params: { types: ['list', 'map'], hint: 'A list for $1, $2 … or a map for :name.' },
  max_rows: { types: ['number'] },
  timeout_seconds: { types: ['number'] },
  timeout: { types: ['number'] },
}
const TEXTS = ['command', 'commands', 'query', 'sql', 'script']

export interface Statement {
  readonly text: string
  readonly values: readonly Json[]
  readonly missing: readonly string[]
}

export function checkStatement(config: Fields): Problem[] {
  return [
    ...checkOneOf(config, TEXTS, { hint: 'Give the query: query: SELECT 1.' }),
    ...checkScript(config['script']),
    ...(config['query'] === '' || config['command'] === '' ? [{ path: [], message: 'the statement is empty' }] : []),
  ]
}

export async function statementOf(config: Fields): Promise<Statement> {
  const sql = await textOf(config)
  const params = given(config, 'params')
  if (params === undefined) return { text: sql, values: [], missing: [] }
  if (Array.isArray(params)) return { text: sql, values: params as readonly Json[], missing: [] }
  if (isMap(params)) return positional(sql, params)
  throw misfit('params must be a list for $1, $2 … or a map for :name')
}

async function textOf(config: Fields): Promise<string> {
  if (isGiven(config, 'script'))
    return (await scriptOf(config['script']!, { name: 'script.sql', cwd: null, suffix: '.sql' })).text
  const value = given(config, ...TEXTS)
  const text = Array.isArray(value) && value.every((each) => typeof each === 'string') ? value.join(';\n') : value
  if (typeof text !== 'string' || text.trim() === '') throw misfit('the statement must be text, and not empty')
  return text
}

const MOST_ROWS = 100_000

export function mostRows(config: Fields): number {
  const value = given(config, 'max_rows')
  if (value === undefined) return MOST_ROWS
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw misfit('max_rows must be a whole number')
  return value
}

export function rowsResult(params: {
  readonly rows: Json
  readonly rowCount: number
  readonly columns: readonly string[]
  readonly statements: number
}): Json {
  const { rows, rowCount, columns, statements } = params
  return { rows, row_count: rowCount, columns, status: 'success', statement_count: statements }
}
