// @ts-check
/** The yardstick of latency: a transaction that inserts one row and is durable when it returns. */
import { quantile } from '../figures.mjs'

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'commit',
  title: 'one durable commit',
  metrics: { p50: { title: 'one durable commit, p50', unit: 'ms', better: 'less' } },
  opensItself: true,
  size: { full: 1000, quick: 300 },

  async run({ store, size }) {
    await store.commitLatencies(50)
    return { p50: quantile(await store.commitLatencies(size), 0.5) }
  },
}
