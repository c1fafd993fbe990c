// @ts-check
/** A transaction that inserts one row and is durable when it returns, repeated without a pause. */
import { quantile, timed } from '../figures.mjs'

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'commit',
  title: 'durable commits in a row',
  metrics: { p50: { title: 'durable commits in a row, p50', unit: 'ms', better: 'less' } },
  opensItself: true,
  size: { full: 1000, quick: 300 },

  async run({ store, size }) {
    const committer = await store.committer()
    const latencies = []
    for (let i = 0; i < size + 50; i++) latencies.push(await timed(committer.commit))
    await committer.close()
    return { p50: quantile(latencies.slice(50), 0.5) }
  },
}
