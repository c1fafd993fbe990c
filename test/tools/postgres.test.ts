import { createServer } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Fields } from '../../src/tools/tool.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'
import { type CallOptions, call, errorOf, resultOf, until } from './calling.ts'

describe.skipIf(postgresUrl() === null)('postgres', () => {
  let database: FreshDatabase
  let watcher: pg.Client
  const ask = (config: Fields, options: CallOptions = {}) =>
    resultOf('postgres', { url: database.url, ...config }, options)
  const failing = (config: Fields, options: CallOptions = {}) =>
    errorOf('postgres', { url: database.url, ...config }, options)

  beforeAll(async () => {
    process.env['PETREL_POSTGRES_ALLOW'] = 'all'
    database = await freshDatabase()
    watcher = new pg.Client({ connectionString: database.url })
    await watcher.connect()
    await watcher.query('CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, price numeric CHECK (price > 0))')
  })
  afterAll(async () => {
    delete process.env['PETREL_POSTGRES_ALLOW']
    await watcher.end()
    await database.drop()
  })

  /** Connections of tools, not Petrel's own. */
  const connections = async (): Promise<number> => {
    const { rows } = await watcher.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'petrel' AND datname = current_database()",
    )
    return rows[0].n
  }

  it('returns rows, their number and the columns', async () => {
    expect(await ask({ query: "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, NULL" })).toEqual({
      rows: [
        { a: 1, b: 'x' },
        { a: 2, b: null },
      ],
      row_count: 2,
      columns: ['a', 'b'],
      status: 'success',
      statement_count: 1,
    })
  })

  it.each(['command', 'query', 'sql'])('takes the statement under %s', async (field) => {
    expect((await ask({ [field]: 'SELECT 1 AS a' })).rows).toEqual([{ a: 1 }])
  })

  it('returns the number of changed rows', async () => {
    const inserted = await ask({ command: "INSERT INTO item VALUES (1, 'one', 1), (2, 'two', 2)" })
    expect(inserted).toMatchObject({ rows: [], row_count: 2, columns: [] })
    expect(await ask({ command: 'DELETE FROM item RETURNING id' })).toMatchObject({ row_count: 2, columns: ['id'] })
    expect(await ask({ command: 'CREATE TEMP TABLE t (a int)' })).toMatchObject({ rows: [], row_count: 0 })
  })

  it('runs several statements as one: the result is the last, and a failure undoes all', async () => {
    const result = await ask({ command: "INSERT INTO item VALUES (3, 'three', 3); SELECT 1; SELECT name FROM item; " })
    expect(result).toMatchObject({ rows: [{ name: 'three' }], statement_count: 3 })
    await failing({ command: "INSERT INTO item VALUES (4, 'four', 4); SELECT 1 / 0" })
    expect(await ask({ command: 'DELETE FROM item; SELECT count(*) AS n FROM item' })).toMatchObject({
      rows: [{ n: 0 }],
    })
    expect(await ask({ command: 'SELECT 1; CREATE TEMP TABLE t (a int)' })).toMatchObject({ rows: [], columns: [] })
  })

  it('takes params in order or by name', async () => {
    const query = 'SELECT $1::int + $2::int AS sum'
    expect((await ask({ query, params: [1, '2'] })).rows).toEqual([{ sum: 3 }])
    const named = `SELECT :a::int AS a, ':a' AS quoted, "b" AS b, :list::int[] AS list, :map::jsonb AS map, :a::int * 2 AS twice
      -- :a
      FROM (SELECT $$:a$$ AS "b") AS t /* :a /* nested */ :b */`
    expect((await ask({ query: named, params: { a: 4, list: [1, 2], map: { x: [1] } } })).rows).toEqual([
      { a: 4, quoted: ':a', b: ':a', list: [1, 2], map: { x: [1] }, twice: 8 },
    ])
    const injected = "'; DROP TABLE item; --"
    expect((await ask({ query: 'SELECT :x::text AS x', params: { x: injected } })).rows).toEqual([{ x: injected }])
    const error = await failing({ query: 'SELECT :nmae', params: { name: 1 } })
    expect(error.message).toContain('(params have no nmae)')
  })

  it('returns values as JSON, without rounding', async () => {
    const query = `SELECT 9007199254740991::int8 AS safe, 9007199254740993::int8 AS big, count(*) AS n,
      1.50::numeric AS price, 0.1234567890123456789::numeric AS long, 'NaN'::numeric AS nan, 'Infinity'::float8 AS inf,
      1.5::float8 AS f, true AS b, '{"a": [1]}'::jsonb AS j, ARRAY[1, NULL]::int8[] AS list, ARRAY[[1.50],[2]]::numeric[] AS deep,
      '{a,"b,c"}'::text[] AS texts, '\\x00ff'::bytea AS bytes, '2026-01-02 03:04:05.678901'::timestamp AS ts,
      '2026-01-02'::date AS d, '1 day'::interval AS i, 'infinity'::timestamptz AS forever, null AS nothing`
    const { rows } = await ask({ query })
    expect(rows).toEqual([
      {
        safe: 9007199254740991,
        big: '9007199254740993',
        n: 1,
        price: 1.5,
        long: '0.1234567890123456789',
        nan: 'NaN',
        inf: 'Infinity',
        f: 1.5,
        b: true,
        j: { a: [1] },
        list: [1, null],
        deep: [[1.5], [2]],
        texts: ['a', 'b,c'],
        bytes: 'AP8=',
        ts: '2026-01-02T03:04:05.678901',
        d: '2026-01-02',
        i: '1 day',
        forever: 'infinity',
        nothing: null,
      },
    ])
    const zoned = await ask({ query: "SET TIME ZONE 'Asia/Kolkata'; SELECT '2026-01-02 03:04:05Z'::timestamptz AS t" })
    expect(zoned.rows).toEqual([{ t: '2026-01-02T08:34:05+05:30' }])
  })

  it('keeps the changes of a transaction only if it is committed', async () => {
    const committed = "BEGIN; INSERT INTO item VALUES (31, 'a', 1); COMMIT; SELECT 1"
    expect(await ask({ command: committed })).toMatchObject({ statement_count: 4 })
    const rolledBack = "BEGIN; INSERT INTO item VALUES (32, 'b', 1); ROLLBACK"
    await ask({ command: rolledBack })
    // Left open, it ends with the connection.
    await ask({ command: "BEGIN; INSERT INTO item VALUES (33, 'c', 1)" })
    await failing({ command: "BEGIN; INSERT INTO item VALUES (34, 'd', 1); SELECT 1 / 0; COMMIT" })
    expect((await ask({ command: 'DELETE FROM item RETURNING id' })).rows).toEqual([{ id: 31 }])
  })

  it('takes a list of statements, and params only with a single one', async () => {
    const commands = ["INSERT INTO item VALUES (35, 'a', 1)", 'DELETE FROM item RETURNING id']
    expect(await ask({ commands })).toMatchObject({ rows: [{ id: 35 }], statement_count: 2 })
    const error = await failing({ command: 'SELECT $1::int; SELECT 2', params: [1] })
    expect(error).toMatchObject({ kind: 'parse', code: 'PG_42601' })
  })

  it('does not hang on a statement that uses the copy protocol', async () => {
    expect(await failing({ command: 'COPY item FROM STDIN' })).toMatchObject({ kind: expect.any(String) })
    expect(await ask({ command: 'COPY item TO STDOUT' })).toMatchObject({ rows: [] })
    expect(await ask({ command: 'LISTEN x; NOTIFY x' })).toMatchObject({ rows: [] })
  })

  it.each([
    ["INSERT INTO item VALUES (9, 'x', 1), (9, 'y', 1)", 'db_constraint', '23505', false],
    ['INSERT INTO item VALUES (9, NULL, 1)', 'db_constraint', '23502', false],
    ["INSERT INTO item VALUES (9, 'x', -1)", 'db_constraint', '23514', false],
    ['SELEC 1', 'parse', '42601', false],
    ['SELECT * FROM nowhere', 'schema', '42P01', false],
    ['SELECT 1 / 0', 'schema', '22012', false],
    ['SET statement_timeout = 10; SELECT pg_sleep(60)', 'db_timeout', '57014', true],
    ["DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'x'; END $$", 'storage_access', '42501', false],
    ["DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'x'; END $$", 'storage_quota', '53100', false],
    ["DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01', MESSAGE = 'x'; END $$", 'db_deadlock', '40P01', true],
    ["DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'x'; END $$", 'db_deadlock', '40001', true],
    ["DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '57P01', MESSAGE = 'x'; END $$", 'db_connection', '57P01', true],
    ["DO $$ BEGIN RAISE EXCEPTION 'own'; END $$", 'unknown', 'P0001', false],
  ])('%s is an error of kind %s', async (command, kind, state, retryable) => {
    expect(await call('postgres', { url: database.url, command })).toMatchObject({
      status: 'error',
      error: { kind, code: `PG_${state}`, retryable },
      pg: { code: state, sqlstate: state },
    })
  })

  it('reports the constraint', async () => {
    const error = await failing({ command: "INSERT INTO item VALUES (9, 'x', -1)" })
    expect(error.details).toMatchObject({ constraint: 'item_price_check', table: 'item' })
  })

  it('reports a real deadlock', async () => {
    await ask({ command: "INSERT INTO item VALUES (21, 'a', 1), (22, 'b', 1)" })
    const cross = (first: number, second: number) =>
      call('postgres', {
        url: database.url,
        command: `UPDATE item SET price = 2 WHERE id = ${first}; SELECT pg_sleep(0.3); UPDATE item SET price = 2 WHERE id = ${second}`,
      })
    const ends = await Promise.all([cross(21, 22), cross(22, 21)])
    const failed = ends.filter(({ status }) => status === 'error')
    expect(failed).toMatchObject([{ error: { kind: 'db_deadlock', code: 'PG_40P01', retryable: true } }])
    await ask({ command: 'DELETE FROM item' })
  })

  it('ends a statement at its timeout, on the server too', async () => {
    const error = await failing({ query: 'SELECT pg_sleep(60)', timeout: 0.2 })
    expect(error).toMatchObject({ kind: 'db_timeout', retryable: true })
    const several = { query: 'SELECT pg_sleep(0.3); SELECT pg_sleep(0.3); SELECT pg_sleep(60)', timeout: 0.5 }
    expect(await failing(several)).toMatchObject({ kind: 'db_timeout' })
    await until('no connection is left', async () => (await connections()) === 0)
  })

  it('cancels the statement when the run is cancelled', async () => {
    const cancelled = new AbortController()
    const asked = failing({ query: 'SELECT pg_sleep(60)' }, { signal: cancelled.signal })
    await until('it runs', async () => (await connections()) === 1)
    cancelled.abort()
    expect(await asked).toMatchObject({ kind: 'cancelled', code: 'ABORTED' })
    await until('no connection is left', async () => (await connections()) === 0)
  })

  it('reads no more rows than max_rows, and no more bytes than a result may have', async () => {
    const endless = 'SELECT generate_series(1, 1000000000) AS n'
    const error = await failing({ query: endless, max_rows: 100 })
    expect(error).toMatchObject({ kind: 'client_error', code: 'TOO_MANY_ROWS', retryable: false })
    expect(error.message).toContain('more than 100 rows (max_rows)')
    expect((await ask({ query: 'SELECT generate_series(1, 100) AS n', max_rows: 100 })).row_count).toBe(100)
    const wide = { query: "SELECT repeat('x', 100000) AS x FROM generate_series(1, 1000)" }
    expect(await failing(wide, { tools: { maxResultBytes: 1_000_000 } })).toMatchObject({ code: 'RESULT_TOO_LARGE' })
    await until('no connection is left', async () => (await connections()) === 0)
  })

  it('finds its database by parts, or by a credential', async () => {
    const { hostname, port, username, password, pathname } = new URL(database.url)
    const parts = {
      db_host: hostname,
      db_port: port,
      db_user: username,
      db_password: password,
      db_name: pathname.slice(1),
    }
    const query = 'SELECT current_database() AS name'
    const config = { query, auth: parts }
    expect((await resultOf('postgres', config)).rows).toEqual([{ name: pathname.slice(1) }])
    process.env['PETREL_CREDENTIAL_PG_TEST'] = JSON.stringify(parts)
    process.env['PETREL_CREDENTIAL_PG_URL'] = database.url
    try {
      expect((await resultOf('postgres', { query, auth: 'pg_test' })).row_count).toBe(1)
      expect((await resultOf('postgres', { query, credential: 'pg-url' })).row_count).toBe(1)
    } finally {
      delete process.env['PETREL_CREDENTIAL_PG_TEST']
      delete process.env['PETREL_CREDENTIAL_PG_URL']
    }
    expect(await errorOf('postgres', { query, auth: 'pg_test' })).toMatchObject({ code: 'CREDENTIAL_UNKNOWN' })
  })

  it('reports a connection that cannot be made', async () => {
    const query = 'SELECT 1'
    const wrong = new URL(database.url)
    wrong.pathname = '/nowhere'
    expect(await call('postgres', { query, url: wrong.href })).toMatchObject({
      error: { kind: 'db_connection', code: 'PG_3D000', retryable: false },
    })
    const refused = { query, auth: { host: '127.0.0.1', port: 1, user: 'x' } }
    expect(await errorOf('postgres', refused)).toMatchObject({
      kind: 'db_connection',
      code: 'PG_ECONNREFUSED',
      retryable: true,
    })
    const mute = createServer(() => {})
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const { port } = mute.address() as { port: number }
    const silent = { query, auth: { host: '127.0.0.1', port, user: 'x' }, timeout: 0.2 }
    expect(await errorOf('postgres', silent)).toMatchObject({ kind: 'db_connection', retryable: true })
    const cancelled = new AbortController()
    const asked = errorOf('postgres', { ...silent, timeout: 60 }, { signal: cancelled.signal })
    setTimeout(() => cancelled.abort(), 50)
    expect(await asked).toMatchObject({ kind: 'cancelled', code: 'ABORTED' })
    mute.close()
  })

  it('sends no server a password of its own environment', async () => {
    const heard: Buffer[] = []
    const greedy = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (data) => heard.push(data))
      // AuthenticationCleartextPassword: asks for the password.
      socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]))
    })
    await new Promise<void>((resolve) => greedy.listen(0, '127.0.0.1', resolve))
    const { port } = greedy.address() as { port: number }
    process.env['PGPASSWORD'] = 'hidden-password'
    try {
      for (const auth of [{ host: '127.0.0.1', port, user: 'x' }, `postgres://x@127.0.0.1:${port}/x`]) {
        await errorOf('postgres', { query: 'SELECT 1', auth, timeout: 0.3 })
      }
    } finally {
      delete process.env['PGPASSWORD']
      greedy.close()
    }
    expect(heard.length).toBeGreaterThan(0)
    expect(Buffer.concat(heard).toString()).not.toContain('hidden-password')
  })

  it('reports a connection that is lost in the middle', async () => {
    const asked = failing({ query: 'SELECT pg_sleep(60)' })
    await until('it runs', async () => (await connections()) === 1)
    await watcher.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petrel' AND datname = current_database()",
    )
    expect(await asked).toMatchObject({ kind: 'db_connection', retryable: true })
  })
})
