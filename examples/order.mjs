// The SDK: typed tasks, a chain in which each step takes what the one before gives, a result that is awaited.
//
//   node examples/order.mjs [store]      default: sqlite::memory:
import { chain, group, job, Petrel, task } from 'petrel'

const validate = task('order.validate', async (/** @type {{ id: string, amount: number }} */ order) => {
  if (!(order.amount > 0)) throw new Error(`the amount of ${order.id} must be positive`)
  return order
})
