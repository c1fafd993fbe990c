// @ts-check
/** One workflow alone: a chain of 200 steps, so that each step waits for the commit of the one before. */
import { timed, warmUp } from '../figures.mjs'

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'long-chain',
  title: 'one 200-step chain',
  metrics: { msPerStep: { title: 'one 200-step chain', unit: 'ms/step', better: 'less' } },
  size: { full: 200, quick: 100 },

  async run({ petrel, sdk, size }) {
    petrel.handle('bench.step', (/** @type {{ n: number }} */ args) => ({ n: args.n }))
    await petrel.work()
    const run = async (/** @type {number} */ steps) => {
      const jobs = Array.from({ length: steps }, (_, n) => sdk.job('bench.step', { n }))
      const handle = await petrel.start(sdk.chain(jobs))
      await handle.result()
    }
    await warmUp(() => run(size))
    return { msPerStep: (await timed(() => run(size))) / size }
  },
}
