// @ts-check
/** A full queue: 20,000 pending no-op jobs, then one worker begins. Ends when the store has recorded all as done. */
import { measured, warmUp } from '../figures.mjs'

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'drain',
  title: 'drain of no-op jobs',
  metrics: {
    jobsPerSecond: { title: 'drain of no-op jobs', unit: 'jobs/s', better: 'more' },
    cpuPerJob: { title: 'drain, processor time', unit: 'µs/job', better: 'less' },
  },
  size: { full: 20_000, quick: 5_000 },

  async run({ petrel, engine, sdk, size }) {
    petrel.handle('bench.warm', () => null)
    petrel.handle('bench.noop', () => null)
    const fill = async (/** @type {string} */ type) => {
      const ids = []
      for (let first = 0; first < size; first += 1000) {
        const jobs = Array.from({ length: Math.min(1000, size - first) }, (_, i) => sdk.job(type, { i }))
        for (const { id } of await petrel.enqueueMany(jobs)) ids.push(id)
      }
      return ids
    }
    const drain = async (/** @type {string} */ type, /** @type {readonly string[]} */ ids) => {
      const ended = ids.map((id) => engine.ended({ id, kind: 'run' }))
      const worker = await petrel.work({ types: [type] })
      await Promise.all(ended)
      return worker
    }
    await warmUp(async () => {
      const worker = await drain('bench.warm', await fill('bench.warm'))
      await worker.stop()
    })
    const ids = await fill('bench.noop')
    const { ms, cpuMicros } = await measured(() => drain('bench.noop', ids))
    return { jobsPerSecond: (size * 1000) / ms, cpuPerJob: cpuMicros / size }
  },
}
