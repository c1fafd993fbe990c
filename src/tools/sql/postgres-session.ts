/** One connection for one task, always closed at its end; loaded, with pg, when first needed. */
import pg from 'pg'
import type { Json } from '../../net/net.ts'
import type { Credentials } from '../credentials.ts'
import { aborted, fault, ok, ToolFault } from '../envelope.ts'
import { spokenMs, timeLimit } from '../timeout.ts'
import type { Envelope, ToolCall } from '../tool.ts'
import { type Target, targetOf } from './postgres-connection.ts'
import { postgresFault } from './postgres-errors.ts'
import type { DatabaseGuard } from './postgres-guard.ts'
import { readerOf } from './postgres-values.ts'
import { mostRows, rowsResult, type Statement, statementOf } from './statement.ts'

export interface PostgresOptions {
  readonly credentials: Credentials
  readonly guard: DatabaseGuard
  readonly resultBytes: number
}

const DEFAULT_TIMEOUT_MS = 300_000
const CONNECT_MS = 15_000
/** How long a cancelled statement may take to confirm. */
const GRACE_MS = 2000

export async function runStatement(call: ToolCall, options: PostgresOptions): Promise<Envelope> {
  const { config, signal } = call
  if (signal.aborted) return fault(aborted('postgres'))
  const totalMs = timeLimit(config, call.timeoutMs, DEFAULT_TIMEOUT_MS)
  const statement = await statementOf(config)
  const bounds = { rows: mostRows(config), bytes: options.resultBytes }
  const began = performance.now()
  const target = await targetOf(call, options.credentials, options.guard)
  const connect = (statementMs: number | null): Promise<pg.Client> =>
    connected(clientOf(target, { connectMs: Math.min(CONNECT_MS, totalMs), statementMs }), signal)
  let client: pg.Client
  try {
    client = await connect(totalMs).catch((error: Error) => {
      if (/unsupported startup parameter/.test(error.message)) return connect(null)
      throw error
    })
  } catch (error) {
    if (signal.aborted) return fault(aborted('postgres'))
    if (error instanceof ToolFault) throw error
    return postgresFault(error, [])
  }
  const canceller = (): pg.Client => clientOf(target, { connectMs: GRACE_MS, statementMs: null })
  return underWatch(
    { client, canceller, signal, ms: Math.max(1, totalMs - (performance.now() - began)), totalMs },
    () => ask(client, statement, bounds),
  )
}

interface Terms {
  readonly connectMs: number
  /** null: not set. Poolers refuse it. */
  readonly statementMs: number | null
}

function clientOf({ config, password }: Target, { connectMs, statementMs }: Terms): pg.Client {
  const client = new pg.Client({
    ...config,
    connectionTimeoutMillis: connectMs,
    application_name: 'petrel',
    ...(statementMs === null ? {} : { statement_timeout: statementMs }),
  })
  // Otherwise pg would look for one in PGPASSWORD and in .pgpass, and send it to whatever server the playbook names.
  if (password === null) Object.assign(client, { password: () => '' })
  return client
}

async function connected(client: pg.Client, signal: AbortSignal): Promise<pg.Client> {
  // Connections also break while idle; the next query reports that.
  client.on('error', () => {})
  const onAbort = (): void => cut(client)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await client.connect()
    return client
  } catch (error) {
    cut(client)
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

interface Watch {
  readonly client: pg.Client
  readonly canceller: () => pg.Client
  readonly signal: AbortSignal
  readonly ms: number
  readonly totalMs: number
}

/**
 * Cancels the statement on the server when the time limit has passed or it is no longer wanted, then cuts the
 * connection.
 */
async function underWatch(watch: Watch, work: () => Promise<Envelope>): Promise<Envelope> {
  const { client, canceller, signal, ms, totalMs } = watch
  let why: 'timeout' | 'aborted' | null = null
  let lastResort: NodeJS.Timeout | undefined
  const stop = (reason: 'timeout' | 'aborted'): void => {
    why ??= reason
    lastResort ??= setTimeout(() => cut(client), GRACE_MS)
    void cancel(client, canceller())
  }
  const onAbort = (): void => stop('aborted')
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => stop('timeout'), ms)
  if (signal.aborted) onAbort()
  try {
    const envelope = await work()
    if (envelope.status === 'ok' || why === null) return envelope
    if (why === 'aborted') return fault(aborted('postgres'))
    const message = `the statement did not end within ${spokenMs(totalMs)}`
    const { pg: state } = envelope
    return { ...fault({ kind: 'db_timeout', code: 'TIMEOUT', message }), ...(state === undefined ? {} : { pg: state }) }
  } finally {
    clearTimeout(timer)
    clearTimeout(lastResort)
    signal.removeEventListener('abort', onAbort)
    await close(client)
  }
}

interface Bounds {
  readonly rows: number
  readonly bytes: number
}

function ask(client: pg.Client, { text, values, missing }: Statement, bounds: Bounds): Promise<Envelope> {
  return new Promise((resolve) => {
    let bytes = 0
    const getTypeParser = (type: number): ((value: string) => Json) => {
      const read = readerOf(type)
      return (value) => {
        bytes += value.length
        return read(value)
      }
    }
    const query = new pg.Query({
      text,
      rowMode: 'array',
      types: { getTypeParser } as unknown as pg.CustomTypesConfig,
      ...(values.length === 0 ? {} : { values: [...values] }),
    } as pg.QueryArrayConfig)
    let rows: Json[] = []
    let owner: unknown = null
    query.on('row', (row: unknown, result: unknown) => {
      if (owner !== result) {
        owner = result
        rows = []
        bytes = 0
      }
      rows.push(namedRow(row as readonly Json[], (result as pg.QueryArrayResult).fields))
      if (rows.length <= bounds.rows && bytes <= bounds.bytes) return
      resolve(tooMuch(rows.length > bounds.rows, bounds))
      // The remaining rows are not read: there may be no end to them.
      cut(client)
    })
    query.on('error', (error: unknown) => resolve(postgresFault(error, missing)))
    query.on('end', (ended: unknown) => {
      const results = (Array.isArray(ended) ? ended : [ended]) as pg.QueryArrayResult[]
      const last = results.at(-1)
      resolve(
        ok(
          rowsResult({
            rows: last !== undefined && last === owner ? rows : [],
            rowCount: last?.rowCount ?? 0,
            columns: last?.fields.map(({ name }) => name) ?? [],
            statements: results.length,
          }),
        ),
      )
    })
    client.query(query)
  })
}

function namedRow(values: readonly Json[], fields: readonly pg.FieldDef[]): Json {
  return Object.fromEntries(fields.map(({ name }, n) => [name, values[n] ?? null]))
}

function tooMuch(byRows: boolean, { rows, bytes }: Bounds): Envelope {
  const limit = byRows ? `${rows} rows (max_rows)` : `${bytes} bytes`
  const message = `the result has more than ${limit}; ask for less, page by page, or write it where it is needed`
  return fault({ kind: 'client_error', code: byRows ? 'TOO_MANY_ROWS' : 'RESULT_TOO_LARGE', message })
}

async function cancel(client: pg.Client, other: pg.Client): Promise<void> {
  const { processID } = client as pg.Client & { readonly processID?: number | null }
  other.on('error', () => {})
  try {
    await other.connect()
    await other.query('SELECT pg_cancel_backend($1)', [processID ?? 0])
  } catch {
    // Only cutting the connection remains.
  } finally {
    await close(other)
  }
}

async function close(client: pg.Client): Promise<void> {
  const late = setTimeout(() => cut(client), GRACE_MS)
  await client.end().catch(() => {})
  clearTimeout(late)
}

function cut(client: pg.Client): void {
  const { connection } = client as pg.Client & { readonly connection: { readonly stream: { destroy(): void } } }
  connection.stream.destroy()
}
