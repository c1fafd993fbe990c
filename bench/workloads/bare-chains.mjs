// @ts-check
/**
 * The reference for chains: a loop that only writes. The same rows and events as the chains above, in the same tables,
 * in batches and over as many connections as Petrel was seen to use, without any reads or decisions.
 */
import { advance, begin, newChains } from '../bare/rows.mjs'
import { measured, warmUp } from '../figures.mjs'
import { STEPS } from './chains.mjs'

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'bare-chains',
  title: 'bare SQL, the same writes',
  metrics: {
    stepsPerSecond: { title: 'bare SQL, the same writes', unit: 'steps/s', better: 'more' },
    cpuPerStep: { title: 'bare SQL, processor time', unit: 'µs/step', better: 'less' },
  },
  counted: true,
  opensItself: true,
  size: { full: 1000, quick: 300 },

  async run({ sdk, url, store, size, meter, given, internal }) {
    const { newId } = await internal('insides.js')
    // Petrel's own migrations create the tables.
    await (await sdk.Petrel.open(url)).close()
    const writers = await Promise.all(Array.from({ length: store.settleConnections }, () => store.bareWriter()))
    await writers[0]?.prepare()
    const batch = Math.max(1, Math.round(given['settleBatch'] ?? 400))
    const round = () => writeChains({ writers, count: size, batch, newId })
    if (!meter.on) await warmUp(round)
    await meter.begin()
    const { ms, cpuMicros } = await measured(round)
    const steps = size * STEPS
    await meter.end(steps)
    for (const writer of writers) await writer.close()
    return { stepsPerSecond: (steps * 1000) / ms, cpuPerStep: cpuMicros / steps }
  },
}

/**
 * Chains are divided among the connections, as Petrel divides them among its lanes.
 * @param {{
 *   writers: readonly import('../stores/store.mjs').BareWriter[], count: number, batch: number, newId: () => string,
 * }} params
 */
async function writeChains({ writers, count, batch, newId }) {
  const chains = newChains(count, newId)
  const share = Math.ceil(count / writers.length)
  await writers[0]?.begin(begin(chains, STEPS))
  await Promise.all(
    writers.map(async (writer, lane) => {
      const own = chains.slice(lane * share, (lane + 1) * share)
      for (let step = 0; step < STEPS; step++) {
        for (let first = 0; first < own.length; first += batch) {
          await writer.advance(advance(own.slice(first, first + batch), step, STEPS, newId))
        }
      }
    }),
  )
}
