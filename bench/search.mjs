// @ts-check
/**
 * How long a page of a search takes in a large database: a million ended instances and a million pending runs, on both stores;
 * a page of error groups, of which there are a fiftieth as many; the audit, of a million events; and the overview.
 *
 *     node bench/search.mjs [--store sqlite|postgres] [--rows 1000000]
 *
 * The rows are written by SQL. Every query is asked 20 times for the newest page, and 20 times for one in the middle of what it
 * finds; a query whose page is longer than LIMIT_MS is marked, and the exit code is 1.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, idOf, LIMIT_MS, onFilledStores, ROWS } from './filled.mjs'

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

await onFilledStores(async ({ url, insides }) => {
  const { openStore, parseInstanceSearch, parseRunSearch } = insides
  const opened = await openStore(url)
  const { search } = opened.read
  for (const q of INSTANCES)
    await pages(`instances ${q}`, (page) => search.instances({ search: parseInstanceSearch(q), ...page }))
  for (const q of RUNS)
    await pages(`runs ${q}`, (page) => search.runs({ search: parseRunSearch(q), maxBytes: 1_048_576, ...page }))
  const groups = { tenant: null, states: null, text: null, limit: 50, before: null }
  for (const more of [{}, { text: 'declined: 3' }, { text: 'none' }, { states: ['ignored'] }]) {
    const list = async () => (await opened.errorGroups.list({ ...groups, ...more })).rows.length
    await ask(`error groups ${JSON.stringify(more)}`, list)
  }
  for (const q of ['', 'tag:some', 'state:failed name:order-7']) {
    await ask(
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
  ]) {
    await ask(`audit ${JSON.stringify(more)}`, async () => (await audit({ ...audited, ...more })).rows.length)
  }
  await opened.close()
  await overviewOf(url, insides)
})

/** What concerns all tenants is read at most once a second: each of these requests reads it. @param {string} url @param {any} insides */
async function overviewOf(url, { openStore, Engine, VOCABULARIES, startServer }) {
  const store = await openStore(url)
  const engine = await Engine.open({ vocabularies: VOCABULARIES, store })
  const server = await startServer({ version: 'bench', port: 0, engine })
  const read = async () => {
    const overview = /** @type {any} */ (await (await fetch(`${server.url}/v1/overview`)).json())
    return overview.shared.queues.length
  }
  await ask('GET /v1/overview', read, LIMIT_MS, () => sleep(1_010))
  await server.close({ graceMs: 500 })
  await engine.close()
  await store.close()
}

/** @param {string} name @param {(page: object) => Promise<any>} read */
async function pages(name, read) {
  const page = { tenant: null, limit: 50, before: null }
  await ask(name, async () => (await read(page)).rows.length)
  const middle = idOf(ROWS / 2)
  await ask(`${name} (middle)`, async () => (await read({ ...page, before: middle })).rows.length)
}
