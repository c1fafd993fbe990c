// @ts-check
/**
 * An engine whose runs have fair keys. It enqueues them (again, under the same idempotency keys, if a process before it was
 * killed), then claims some and reports them done, until nothing is left or it has claimed often enough:
 *
 *   { dist, url, keys, each, claims, arm: { point, at } | null } → { claimed: [key…] }…, then { stopped: point } or { finished: true }
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { dist, url, keys, each, claims, arm } = JSON.parse(/** @type {string} */ (process.argv[2]))
const { Engine, openStore } = await import(pathToFileURL(`${dist}/insides.js`).href)

const say = (/** @type {object} */ line) => void writeSync(1, `${JSON.stringify(line)}\n`)

let begun = false
let passed = 0
function trap(/** @type {string} */ point) {
  if (!begun || arm === null || arm.point !== point || ++passed < arm.at) return
  say({ stopped: point })
  // Blocks the whole process, as if the machine had stopped here.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

const store = await openStore(url, { probe: trap })
const engine = await Engine.open({ store, pollMs: 60_000, sweep: false })
await engine.sweep()
begun = true
for (const key of keys) {
  const runs = Array.from({ length: each }, (_, n) => ({ idempotencyKey: `${key}-${n}` }))
  await engine.enqueue(runs.map((run) => ({ ...run, type: 'x', payload: key, fairKey: key })))
}
const filter = { queues: null, types: ['x'], runtime: null, tenant: null, holder: `p${process.pid}` }
for (let n = 0; n < claims; n++) {
  const runs = await engine.leases.fetch({ ...filter, limit: 7, leaseMs: () => 60_000, waitMs: 0 })
  if (runs.length === 0) break
  say({ claimed: runs.map((/** @type {any} */ run) => JSON.parse(run.payload)) })
  const outcome = { kind: 'succeeded', result: null }
  await engine.leases.settle(
    runs.map((/** @type {any} */ { id }) => ({ runId: id, holder: filter.holder, attempt: null, outcome })),
  )
}
await engine.close()
await store.close()
say({ finished: true })
