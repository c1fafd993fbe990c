/** Statements in DuckDB, inside this process: in memory, or in a file that other tasks of this worker may have open. */
import type { Json } from '../../net/net.ts'
import { aborted, enveloped, type Fault, fault, misfit, ok, ToolFault } from '../envelope.ts'
import { checkFields, type FieldTable, given } from '../fields.ts'
import { checkTimeout, timeLimit } from '../timeout.ts'
import type { Envelope, ErrorKind, Fields, Problem, Tool, ToolCall } from '../tool.ts'
import { checkFence, type Fence, MEMORY, type Open, open, STILL_OPEN } from './duckdb-connection.ts'
import { type Converter, type Duckdb, loadDuckdb, type Result } from './duckdb-module.ts'
import { underWatch } from './duckdb-watch.ts'
import { exactNumber } from './numbers.ts'
import { checkStatement, mostRows, rowsResult, STATEMENT_FIELDS, type Statement, statementOf } from './statement.ts'

export interface DuckdbOptions extends Fence {
  readonly resultBytes: number
  readonly load?: typeof loadDuckdb
}

const FIELDS: FieldTable = { ...STATEMENT_FIELDS, database: { types: ['text'] } }
const DEFAULT_TIMEOUT_MS = 300_000
/** The value of DuckDB's ResultReturnType for an answer that is a count. */
const CHANGED_ROWS = 1

export function duckdbTool({ load = loadDuckdb, ...options }: DuckdbOptions): Tool {
  checkFence(options)
  return {
    kind: 'duckdb',
    check: (config) => [
      ...checkInstalled(load),
      ...checkFields(config, FIELDS),
      ...checkStatement(config),
      ...checkTimeout(config),
    ],
    run: (call) => enveloped(() => run(call, { load, ...options })),
  }
}

function checkInstalled(load: typeof loadDuckdb): Problem[] {
  const found = load()
  const hint = 'Install it where the workers run: npm install @duckdb/node-api.'
  return 'missing' in found ? [{ path: [], message: found.missing, hint }] : []
}

async function run(call: ToolCall, options: Required<DuckdbOptions>): Promise<Envelope> {
  const { config, signal } = call
  const found = options.load()
  if ('missing' in found) return fault({ kind: 'unsupported', code: 'DUCKDB_MISSING', message: found.missing })
  if (signal.aborted) return fault(aborted('duckdb'))
  const { duckdb } = found
  const totalMs = timeLimit(config, call.timeoutMs, DEFAULT_TIMEOUT_MS)
  const statement = await statementOf(config)
  const bounds = { rows: mostRows(config), bytes: options.resultBytes }
  const path = pathOf(config)
  try {
    return await underWatch({
      signal,
      totalMs,
      open: () => open(duckdb, path, options),
      work: (connection) => ask(duckdb, connection, statement, bounds),
    })
  } catch (error) {
    if (error instanceof ToolFault) throw error
    return fault(duckdbFault(error as Error))
  }
}

function pathOf(config: Fields): string {
  const path = given(config, 'database') ?? MEMORY
  if (typeof path !== 'string' || path === '') throw misfit('database must be the path of a file, or :memory:')
  return path
}

interface Bounds {
  readonly rows: number
  readonly bytes: number
}

/** All statements in order; the result is that of the last one. */
async function ask(duckdb: Duckdb, connection: Open, statement: Statement, bounds: Bounds): Promise<Envelope> {
  const { text, values } = statement
  const statements = await connection.extractStatements(text)
  if (statements.count === 0) throw misfit('there is no statement to run')
  if (statements.count > 1 && values.length > 0) throw misfit('params go with one statement, not with several')
  let result: Json = null
  for (let n = 0; n < statements.count; n++) {
    const prepared = await statements.prepare(n)
    try {
      if (values.length > 0) prepared.bind(values.map(bindable))
      result = await collected(duckdb, await prepared.stream(), bounds, statements.count)
    } finally {
      prepared.destroySync()
    }
  }
  return ok(result)
}

/** DuckDB has no JSON values: anything but a scalar is passed as text. */
function bindable(value: Json): string | number | bigint | boolean | null {
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value as number) : value
}

async function collected(duckdb: Duckdb, result: Result, bounds: Bounds, statements: number): Promise<Json> {
  const columns = result.deduplicatedColumnNames()
  const rows: Json[] = []
  let bytes = 0
  for await (const chunk of result.yieldConvertedRows(converterOf(duckdb))) {
    for (const row of chunk) rows.push(Object.fromEntries(columns.map((name, n) => [name, (row[n] ?? null) as Json])))
    if (rows.length > bounds.rows) throw tooMuch('TOO_MANY_ROWS', `${bounds.rows} rows (max_rows)`)
    bytes += JSON.stringify(chunk).length
    if (bytes > bounds.bytes) throw tooMuch('RESULT_TOO_LARGE', `${bounds.bytes} bytes`)
  }
  const changed = result.returnType === CHANGED_ROWS
  return rowsResult({
    rows: changed ? [] : rows,
    rowCount: changed ? result.rowsChanged : rows.length,
    columns: changed ? [] : columns,
    statements,
  })
}

function tooMuch(code: string, limit: string): ToolFault {
  const message = `the result has more than ${limit}; ask for less, page by page, or write it where it is needed`
  return new ToolFault({ kind: 'client_error', code, message })
}

function converterOf({ DuckDBTypeId, JsonDuckDBValueConverter }: Duckdb): Converter {
  return (value, type, converter) =>
    typeof value === 'bigint' || (type.typeId === DuckDBTypeId.DECIMAL && value !== null)
      ? exactNumber(String(value))
      : JsonDuckDBValueConverter(value, type, converter)
}

const KINDS: readonly (readonly [begins: RegExp, kind: ErrorKind])[] = [
  [/^Constraint Error/, 'db_constraint'],
  [/^Parser Error/, 'parse'],
  [STILL_OPEN, 'db_connection'],
  [/^(Binder|Catalog|Conversion|Invalid Input|Out of Range) Error/, 'schema'],
  [/^TransactionContext Error|^Transaction/, 'db_deadlock'],
  [/^IO Error: .*lock/is, 'db_connection'],
  [/^Permission Error/, 'storage_access'],
  [/^Out of Memory Error/, 'storage_quota'],
  [/^HTTP Error/, 'connection'],
]
const HOW_TO_ALLOW = '; to allow it, name its folder in --duckdb-allow, PETREL_DUCKDB_ALLOW or allowFolders'

function duckdbFault(error: Error): Fault {
  const text = error.message.replace(/^Failed to \w+ statements?: /, '')
  const kind = KINDS.find(([begins]) => begins.test(text))?.[1] ?? 'unknown'
  const name = /^([A-Z][A-Za-z ]*?) Error/.exec(text)?.[1] ?? 'Unknown'
  const message = kind === 'storage_access' ? text + HOW_TO_ALLOW : text
  return { kind, code: `DUCKDB_${name.toUpperCase().replaceAll(' ', '_')}`, message }
}
