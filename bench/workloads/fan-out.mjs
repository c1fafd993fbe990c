// @ts-check
/** 100 batches of 100 jobs at once, each with a callback when all have ended. */
import { timed, warmUp } from '../figures.mjs'

const CHILDREN = 100

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'fan-out',
  title: '100-way fan-out + callback',
  metrics: { childrenPerSecond: { title: '100-way fan-out + callback', unit: 'children/s', better: 'more' } },
  size: { full: 100, quick: 20 },

  async run({ petrel, sdk, size }) {
    let callbacks = 0
    petrel.handle('bench.child', (/** @type {{ n: number }} */ args) => ({ n: args.n }))
    petrel.handle('bench.joined', () => {
      callbacks++
    })
    await petrel.work()
    const run = async (/** @type {number} */ count) => {
      const workflow = () =>
        sdk.batch(
          Array.from({ length: CHILDREN }, (_, n) => sdk.job('bench.child', { n })),
          { onComplete: sdk.job('bench.joined') },
        )
      callbacks = 0
      const handles = await petrel.startMany(Array.from({ length: count }, workflow))
      for (const results of await Promise.all(handles.map((handle) => handle.result()))) {
        if (results.length !== CHILDREN) throw new Error(`${results.length} results instead of ${CHILDREN}`)
      }
      if (callbacks !== count) throw new Error(`${callbacks} callbacks for ${count} batches`)
    }
    await warmUp(() => run(size))
    return { childrenPerSecond: (size * CHILDREN * 1000) / (await timed(() => run(size))) }
  },
}
