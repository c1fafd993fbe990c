// @ts-check
/**
 * A process that goes back, and is stopped before or after the commit of that.
 *
 *   { dist, url, verb, params, point } → { stopped: point }; then it is killed
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { dist, url, verb, params, point } = JSON.parse(/** @type {string} */ (process.argv[2]))
const { Engine, openStore } = await import(pathToFileURL(`${dist}/insides.js`).href)

let armed = false
const store = await openStore(url, {
  probe: (/** @type {string} */ at) => {
    if (!armed || at !== point) return
    writeSync(1, `${JSON.stringify({ stopped: point })}\n`)
    // Blocks the whole process, as if the machine had stopped here.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
})
const engine = await Engine.open({ store, sweep: false })
armed = true
await engine[verb](params)
writeSync(1, `${JSON.stringify({ stopped: 'nowhere' })}\n`)
