// @ts-check
/** Many short workflows at once: 1,000 chains of 10 steps, from the first start to the last result read. */
import { measured, warmUp } from '../figures.mjs'

export const STEPS = 10

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'chains',
  title: '10-step chains',
  metrics: {
    stepsPerSecond: { title: '10-step chains', unit: 'steps/s', better: 'more' },
    cpuPerStep: { title: '10-step chains, processor time', unit: 'µs/step', better: 'less' },
  },
  counted: true,
  size: { full: 1000, quick: 300 },

  async run({ petrel, sdk, size, meter }) {
    petrel.handle('bench.step', (/** @type {{ n: number }} */ args) => ({ n: args.n }))
    await petrel.work()
    const round = () => runChains({ petrel, sdk, count: size })
    if (!meter.on) await warmUp(round)
    await meter.begin()
    const { ms, cpuMicros } = await measured(round)
    const steps = size * STEPS
    await meter.end(steps)
    return { stepsPerSecond: (steps * 1000) / ms, cpuPerStep: cpuMicros / steps }
  },
}

/** @param {Pick<import('../workload.mjs').Bench, 'petrel' | 'sdk'> & { count: number }} params */
async function runChains({ petrel, sdk, count }) {
  const workflow = () => sdk.chain(Array.from({ length: STEPS }, (_, n) => sdk.job('bench.step', { n })))
  const handles = await petrel.startMany(Array.from({ length: count }, workflow))
  const results = await Promise.all(handles.map((handle) => handle.result()))
  for (const result of results) {
    if (/** @type {any} */ (result)?.n !== STEPS - 1) throw new Error(`wrong result: ${JSON.stringify(result)}`)
  }
}
