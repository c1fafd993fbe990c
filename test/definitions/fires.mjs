// @ts-check
/**
 * A process that sweeps once, or runs a schedule, and is killed at the first transaction that records a fire, or starts what
 * was debounced:
 * { dist, url, point, run? }. before: it was decided. during: it is on its way to the database. after: it is committed.
 */
import { pathToFileURL } from 'node:url'

const { dist, url, point, run } = JSON.parse(/** @type {string} */ (process.argv[2]))
const { Engine, openStore, VOCABULARIES } = await import(pathToFileURL(`${dist}/insides.js`).href)

const die = () => process.kill(process.pid, 'SIGKILL')

const inner = await openStore(url)
const store = new Proxy(inner, {
  get(target, name) {
    if (name === 'transact') return transact
    const value = target[name]
    return typeof value === 'function' ? value.bind(target) : value
  },
})

async function transact(/** @type {any} */ transaction) {
  let fires = false
  const decide = (/** @type {any} */ loaded) => {
    const decision = transaction.decide(loaded)
    const { fires: fired = [], debounces } = decision.delta ?? {}
    fires = fired.length + (debounces?.remove ?? []).length > 0
    if (fires && point === 'before') die()
    if (fires && point === 'during') setImmediate(die)
    return decision
  }
  const outcome = await inner.transact({ ...transaction, decide })
  if (fires) die()
  return outcome
}

const engine = await Engine.open({ store, sweep: false, pollMs: 60_000, vocabularies: VOCABULARIES })
if (run === undefined) await engine.sweep()
else await engine.runSchedule(run.ref, run.request)
console.log(JSON.stringify({ survived: true }))
process.exit(0)
