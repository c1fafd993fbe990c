// @ts-check
/**
 * An idle system: a one-step workflow every 50 ms, from the call of start until its result is available. Between any
 * two of them one durable commit of one row, for comparison: the same disk at the same moment, under the same load.
 */
import { quantile, sleep, timed } from '../figures.mjs'

const EVERY_MS = 50
/** In sequence, before the first measured one: about as many steps as the other workloads begin with. */
const WARM_UP = 6_000

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'latency',
  title: 'idle start → done',
  metrics: {
    p50: { title: 'idle start → done, p50', unit: 'ms', better: 'less' },
    p99: { title: 'idle start → done, p99', unit: 'ms', better: 'less' },
    commitP50: { title: 'one durable commit, p50', unit: 'ms', better: 'less' },
  },
  size: { full: 300, quick: 60 },

  async run({ petrel, sdk, size, store }) {
    petrel.handle('bench.step', (/** @type {{ n: number }} */ args) => ({ n: args.n }))
    await petrel.work()
    const once = async () => {
      const handle = await petrel.start(sdk.chain([sdk.job('bench.step', { n: 1 })]))
      await handle.result()
    }
    // While the engine's code is still being compiled, a start costs up to half as much again.
    for (let i = 0; i < WARM_UP; i++) await once()
    const committer = await store.committer()
    for (let i = 0; i < 20; i++) await committer.commit()
    await sleep(500)
    const latencies = []
    const commits = []
    const from = performance.now()
    for (let i = 0; i < size; i++) {
      await until(from + i * EVERY_MS)
      latencies.push(await timed(once))
      await until(from + (i + 0.5) * EVERY_MS)
      commits.push(await timed(committer.commit))
    }
    await committer.close()
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), commitP50: quantile(commits, 0.5) }
  },
}

/** @param {number} at */
function until(at) {
  return sleep(Math.max(0, at - performance.now()))
}
