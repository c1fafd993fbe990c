// @ts-check
/**
 * A worker as run by an operator: started, and stopped by SIGTERM. Its steps take some time and record their effect.
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const settings = JSON.parse(/** @type {string} */ (process.argv[2]))
const load = (/** @type {string} */ file) => import(pathToFileURL(`${settings.dist}/${file}`).href)
const [{ Petrel }, { openDatabase }] = await Promise.all([load('index.js'), load('insides.js')])
const say = (/** @type {object} */ line) => void writeSync(1, `${JSON.stringify(line)}\n`)

const effects = await openDatabase(settings.effectsFile)
effects.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF')
const insert = effects.prepare('INSERT INTO test_effect (run_id, attempt, pid, at) VALUES (?, ?, ?, ?)')

const petrel = await Petrel.open(settings.url, { pollMs: 50 })
let executing = 0
petrel.handle('step', async (/** @type {number} */ n, /** @type {any} */ ctx) => {
  insert.run(ctx.runId, ctx.attempt, process.pid, Date.now())
  if (++executing === settings.concurrency) say({ busy: true })
  await new Promise((resolve) => setTimeout(resolve, settings.stepMs))
  executing--
  return n
})
await petrel.work({ concurrency: settings.concurrency })
process.once('SIGTERM', async () => {
  say({ stopping: executing })
  await petrel.close({ graceMs: settings.graceMs })
  say({ stopped: executing })
  // Referenced here so that it is not collected, and closed, during its statement.
  effects.close()
  process.exit(0)
})
say({ ready: true })
