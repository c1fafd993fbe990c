// @ts-check
/**
 * How long a page of a search takes in a large database: a million ended instances and a million pending runs, on both stores;
 * a page of error groups, of which there are a fiftieth as many; the audit, of a million events; and the overview.
 *
 *     node bench/search.mjs [--store sqlite|postgres] [--rows 1000000] [--json]
 *
 * The rows are written by SQL. Every query is asked 20 times for the newest page, and 20 times for one in the middle of what it
 * finds; a query whose page is longer than LIMIT_MS is marked, and the exit code is 1.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { quantile } from './figures.mjs'
import { postgresServer } from './server.mjs'
import { benchStore } from './stores/store.mjs'

const LIMIT_MS = 30
const TIMES = 20

const { values: options } = parseArgs({
  options: {
    store: { type: 'string' },
    rows: { type: 'string', default: '1000000' },
    json: { type: 'boolean', default: false },
  },
})
const ROWS = Number(options.rows)

const INSTANCES = [
  '',
  'state:failed',
  'state:failed,cancelled name:order-7',
  'name:order-7',
  'name:none',
  'name:none state:completed',
  'tag:rare',
  'tag:some',
  'tag:some,rare state:failed',
  'tag:all -tag:some name:none',
  'tag:all state:completed age:>1000d',
  'error:declined state:failed name:order-0',
  'input.id:117',
  '-state:completed,failed',
  'took:>10d notation:dag',
  'has:gate',
  'nested:true',
]
const RUNS = [
  '',
  'status:pending',
  'status:pending type:rare.v1',
  'status:pending type:rare.v1 queue:bulk',
  'type:none.*',
  'status:failed',
  'attempt:>0',
  'dead:true',
  'dead:true type:none',
  'status:leased',
  'age:>1000d queue:bulk',
]

const T0 = 1_700_000_000_000

/** A term, on one of how many instances. @type {readonly (readonly [string, number, number])[]} */
const TERMS = [
  ['i:tag:all', 1, 0],
  ['i:tag:some', 100, 0],
  ['i:tag:rare', 100_000, 0],
  ['i:error:declined', 10, 0],
  ['i:input.id:117', ROWS, 0],
]

const folder = mkdtempSync(join(process.env['PETREL_BENCH_TMP'] ?? tmpdir(), 'petrel-search-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const dist = new URL('../dist/', import.meta.url)
/** @param {string} path @returns {Promise<any>} */
const internal = (path) => import(new URL(path, dist).href)

/** @type {{ store: string, query: string, first: number, most: number }[]} */
const slow = []
for (const kind of /** @type {const} */ (['sqlite', 'postgres'])) {
  if (options.store !== undefined && options.store !== kind) continue
  const server = kind === 'postgres' ? await postgresServer() : null
  if (kind === 'postgres' && server === null) {
    console.log('Postgres is not installed here; name a server with PETREL_BENCH_POSTGRES_URL.')
    continue
  }
  const store = await benchStore(kind, { server: server?.url ?? '', folder, internal })
  try {
    await measure(kind, store.url)
  } finally {
    await store.remove()
    await server?.stop()
  }
}
process.exitCode = slow.length === 0 ? 0 : 1

/** @param {'sqlite' | 'postgres'} kind @param {string} url */
async function measure(kind, url) {
  const { openStore, parseInstanceSearch, parseRunSearch, openDatabase } = await internal('insides.js')
  const opened = await openStore(url)
  await opened.migrate()
  const began = performance.now()
  await (kind === 'sqlite' ? fillSqlite(url, openDatabase) : fillPostgres(url))
  console.log(
    `\n${kind}: ${ROWS} ended instances, ${ROWS} pending runs (${Math.round((performance.now() - began) / 1000)} s)`,
  )
  console.log(`${'query'.padEnd(52)} ${'rows'.padStart(5)} ${'p50 ms'.padStart(8)} ${'max ms'.padStart(8)}`)
  const { search } = opened.read
  for (const q of INSTANCES)
    await pages(kind, `instances ${q}`, (page) => search.instances({ search: parseInstanceSearch(q), ...page }))
  for (const q of RUNS)
    await pages(kind, `runs ${q}`, (page) => search.runs({ search: parseRunSearch(q), maxBytes: 1_048_576, ...page }))
  const groups = { tenant: null, states: null, text: null, limit: 50, before: null }
  for (const more of [{}, { text: 'declined: 3' }, { text: 'none' }, { states: ['ignored'] }]) {
    const list = async () => (await opened.errorGroups.list({ ...groups, ...more })).rows.length
    await ask(kind, `error groups ${JSON.stringify(more)}`, list, LIMIT_MS)
  }
  for (const q of ['', 'tag:some', 'state:failed name:order-7']) {
    await ask(
      kind,
      `counts of instances ${q}`,
      async () => (await search.instanceCounts({ search: parseInstanceSearch(q), tenant: null })).length,
      1000,
    )
  }
  const { audit } = opened.read.overview
  const audited = { actor: null, tenant: null, before: null, limit: 50 }
  for (const more of [
    {},
    { before: ROWS / 2 },
    { actor: 'rare' },
    { actor: 'none' },
    { tenant: 'none' },
    { actor: 'ann', tenant: 'few' },
  ])
    await ask(
      kind,
      `audit ${JSON.stringify(more)}`,
      async () => (await audit({ ...audited, ...more })).rows.length,
      LIMIT_MS,
    )
  await opened.close()
  await overviewOf(kind, url)
}

/** What concerns all tenants is read at most once a second: each of these requests reads it. @param {string} kind @param {string} url */
async function overviewOf(kind, url) {
  const { openStore, Engine, VOCABULARIES, startServer } = await internal('insides.js')
  const store = await openStore(url)
  const engine = await Engine.open({ vocabularies: VOCABULARIES, store })
  const server = await startServer({ version: 'bench', port: 0, engine })
  const read = async () => {
    const overview = /** @type {any} */ (await (await fetch(`${server.url}/v1/overview`)).json())
    return overview.shared.queues.length
  }
  await ask(kind, 'GET /v1/overview', read, LIMIT_MS, () => sleep(1_010))
  await server.close({ graceMs: 500 })
  await engine.close()
  await store.close()
}

/** @param {string} kind @param {string} name @param {(page: object) => Promise<any>} read */
async function pages(kind, name, read) {
  const page = { tenant: null, limit: 50, before: null }
  await ask(kind, name, async () => (await read(page)).rows.length, LIMIT_MS)
  const middle = idOf(ROWS / 2)
  await ask(kind, `${name} (middle)`, async () => (await read({ ...page, before: middle })).rows.length, LIMIT_MS)
}

/** `rest`: before each call. @param {string} kind @param {string} name @param {() => Promise<number>} once @param {number} limit @param {() => Promise<void>} [rest] */
async function ask(kind, name, once, limit, rest) {
  const took = []
  let rows = 0
  for (let i = 0; i <= TIMES; i++) {
    await rest?.()
    const from = performance.now()
    rows = await once()
    // The first one reads pages from the disk and compiles code.
    if (i > 0) took.push(performance.now() - from)
  }
  const [p50, most] = [quantile(took, 0.5), Math.max(...took)]
  const late = p50 > limit
  if (late) slow.push({ store: kind, query: name, first: p50, most })
  console.log(
    `${name.padEnd(52)} ${String(rows).padStart(5)} ${p50.toFixed(2).padStart(8)} ${most.toFixed(2).padStart(8)}${late ? '  ✗' : ''}`,
  )
}

/** The id of the instance with this number. @param {number} n */
function idOf(n) {
  const time = (T0 + n).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
}

/** @param {string} url */
async function fillPostgres(url) {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const id = `(lpad(to_hex(${T0} + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid`
  const at = `to_timestamp(${T0 / 1000}) + n * interval '1 second'`
  const numbers = `generate_series(1::bigint, ${ROWS}::bigint) n`
  for (const sql of [
    `INSERT INTO workflow.workflow_instance (id, root_id, net_hash, name, dialect, state, phase, outcome, failed, created_at, started_at, ended_at)
     SELECT ${id}, ${id}, 'bench', 'order-' || (n % 50), 'dag', CASE n % 10 WHEN 0 THEN 'failed' ELSE 'completed' END, 'ended',
       CASE n % 10 WHEN 0 THEN 'failed' ELSE 'success' END, CASE n % 10 WHEN 0 THEN 1 ELSE 0 END, ${at}, ${at}, ${at} + interval '1 minute' FROM ${numbers}`,
    `INSERT INTO workflow.workflow_run (id, type, payload, queue, run_at, created_at, engine_turn)
     SELECT ${id}, CASE WHEN n % 50000 = 0 THEN 'rare.v1' ELSE 'mail.send.v1' END, '{"order": 1}', 'bulk', ${at}, ${at}, true FROM ${numbers}`,
    ...TERMS.map(
      ([term, every, offset]) =>
        `INSERT INTO workflow.workflow_term (id, term) SELECT ${id}, '${term}' FROM ${numbers} WHERE n % ${every} = ${offset}`,
    ),
    `INSERT INTO workflow.workflow_error_group (fingerprint, state, regressed, type, code, message, count, first_at, last_at, definitions, workers,
       last_message, last_run_id, state_at)
     SELECT lpad(to_hex(n), 16, '0'), 'open', false, 'card.charge', 'declined', 'the card of order # was declined: ' || n % 7, 1, ${at}, ${at},
       '["order"]', '["w1"]', 'the card was declined', ${id}, ${at} FROM ${numbers} WHERE n % 50 = 0`,
    `INSERT INTO workflow.workflow_event (event_type, data, created_at, actor, tenant, engine)
     SELECT CASE n % 100 WHEN 0 THEN 'queue.paused' ELSE 'succeeded' END, '{"queue": "mail"}', ${at},
       CASE WHEN n % 50000 = 0 THEN 'rare' WHEN n % 2 = 0 THEN 'ann' END, CASE WHEN n % 50000 = 0 THEN 'few' END, true FROM ${numbers}`,
    `INSERT INTO workflow.workflow_total (queue, minute, succeeded, busy_ms, busy_1)
     SELECT 'queue-' || q, date_trunc('minute', now()) - m * interval '1 minute', 1, 1, 1 FROM generate_series(1, 100) q, generate_series(0, 59) m`,
    'VACUUM ANALYZE',
  ]) {
    await client.query(sql)
  }
  await client.end()
}

/** @param {string} url @param {(path: string) => Promise<any>} openDatabase */
async function fillSqlite(url, openDatabase) {
  const database = await openDatabase(url.slice('sqlite:'.length))
  const id = `printf('%08x-%04x-7000-8000-%012x', (${T0} + n) >> 16, (${T0} + n) & 65535, n)`
  const at = `${T0} + n * 1000`
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS})`
  database.exec(`BEGIN;
    ${numbers} INSERT INTO workflow_instance (id, root_id, net_hash, name, dialect, state, phase, outcome, failed, created_at, started_at, ended_at)
      SELECT ${id}, ${id}, 'bench', 'order-' || (n % 50), 'dag', iif(n % 10 = 0, 'failed', 'completed'), 'ended',
        iif(n % 10 = 0, 'failed', 'success'), iif(n % 10 = 0, 1, 0), ${at}, ${at}, ${at} + 60000 FROM numbers;
    ${numbers} INSERT INTO workflow_run (id, type, payload, queue, run_at, created_at, updated_at, engine_turn)
      SELECT ${id}, iif(n % 50000 = 0, 'rare.v1', 'mail.send.v1'), '{"order": 1}', 'bulk', ${at}, ${at}, ${at}, 1 FROM numbers;
    ${TERMS.map(([term, every, offset]) => `${numbers} INSERT INTO workflow_term (id, term) SELECT ${id}, '${term}' FROM numbers WHERE n % ${every} = ${offset};`).join('\n')}
    ${numbers} INSERT INTO workflow_error_group (fingerprint, state, regressed, type, code, message, count, first_at, last_at, definitions, workers,
        last_message, last_run_id, state_at)
      SELECT printf('%016x', n), 'open', 0, 'card.charge', 'declined', 'the card of order # was declined: ' || (n % 7), 1, ${at}, ${at},
        '["order"]', '["w1"]', 'the card was declined', ${id}, ${at} FROM numbers WHERE n % 50 = 0;
    ${numbers} INSERT INTO workflow_event (event_type, data, created_at, actor, tenant, engine)
      SELECT iif(n % 100 = 0, 'queue.paused', 'succeeded'), '{"queue": "mail"}', ${at},
        iif(n % 50000 = 0, 'rare', iif(n % 2 = 0, 'ann', NULL)), iif(n % 50000 = 0, 'few', NULL), 1 FROM numbers;
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5999)
      INSERT INTO workflow_total (queue, minute, succeeded, busy_ms, busy_1)
      SELECT 'queue-' || (n % 100), (unixepoch() / 60 - n / 100) * 60000, 1, 1, 1 FROM numbers;
    COMMIT;`)
  database.close()
}
