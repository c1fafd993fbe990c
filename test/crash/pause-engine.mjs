// @ts-check
/**
 * An engine that pauses or resumes an instance, and stops itself (after reporting it) at the k-th pass of a named point:
 *
 *   { dist, url, arm: { point, at } | null, verb: 'pause' | 'resume', id } → { stopped: point } or { done: true }
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { dist, url, arm, verb, id } = JSON.parse(/** @type {string} */ (process.argv[2]))
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
const engine = await Engine.open({ store, probe: trap, pollMs: 60_000, sweep: false })
begun = true
if (verb === 'pause') await engine.pauseInstance({ id, actor: 'ada', reason: null, timeouts: 'stop' })
else await engine.unpauseInstance({ id, actor: 'bob' })
say({ done: true })
setInterval(() => {}, 1 << 30)
