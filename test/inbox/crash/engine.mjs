// @ts-check
/**
 * An engine without workers, to be killed. It stops itself (after reporting it) at the k-th pass of a named point:
 *
 *   { dist, url, arm: { point, at } | null } → { ready }, { stopped: point }
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { dist, url, arm } = JSON.parse(/** @type {string} */ (process.argv[2]))
const { Engine, openStore } = await import(pathToFileURL(`${dist}/insides.js`).href)

const say = (/** @type {object} */ line) => void writeSync(1, `${JSON.stringify(line)}\n`)

let passed = 0
function trap(/** @type {string} */ point) {
  if (arm === null || arm.point !== point || ++passed < arm.at) return
  say({ stopped: point })
  // Blocks the whole process, as if the machine had stopped here.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

const store = await openStore(url, { probe: trap })
await Engine.open({ store, probe: trap, pollMs: 60_000 })
say({ ready: true })
// The engine's own timers do not keep a process alive.
setInterval(() => {}, 1 << 30)
