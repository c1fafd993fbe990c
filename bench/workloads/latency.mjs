// @ts-check
/** An idle system: a one-step workflow every 50 ms, from the call of start until its result is in hand. */
import { quantile, sleep } from '../figures.mjs'

const EVERY_MS = 50

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'latency',
  title: 'idle start → done',
  metrics: {
    p50: { title: 'idle start → done, p50', unit: 'ms', better: 'less' },
    p99: { title: 'idle start → done, p99', unit: 'ms', better: 'less' },
  },
  size: { full: 300, quick: 60 },

  async run({ petrel, sdk, size }) {
    petrel.handle('bench.step', (/** @type {{ n: number }} */ args) => ({ n: args.n }))
    await petrel.work()
    const once = async () => {
      const handle = await petrel.start(sdk.chain([sdk.job('bench.step', { n: 1 })]))
      await handle.result()
    }
    for (let i = 0; i < 200; i++) await once()
    await sleep(500)
    const latencies = []
    const from = performance.now()
    for (let i = 0; i < size; i++) {
      await sleep(Math.max(0, from + i * EVERY_MS - performance.now()))
      const began = performance.now()
      await once()
      latencies.push(performance.now() - began)
    }
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
  },
}
