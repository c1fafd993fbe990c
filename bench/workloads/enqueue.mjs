// @ts-check
/** Enqueuing 20,000 jobs that no worker takes: one per call with 64 calls in flight, then 1,000 per call. */
import { timed, warmUp } from '../figures.mjs'

const IN_FLIGHT = 64
const BATCH = 1000

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'enqueue',
  title: 'enqueue',
  metrics: {
    singlePerSecond: { title: 'enqueue one by one, 64 in flight', unit: 'jobs/s', better: 'more' },
    batchedPerSecond: { title: 'enqueue 1,000 per call', unit: 'jobs/s', better: 'more' },
  },
  size: { full: 20_000, quick: 5_000 },

  async run({ petrel, sdk, size }) {
    const single = async (/** @type {number} */ count) => {
      let next = 0
      const caller = async () => {
        while (next < count) await petrel.enqueue('bench.noop', { i: next++ })
      }
      await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
    }
    const batched = async (/** @type {number} */ count) => {
      for (let first = 0; first < count; first += BATCH) {
        const length = Math.min(BATCH, count - first)
        await petrel.enqueueMany(Array.from({ length }, (_, i) => sdk.job('bench.noop', { i: first + i })))
      }
    }
    await warmUp(async () => {
      await single(size / 4)
      await batched(size / 4)
    })
    const singleMs = await timed(() => single(size))
    const batchedMs = await timed(() => batched(size))
    return { singlePerSecond: (size * 1000) / singleMs, batchedPerSecond: (size * 1000) / batchedMs }
  },
}
