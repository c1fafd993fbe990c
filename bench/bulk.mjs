// @ts-check
/**
 * How many items per second a bulk operation reaches, and what an item costs this process: each action on the same instances, one
 * operation after the other, on both stores.
 *
 *     node bench/bulk.mjs [--store sqlite|postgres] [--items 5000] [--rate 60000]
 *
 * Without --rate nothing limits the operations. With the highest permitted one, 60,000 per minute, a store that keeps up shows a
 * little less than 1,000 items per second.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measured, sleep } from './figures.mjs'
import { postgresServer } from './server.mjs'
import { benchStore } from './stores/store.mjs'

const { values: options } = parseArgs({
  options: {
    store: { type: 'string' },
    items: { type: 'string', default: '5000' },
    rate: { type: 'string' },
  },
})
const ITEMS = Number(options.items)
const RATE = options.rate === undefined ? null : Number(options.rate)

/** In this order, each on what the one before has left. */
const ACTIONS = [
  ['pause', 'state:running'],
  ['resume', 'has:paused'],
  ['cancel', 'state:running'],
  ['retry', 'state:cancelled'],
  ['cancel', 'state:running'],
  ['delete', 'state:cancelled'],
]

/** A step that no worker takes. */
const STEP = {
  key: 'pay',
  work: { kind: 'run', type: 'pay', queue: 'default', priority: 100, delayMs: 0, args: null, limitKey: null },
  ...{ join: 'each', admit: null, retry: null, timeout: null, onFailure: 'net', undo: null },
  next: { mode: 'every', arcs: [], scope: null },
}
const NET = {
  ...{ version: 1, name: 'order', dialect: 'bench', entry: ['pay'], finals: [], onFailure: 'abort', unknown: 'ignore' },
  ...{
    verdict: { failedOn: 'unhandled', partial: false },
    timeoutMs: null,
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
  },
  nodes: [STEP],
}

const folder = mkdtempSync(join(process.env['PETREL_BENCH_TMP'] ?? tmpdir(), 'petrel-bulk-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const dist = new URL('../dist/', import.meta.url)
/** @param {string} path @returns {Promise<any>} */
const internal = (path) => import(new URL(path, dist).href)

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

/** @param {string} kind @param {string} url */
async function measure(kind, url) {
  const { Engine, openStore, VOCABULARIES } = await internal('insides.js')
  const store = await openStore(url)
  await store.migrate()
  const engine = await Engine.open({ store, vocabularies: VOCABULARIES })
  console.log(`\n${kind}: ${ITEMS} items`)
  console.log(
    `${'action'.padEnd(10)} ${'items'.padStart(8)} ${'refused'.padStart(8)} ${'per second'.padStart(12)} ${'µs CPU/item'.padStart(12)}`,
  )
  for (let first = 0; first < ITEMS; first += 1000) {
    await engine.start(Array.from({ length: Math.min(1000, ITEMS - first) }, () => ({ net: NET })))
  }
  for (const [action, query] of ACTIONS) await carriedOut(engine, /** @type {string} */ (action), query)
  await engine.close()
  await store.close()
}

/** @param {any} engine @param {string} action @param {string | undefined} query */
async function carriedOut(engine, action, query) {
  /** @type {any} */
  let row
  const { ms, cpuMicros } = await measured(async () => {
    row = await engine.bulk.create({
      ...{ tenant: null, actor: 'bench', reason: null, action, target: 'instances', query, rate: RATE },
      parameters: action === 'pause' ? { timeouts: 'stop' } : {},
    })
    while (row.state === 'running') {
      await sleep(20)
      row = await engine.bulk.get(row.id)
    }
  })
  const perSecond = Math.round((row.matched * 1000) / ms)
  console.log(
    `${action.padEnd(10)} ${String(row.matched).padStart(8)} ${String(row.refused + row.failed).padStart(8)} ${String(perSecond).padStart(12)} ${String(Math.round(cpuMicros / row.matched)).padStart(12)}`,
  )
}
