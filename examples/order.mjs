// @ts-check
// The SDK: typed tasks, a chain in which each step takes the result of the previous one, and a result to wait for.
//
//   node examples/order.mjs [store]      default: sqlite::memory:
import { chain, group, job, Petrel, task } from 'petrel'

/** @typedef {{ id: string, amount: number }} Order */
/** @typedef {{ order: string, charge: string }} Charge */

const validate = task('order.validate', async (/** @type {Order} */ order) => {
  if (!(order.amount > 0)) throw new Error(`the amount of ${order.id} must be positive`)
  return order
})

// Takes the result of `validate`: the compiler refuses any other step before it.
const charge = task(
  'payment.charge',
  async (/** @type {null} */ _, /** @type {import('petrel').StepContext<Order>} */ ctx) => {
    const order = await ctx.previous()
    // ctx.key is the same for every attempt: with it as the idempotency key a retry is harmless.
    return { order: order.id, charge: `ch_${ctx.key.slice(-6)}` }
  },
)

const notify = task(
  'email.send',
  async (/** @type {string} */ template, /** @type {import('petrel').StepContext<Charge>} */ ctx) => {
    const { order } = await ctx.previous()
    return `${template} for ${order}`
  },
)

const petrel = await Petrel.open(process.argv[2] ?? 'sqlite::memory:')
petrel.handle(validate).handle(charge).handle(notify)
await petrel.work()

const order = chain(
  job(validate, { id: 'ord_123', amount: 42.5 }),
  job(charge, null, { retry: { maxAttempts: 5 }, timeoutMs: 5_000 }),
  group(job(notify, 'receipt'), job(notify, 'shipping')),
)
const handle = await petrel.start(order, { name: 'order' })
const mails = await handle.result()
console.log(mails.join('\n'))

await petrel.close()
