// @ts-check
/**
 * One group of 1,000, 10,000 and 100,000 jobs: the cost of a job from the start of the group until all results are
 * read, and the peak memory. The cost should be flat: nothing may grow with the size of a group.
 */
import { readFileSync } from 'node:fs'
import { timed } from '../figures.mjs'

/** @param {number} size @param {string} label */
function groupOf(size, label) {
  /** @type {import('../workload.mjs').Workload} */
  const workload = {
    name: `group-${label}`,
    title: `group of ${label}`,
    metrics: {
      microsPerJob: { title: `group of ${label}`, unit: 'µs/job', better: 'less' },
      peakRssMb: { title: `group of ${label}, peak RSS`, unit: 'MB', better: 'less' },
    },
    size: { full: size, quick: size > 10_000 ? null : size },

    async run({ petrel, sdk, size }) {
      petrel.handle('bench.child', (/** @type {{ n: number }} */ args) => ({ n: args.n }))
      await petrel.work()
      const run = async (/** @type {number} */ count) => {
        const handle = await petrel.start(
          sdk.group(Array.from({ length: count }, (_, n) => sdk.job('bench.child', { n }))),
        )
        const results = /** @type {{ n: number }[]} */ (await handle.result())
        if (results.length !== count) throw new Error(`${results.length} results instead of ${count}`)
        results.forEach((result, n) => {
          if (result?.n !== n) throw new Error(`result ${n} is ${JSON.stringify(result)}`)
        })
      }
      // The same warm-up for every size: otherwise the small group would pay for compiling, which the large one spreads
      // out.
      for (let i = 0; i < 10; i++) await run(1000)
      const ms = await timed(() => run(size))
      return { microsPerJob: (ms * 1000) / size, peakRssMb: peakRssMb() }
    },
  }
  return workload
}

/** The kernel's own high-water mark: a sampler inside would miss peaks while the event loop is blocked. */
function peakRssMb() {
  try {
    const kb = /^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    if (kb !== undefined) return Number(kb) / 1024
  } catch {
    // not Linux
  }
  return process.resourceUsage().maxRSS / 1024
}

export const groups = [groupOf(1_000, '1k'), groupOf(10_000, '10k'), groupOf(100_000, '100k')]
