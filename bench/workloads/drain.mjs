// @ts-check
/** A full queue: 20,000 no-op jobs wait, then one worker begins. Ends when the store holds every one as done. */
import { measured } from '../figures.mjs'

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'drain',
  title: 'drain of no-op jobs',
  metrics: {
    jobsPerSecond: { title: 'drain of no-op jobs', unit: 'jobs/s', better: 'more' },
    cpuPerJob: { title: 'drain, processor time', unit: 'µs/job', better: 'less' },
  },
  size: { full: 20_000, quick: 5_000 },

  async run({ petrel, sdk, size }) {
    await warmUp({ petrel, sdk })
    petrel.handle('bench.noop', () => null)
    const handles = []
    for (let first = 0; first < size; first += 1000) {
      const jobs = Array.from({ length: Math.min(1000, size - first) }, (_, i) => sdk.job('bench.noop', { i }))
      handles.push(...(await petrel.enqueueMany(jobs)))
    }
    const ended = handles.map(({ id }) => petrel.engine.ended({ id, kind: 'run' }))
    const { ms, cpuMicros } = await measured(async () => {
      await petrel.work({ types: ['bench.noop'] })
      await Promise.all(ended)
    })
    return { jobsPerSecond: (size * 1000) / ms, cpuPerJob: cpuMicros / size }
  },
}

/** The same code on other jobs, so that it is compiled when it counts. @param {Pick<import('../workload.mjs').Bench, 'petrel' | 'sdk'>} params */
async function warmUp({ petrel, sdk }) {
  petrel.handle('bench.warm', () => null)
  const worker = await petrel.work({ types: ['bench.warm'] })
  const handles = await petrel.enqueueMany(Array.from({ length: 2000 }, (_, i) => sdk.job('bench.warm', { i })))
  await Promise.all(handles.map(({ id }) => petrel.engine.ended({ id, kind: 'run' })))
  await worker.stop()
}
