// @ts-check
/**
 * One repetition of one workload on a fresh database, in a separate process. The parent receives the figures by IPC.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Meter } from './meter.mjs'
import { benchStore } from './stores/store.mjs'
import { workloads } from './workload.mjs'

const { name, storeKind, server, folder, size, counting, dist, given } = JSON.parse(process.argv[2] ?? '{}')
const workload = workloads.find((w) => w.name === name)
if (workload === undefined) throw new Error(`no workload is called '${name}'`)

/** A module of the build that is no part of the public API. @param {string} path @returns {Promise<any>} */
const internal = (path) => import(pathToFileURL(join(dist, path)).href)

// The parent is gone, or has its answer: servers and workers started by this process end with it.
process.once('disconnect', () => process.exit())

const store = await benchStore(storeKind, { server, folder, internal })
try {
  process.send?.(await measure(workload))
} finally {
  await store.remove()
}
process.disconnect?.()

/** @param {import('./workload.mjs').Workload} workload */
async function measure(workload) {
  const meter = new Meter(counting ? store : null)
  await meter.tap()
  const from = performance.now()
  const sdk = await internal('index.js')
  const loadMs = performance.now() - from
  const bench = { sdk, url: store.url, dist, store, size, meter, loadMs, given, internal }
  const figures = await (workload.opensItself
    ? workload.run({ ...bench, petrel: /** @type {any} */ (null), engine: null })
    : withPetrel(sdk, bench, workload))
  return { ...figures, ...(await meter.figures()) }
}

/** @param {any} sdk @param {any} bench @param {import('./workload.mjs').Workload} workload */
async function withPetrel(sdk, bench, workload) {
  const petrel = await sdk.Petrel.open(bench.url)
  try {
    const engine = engineIn(petrel, await internal('insides.js'))
    bench.meter.watch(engine.store)
    return await workload.run({ ...bench, petrel, engine })
  } finally {
    await petrel.close()
  }
}

/** Builds from before November 2026 expose it publicly. @param {any} petrel @param {any} insides */
function engineIn(petrel, { engineOf }) {
  return engineOf === undefined ? petrel.engine : engineOf(petrel)
}
