// @ts-check
/** Cold: open an empty store (with its migrations), the first result, then open the same store again. */
import { timed } from '../figures.mjs'

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'start-up',
  title: 'start-up',
  metrics: {
    loadMs: { title: 'load the module', unit: 'ms', better: 'less' },
    createMs: { title: 'open an empty store', unit: 'ms', better: 'less' },
    firstMs: { title: 'first one-step workflow', unit: 'ms', better: 'less' },
    openMs: { title: 'open an existing store', unit: 'ms', better: 'less' },
    rssMb: { title: 'RSS after that', unit: 'MB', better: 'less' },
  },
  opensItself: true,
  size: { full: 1, quick: 1 },

  async run({ sdk, url, loadMs }) {
    /** @type {any} */
    let petrel
    const createMs = await timed(async () => {
      petrel = await sdk.Petrel.open(url)
    })
    const firstMs = await timed(async () => {
      petrel.handle('bench.step', () => ({ n: 1 }))
      await petrel.work()
      await (await petrel.start(sdk.chain([sdk.job('bench.step', { n: 1 })]))).result()
    })
    const rssMb = process.memoryUsage().rss / 2 ** 20
    await petrel.close()
    const openMs = await timed(async () => {
      petrel = await sdk.Petrel.open(url)
    })
    await petrel.close()
    return { loadMs, createMs, firstMs, openMs, rssMb }
  },
}
