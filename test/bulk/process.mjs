// @ts-check
/**
 * A process that carries out bulk operations until it is killed where it stands, the k-th time it passes a named point:
 * { dist, url, at: { point, time } | null }. Without a point it ends when no operation runs any more.
 */
import { pathToFileURL } from 'node:url'

const settings = JSON.parse(/** @type {string} */ (process.argv[2]))
const { Engine, openStore, VOCABULARIES } = await import(pathToFileURL(`${settings.dist}/insides.js`).href)

let passed = 0
const probe = (/** @type {string} */ point) => {
  if (point === settings.at?.point && ++passed === settings.at.time) process.kill(process.pid, 'SIGKILL')
}
const store = await openStore(settings.url, { probe })
const engine = await Engine.open({ store, probe, pollMs: 50, vocabularies: VOCABULARIES })
const all = { tenant: null, states: ['running'], limit: 1, before: null }
while ((await engine.bulk.list(all)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
await engine.close()
await store.close()
console.log(JSON.stringify({ finished: true }))
process.exit(0)
