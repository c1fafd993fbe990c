// @ts-check
/**
 * Databases with many rows, written by SQL: ended instances and pending runs with terms, a fiftieth as many error groups,
 * as many events, half of them by people, and the counts of a hundred queues for the last hour.
 * And how long questions to them take: each is asked TIMES times, and one whose median is longer than its limit is marked.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { quantile } from './figures.mjs'
import { postgresServer } from './server.mjs'
import { benchStore } from './stores/store.mjs'

export const LIMIT_MS = 30
const TIMES = 20

const { values: options } = parseArgs({
  options: { store: { type: 'string' }, rows: { type: 'string', default: '1000000' } },
})
export const ROWS = Number(options.rows)

const T0 = 1_700_000_000_000

/** A term, on one of how many instances. @type {readonly (readonly [string, number, number])[]} */
const TERMS = [
  ['i:tag:all', 1, 0],
  ['i:tag:some', 100, 0],
  ['i:tag:rare', 100_000, 0],
  ['i:error:declined', 10, 0],
  ['i:input.id:117', ROWS, 0],
]

const dist = new URL('../dist/', import.meta.url)
/** @param {string} path @returns {Promise<any>} */
const internal = (path) => import(new URL(path, dist).href)

let slow = 0

/**
 * Fills a fresh database on each store, and measures. The exit code is 1 if anything was too slow.
 * @param {(filled: { url: string, insides: any, sdk: any }) => Promise<void>} measure
 */
export async function onFilledStores(measure) {
  const folder = mkdtempSync(join(process.env['PETREL_BENCH_TMP'] ?? tmpdir(), 'petrel-filled-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const kind of /** @type {const} */ (['sqlite', 'postgres'])) {
    if (options.store !== undefined && options.store !== kind) continue
    const server = kind === 'postgres' ? await postgresServer() : null
    if (kind === 'postgres' && server === null) {
      console.log('Postgres is not installed here; name a server with PETREL_BENCH_POSTGRES_URL.')
      continue
    }
    const store = await benchStore(kind, { server: server?.url ?? '', folder, internal })
    try {
      const insides = await internal('insides.js')
      await fill(kind, store.url, insides)
      await measure({ url: store.url, insides, sdk: await internal('index.js') })
    } finally {
      await store.remove()
      await server?.stop()
    }
  }
  process.exitCode = slow === 0 ? 0 : 1
}

/** @param {'sqlite' | 'postgres'} kind @param {string} url @param {any} insides */
async function fill(kind, url, { openStore, openDatabase }) {
  const store = await openStore(url)
  await store.migrate()
  await store.close()
  const began = performance.now()
  await (kind === 'sqlite' ? fillSqlite(url, openDatabase) : fillPostgres(url))
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(`\n${kind}: ${ROWS} ended instances, ${ROWS} pending runs (${seconds} s)`)
  console.log(`${'query'.padEnd(52)} ${'rows'.padStart(5)} ${'p50 ms'.padStart(8)} ${'max ms'.padStart(8)}`)
}

/** `rest`: before each call. @param {string} name @param {() => Promise<number>} once @param {number} [limit] @param {() => Promise<void>} [rest] */
export async function ask(name, once, limit = LIMIT_MS, rest) {
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
  if (late) slow++
  console.log(
    `${name.padEnd(52)} ${String(rows).padStart(5)} ${p50.toFixed(2).padStart(8)} ${most.toFixed(2).padStart(8)}${late ? '  ✗' : ''}`,
  )
}

/** The id of the instance with this number. @param {number} n */
export function idOf(n) {
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
