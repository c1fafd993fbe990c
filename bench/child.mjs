// @ts-check
/** One repetition of one workload on a fresh database, in a process of its own. The parent gets the figures by IPC. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Meter } from './meter.mjs'
import { benchStore } from './stores/store.mjs'
import { workloads } from './workload.mjs'

const { name, storeKind, server, size, counting, dist, given } = JSON.parse(process.argv[2] ?? '{}')
const workload = workloads.find((w) => w.name === name)
if (workload === undefined) throw new Error(`no workload is called '${name}'`)

const store = await benchStore(storeKind, { server, dist })
try {
  process.send?.(await measure(workload))
} finally {
  await store.remove()
}
process.disconnect?.()

/** @param {import('./workload.mjs').Workload} workload */
async function measure(workload) {
  const from = performance.now()
  const sdk = await import(pathToFileURL(join(dist, 'index.js')).href)
  const loadMs = performance.now() - from
  const meter = new Meter(counting ? store : null)
  const bench = { sdk, url: store.url, store, size, meter, loadMs, given }
  if (workload.opensItself) return workload.run({ ...bench, petrel: /** @type {any} */ (null) })
  await meter.tap(dist)
  const petrel = await sdk.Petrel.open(store.url)
  try {
    meter.watch(petrel)
    return await workload.run({ ...bench, petrel })
  } finally {
    await meter.close()
    await petrel.close()
  }
}
