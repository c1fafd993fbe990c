// @ts-check
/**
 * A process to be killed while its handler logs. On the first execution it logs three lines, waits until they are stored,
 * logs one more and stops the process: that line is in memory alone. Later executions log one line and end.
 *
 *   { dist, url } → { ready }, { stored: lines }…, { stopped: true }
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { dist, url } = JSON.parse(/** @type {string} */ (process.argv[2]))
const { Engine, openStore, petrelOn } = await import(pathToFileURL(`${dist}/insides.js`).href)
const say = (/** @type {object} */ line) => void writeSync(1, `${JSON.stringify(line)}\n`)

let stored = () => {}
const engine = await Engine.open({
  store: await openStore(url),
  sessionTtlMs: 700,
  heartbeatMs: 100,
  pollMs: 50,
  probe: (/** @type {string} */ point) => {
    if (point === 'after-log') stored()
  },
})
const petrel = petrelOn(engine)
petrel.handle('noisy', async (/** @type {unknown} */ _, /** @type {any} */ ctx) => {
  if (ctx.attempt > 1) return ctx.log.info('again')
  const flushed = new Promise((resolve) => {
    stored = () => resolve(null)
  })
  for (const text of ['one', 'two', 'three']) ctx.log.info(text)
  await flushed
  say({ stored: 3 })
  ctx.log.info('lost')
  say({ stopped: true })
  // Blocks the whole process, as if the machine had stopped here.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
await petrel.work({ pollMs: 50 })
say({ ready: true })
