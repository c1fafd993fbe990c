// @ts-check
/**
 * A full queue whose runs have no key, one key, ten, or a thousand: 20,000 pending no-op jobs, then one worker begins. All four
 * are measured in the same process, so that their ratios count even on a machine that does other work.
 */
import { measured, warmUp } from '../figures.mjs'

const KEYS = [0, 1, 10, 1_000]

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'fair',
  title: 'drain of a queue that keys share',
  metrics: Object.fromEntries(
    KEYS.flatMap((keys) => [
      [`jobsPerSecond${keys}`, { title: `drain, ${keys} keys`, unit: 'jobs/s', better: 'more' }],
      [`cpuPerJob${keys}`, { title: `drain, ${keys} keys, processor time`, unit: 'µs/job', better: 'less' }],
    ]),
  ),
  size: { full: 100_000, quick: 5_000 },

  async run({ petrel, engine, sdk, size }) {
    const types = ['bench.fair.warm', ...KEYS.map((keys) => `bench.fair.${keys}`)]
    for (const type of types) petrel.handle(type, () => null)
    const fill = async (/** @type {string} */ type, /** @type {number} */ keys) => {
      const ids = []
      for (let first = 0; first < size; first += 1000) {
        const jobs = Array.from({ length: Math.min(1000, size - first) }, (_, i) =>
          sdk.job(type, { i }, keys === 0 ? {} : { fairKey: `customer-${(first + i) % keys}` }),
        )
        for (const { id } of await petrel.enqueueMany(jobs)) ids.push(id)
      }
      return ids
    }
    const drain = async (/** @type {string} */ type, /** @type {readonly string[]} */ ids) => {
      const ended = ids.map((id) => engine.ended({ id, kind: 'run' }))
      const worker = await petrel.work({ types: [type] })
      await Promise.all(ended)
      await worker.stop()
    }
    await warmUp(async () => drain('bench.fair.warm', await fill('bench.fair.warm', 10)))
    /** @type {Record<string, number>} */
    const figures = {}
    for (const keys of KEYS) {
      const ids = await fill(`bench.fair.${keys}`, keys)
      const { ms, cpuMicros } = await measured(() => drain(`bench.fair.${keys}`, ids))
      figures[`jobsPerSecond${keys}`] = (size * 1000) / ms
      figures[`cpuPerJob${keys}`] = cpuMicros / size
    }
    return figures
  },
}
