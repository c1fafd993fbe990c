// @ts-check
/**
 * Loaded into a real `petrel server` with `node --import`: kills it with SIGKILL the k-th time an ack decides about the
 * callbacks of a batch. PETREL_TRAP: { dist, point, at }.
 *
 *   before   the callbacks are decided, nothing is written
 *   during   the transaction is on its way to the database
 *   after    it is committed; neither the client nor a waiting worker has heard of it
 */
import { pathToFileURL } from 'node:url'

const { dist, point, at } = JSON.parse(/** @type {string} */ (process.env['PETREL_TRAP']))
const { Engine } = await import(pathToFileURL(`${dist}/engine/engine.js`).href)

let passed = 0
const die = () => process.kill(process.pid, 'SIGKILL')

/** @param {any} inner the store */
async function transact(inner, /** @type {any} */ transaction) {
  let dies = false
  const decide = (/** @type {any} */ loaded) => {
    const decision = transaction.decide(loaded)
    const made = decision.delta?.runs?.insert ?? []
    if (!dies && made.some((/** @type {any} */ run) => run.role === 'final')) dies = ++passed === at
    if (dies && point === 'before') die()
    if (dies && point === 'during') setImmediate(die)
    return decision
  }
  const outcome = await inner.transact({ ...transaction, decide })
  if (dies) die()
  return outcome
}

const open = Engine.open.bind(Engine)
Engine.open = (/** @type {any} */ options) => {
  const store = new Proxy(options.store, {
    get(target, name) {
      if (name === 'transact') return (/** @type {any} */ transaction) => transact(target, transaction)
      const value = target[name]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return open({ ...options, store })
}
