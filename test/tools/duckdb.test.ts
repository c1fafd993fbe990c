import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { afterAll, describe, expect, it } from 'vitest'
import { duckdbTool } from '../../src/tools/sql/duckdb.ts'
import { loadDuckdb } from '../../src/tools/sql/duckdb-module.ts'
import { call, errorOf, resultOf } from './calling.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'petrel-duckdb-')))
const inFolder = { tools: { allowFolders: [folder] } }
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf('missing' in loadDuckdb())('duckdb', () => {
  it('works in memory, with values as JSON, without rounding', async () => {
    const query = `SELECT 42 AS a, 9007199254740993 AS big, count(*) AS n, 1.50::DECIMAL(10,2) AS price, 0.5::DOUBLE AS f,
      [1, 2]::BIGINT[] AS list, {'x': 1::HUGEINT} AS struct, DATE '2026-01-02' AS d, NULL AS nothing, true AS b, 'nan'::DOUBLE AS nan`
    const result = await resultOf('duckdb', { query })
    expect(result).toMatchObject({ row_count: 1, status: 'success', statement_count: 1 })
    expect(result.rows).toEqual([
      {
        a: 42,
        big: '9007199254740993',
        n: 1,
        price: 1.5,
        f: 0.5,
        list: [1, 2],
        struct: { x: 1 },
        d: '2026-01-02',
        nothing: null,
        b: true,
        nan: 'NaN',
      },
    ])
    expect(result.columns[0]).toBe('a')
  })

  it('runs several statements; the result is the last', async () => {
    const commands = 'CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2); SELECT sum(a) AS sum FROM t;'
    expect(await resultOf('duckdb', { commands })).toMatchObject({ rows: [{ sum: 3 }], statement_count: 3 })
    const changed = 'CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)'
    expect(await resultOf('duckdb', { commands: changed })).toMatchObject({ rows: [], row_count: 2, columns: [] })
  })

  it('keeps a database in a file, also for tasks at the same time', async () => {
    const database = join(folder, 'kept.duckdb')
    await resultOf('duckdb', { database, command: 'CREATE TABLE t (a INT)' }, inFolder)
    const insert = (n: number) =>
      resultOf('duckdb', { database, command: 'INSERT INTO t VALUES ($1)', params: [n] }, inFolder)
    await Promise.all([1, 2, 3, 4].map(insert))
    expect((await resultOf('duckdb', { database, query: 'SELECT sum(a) AS n FROM t' }, inFolder)).rows).toEqual([
      { n: 10 },
    ])
  })

  it('takes params by name', async () => {
    const query = 'SELECT :a::INT + $b::INT AS sum, :c AS c'
    const params = { a: 1, b: 2, c: { x: 1 } }
    expect((await resultOf('duckdb', { query, params })).rows).toEqual([{ sum: 3, c: '{"x":1}' }])
  })

  it('takes params in order, of every type of JSON', async () => {
    const query = 'SELECT $1 + 1 AS a, $2 AS b, $3 AS c, $4 AS d, $5 AS e FROM range(9) LIMIT $6'
    const params = [1, 0.5, 'x', true, 1e20, 1]
    expect((await resultOf('duckdb', { query, params })).rows).toEqual([
      { a: 2, b: 0.5, c: 'x', d: true, e: 100000000000000000000 },
    ])
    const injected = "'; DROP TABLE t; --"
    expect((await resultOf('duckdb', { query: 'SELECT $1 AS x', params: [injected] })).rows).toEqual([{ x: injected }])
    const several = { query: 'SELECT 1; SELECT $1', params: [1] }
    expect(await errorOf('duckdb', several)).toMatchObject({ code: 'FIELD_INVALID' })
  })

  it('rolls back a transaction that fails', async () => {
    const database = join(folder, 'transaction.duckdb')
    await resultOf('duckdb', { database, command: 'CREATE TABLE t (a INT PRIMARY KEY)' }, inFolder)
    const command = 'BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (1); COMMIT'
    expect(await errorOf('duckdb', { database, command }, inFolder)).toMatchObject({ kind: 'db_constraint' })
    expect((await resultOf('duckdb', { database, query: 'SELECT count(*) AS n FROM t' }, inFolder)).rows).toEqual([
      { n: 0 },
    ])
  })

  it.each([
    ['SELEC 1', 'parse', 'DUCKDB_PARSER'],
    ['SELECT * FROM nowhere', 'schema', 'DUCKDB_CATALOG'],
    ["SELECT 'x'::INT", 'schema', 'DUCKDB_CONVERSION'],
    ['CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1), (1)', 'db_constraint', 'DUCKDB_CONSTRAINT'],
  ])('%s is an error of kind %s', async (command, kind, code) => {
    expect(await errorOf('duckdb', { command })).toMatchObject({ kind, code, retryable: false })
  })

  it('reads no more rows than max_rows', async () => {
    const query = 'SELECT * FROM range(1000000000)'
    expect(await errorOf('duckdb', { query, max_rows: 10 })).toMatchObject({ code: 'TOO_MANY_ROWS' })
  })

  it('reads no more bytes than a result may have', async () => {
    const query = "SELECT repeat('x', 1000) AS x FROM range(100000)"
    const tools = { maxResultBytes: 1_000_000 }
    expect(await errorOf('duckdb', { query }, { tools })).toMatchObject({ code: 'RESULT_TOO_LARGE' })
  })

  it('holds no more in memory than allowed', async () => {
    const query = 'SELECT list(range) AS all FROM range(20000000)'
    const error = await errorOf('duckdb', { query }, { tools: { duckdbMemory: '50MB' } })
    expect(error).toMatchObject({ kind: 'storage_quota', code: 'DUCKDB_OUT_OF_MEMORY' })
    expect(() => call('duckdb', { query }, { tools: { duckdbMemory: 'much' } })).toThrow(
      '"much" is not an amount of memory',
    )
  })

  const ENDLESS = 'SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE hash(a.range, b.range) = 7'

  it('ends at its timeout or when the run is cancelled', async () => {
    expect(await errorOf('duckdb', { query: ENDLESS, timeout: 0.2 })).toMatchObject({
      kind: 'db_timeout',
      code: 'TIMEOUT',
      message: 'the statement did not end within 200 ms',
    })
    const cancelled = new AbortController()
    const asked = errorOf('duckdb', { query: ENDLESS }, { signal: cancelled.signal })
    setTimeout(() => cancelled.abort(), 100)
    expect(await asked).toMatchObject({ kind: 'cancelled', code: 'ABORTED' })
  })

  it('of many at a time some wait, and none is lost: they end, or time out while they wait', async () => {
    const cancelled = new AbortController()
    const long = [1, 2].map(() => errorOf('duckdb', { query: ENDLESS }, { signal: cancelled.signal }))
    expect(await errorOf('duckdb', { query: 'SELECT 1', timeout: 0.2 })).toMatchObject({ code: 'TIMEOUT' })
    const waiting = [1, 2, 3, 4, 5, 6].map((n) => resultOf('duckdb', { query: `SELECT ${n} AS n` }))
    cancelled.abort()
    for (const error of await Promise.all(long)) expect(error).toMatchObject({ code: 'ABORTED' })
    expect((await Promise.all(waiting)).map(({ rows }) => rows[0].n)).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('lets the process continue meanwhile', async () => {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    await resultOf('duckdb', { query: 'SELECT 1' })
    delay.enable()
    expect(await errorOf('duckdb', { query: ENDLESS, timeout: 1 })).toMatchObject({ code: 'TIMEOUT' })
    const rows = await resultOf('duckdb', { query: 'SELECT range AS n, hash(range) AS h FROM range(50000)' })
    delay.disable()
    expect(rows.row_count).toBe(50_000)
    // Half the time of the statement: neither it nor reading many rows blocks the event loop for long.
    expect(delay.max / 1e6).toBeLessThan(500)
  })
})

describe.skipIf('missing' in loadDuckdb())('files that statements of duckdb name', () => {
  const open = join(folder, 'open')
  const closed = join(folder, 'closed')
  for (const each of [open, closed]) {
    mkdirSync(each)
    writeFileSync(join(each, 'a.csv'), 'a\n1\n')
  }
  symlinkSync(join(closed, 'a.csv'), join(open, 'link.csv'))
  const allowed = { tools: { allowFolders: [open] } }

  it.each([
    ['a file', `SELECT * FROM '${closed}/a.csv'`],
    ['a file by an indirect path', `SELECT * FROM '${open}/../closed/a.csv'`],
    ['a file by a link', `SELECT * FROM '${open}/link.csv'`],
    ['a file to write', `COPY (SELECT 1) TO '${closed}/new.csv'`],
    ['a database to attach', `ATTACH '${closed}/new.duckdb' AS other`],
    ['names of files', "SELECT * FROM glob('/etc/*')"],
    ['something in the network', "SELECT * FROM 'http://127.0.0.1:1/a.csv'"],
    ['an extension', 'INSTALL httpfs'],
    ['an extension that is there', 'LOAD httpfs'],
  ])('are refused, with a hint how to allow them: %s', async (_what, query) => {
    for (const options of [{ tools: { allowFolders: [] } }, allowed]) {
      const error = await errorOf('duckdb', { query }, options)
      expect(error).toMatchObject({ kind: 'storage_access', code: 'DUCKDB_PERMISSION', retryable: false })
      expect(error.message).toContain('PETREL_DUCKDB_ALLOW')
    }
    expect(existsSync(join(closed, 'new.csv'))).toBe(false)
  })

  it('databases outside the allowed directories are refused: none is opened or created', async () => {
    symlinkSync(join(closed, 'kept.duckdb'), join(open, 'link.duckdb'))
    symlinkSync(closed, join(open, 'away'))
    const outside = ['kept.duckdb', 'a.csv'].map((name) => join(closed, name))
    for (const database of [
      ...outside,
      join(open, '../closed/new.duckdb'),
      join(open, 'link.duckdb'),
      join(open, 'away/x.duckdb'),
      'md:x',
      'here.duckdb',
    ]) {
      for (const options of [{}, allowed]) {
        const error = await errorOf('duckdb', { query: 'SELECT 1', database }, options)
        expect(error).toMatchObject({ kind: 'storage_access', code: 'DUCKDB_PERMISSION', retryable: false })
        expect(error.message).toContain('--duckdb-allow')
      }
    }
    expect(existsSync(join(closed, 'new.duckdb')) || existsSync(join(closed, 'kept.duckdb'))).toBe(false)
  })

  it.each([
    'SET enable_external_access = true',
    "SET allowed_directories = ['/']",
    'RESET lock_configuration',
    "SET memory_limit = '1TB'",
  ])('stay refused: %s', async (statement) => {
    expect(await errorOf('duckdb', { query: statement })).toMatchObject({
      kind: 'schema',
      message: expect.stringContaining('configuration has been locked'),
    })
  })

  it('are read and written in allowed directories, also for a database in a file', async () => {
    for (const more of [{}, { database: join(open, 'fenced.duckdb') }]) {
      const commands = `COPY (SELECT a + 1 AS b FROM '${open}/a.csv') TO '${open}/b.csv'; SELECT * FROM '${open}/b.csv'`
      expect((await resultOf('duckdb', { commands, ...more }, allowed)).rows).toEqual([{ b: 2 }])
      expect(readFileSync(join(open, 'b.csv'), 'utf8')).toBe('b\n2\n')
    }
    const attach = `ATTACH '${open}/more.duckdb' AS more; CREATE TABLE more.t AS SELECT 7 AS a; SELECT a FROM more.t`
    expect((await resultOf('duckdb', { commands: attach }, allowed)).rows).toEqual([{ a: 7 }])
  })

  it('are refused to tasks that share a database, in any interleaving', async () => {
    const query = `SELECT * FROM '${closed}/a.csv'`
    // Many of them: occasionally one opens the database while the last user is closing it.
    const database = join(open, 'shared.duckdb')
    const asked = Array.from({ length: 200 }, () => errorOf('duckdb', { database, query }, allowed))
    for (const error of await Promise.all(asked)) expect(error).toMatchObject({ code: 'DUCKDB_PERMISSION' })
  })

  it('can be retried if this process has the file open as another database', async () => {
    const commands = `ATTACH '${open}/twice.duckdb' AS once; ATTACH '${open}/twice.duckdb' AS again`
    expect(await errorOf('duckdb', { commands }, allowed)).toMatchObject({
      kind: 'db_connection',
      retryable: true,
      message: expect.stringContaining('already attached'),
    })
  })

  it('are allowed by PETREL_DUCKDB_ALLOW, or all of them', async () => {
    const query = `SELECT * FROM '${closed}/a.csv'`
    process.env['PETREL_DUCKDB_ALLOW'] = `${open}, ${closed}`
    try {
      expect((await resultOf('duckdb', { query })).rows).toEqual([{ a: 1 }])
    } finally {
      delete process.env['PETREL_DUCKDB_ALLOW']
    }
    for (const allowFolders of [true, ['all']] as const) {
      expect((await resultOf('duckdb', { query }, { tools: { allowFolders } })).rows).toEqual([{ a: 1 }])
    }
  })
})

describe('duckdb that is not installed', () => {
  const tool = duckdbTool({
    load: () => ({ missing: 'kind duckdb needs the package @duckdb/node-api' }),
    allowFolders: [],
    memory: '1GB',
    resultBytes: 1000,
  })

  it('is a problem at validation, with the reason', () => {
    expect(tool.check({ query: 'SELECT 1' })).toEqual([
      {
        path: [],
        message: 'kind duckdb needs the package @duckdb/node-api',
        hint: 'Install it where the workers run: npm install @duckdb/node-api.',
      },
    ])
  })

  it('is an error of kind unsupported when run', async () => {
    const silent = { debug() {}, info() {}, warn() {}, error() {} }
    const signal = new AbortController().signal
    const envelope = await tool.run({
      config: { query: 'SELECT 1' },
      input: {},
      context: {},
      tenant: null,
      signal,
      timeoutMs: null,
      key: '',
      logger: silent,
      conceal() {},
    })
    expect(envelope).toMatchObject({ status: 'error', error: { kind: 'unsupported', code: 'DUCKDB_MISSING' } })
  })
})
