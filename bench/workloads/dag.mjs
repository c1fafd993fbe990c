// @ts-check
/**
 * Workflows of 10,000 steps compared with the same shape with 100: the cost of a step in both, the time of a start, and
 * the memory of the server, sampled. `dag-*` uses a server process with workers over HTTP, one lease per job;
 * `dag-*-local` has one worker in the process of the engine.
 */

import { Served } from '../dag/served.mjs'
import { deep, dense, STEP, wide, workflowText, woven } from '../dag/shapes.mjs'
import { timed } from '../figures.mjs'

const SMALL = 100
/** The small one ends quickly, so it is repeated until its number is meaningful. */
const SMALL_TIMES = 10

const SHAPES = { wide, deep, dense, woven }

/** @param {string} shape */
const metricsOf = (shape) =>
  /** @type {const} */ ({
    microsPerStep: { title: `${shape}, large`, unit: 'µs/step', better: 'less' },
    smallMicrosPerStep: { title: `${shape}, 100 steps`, unit: 'µs/step', better: 'less' },
    ratio: { title: `${shape}, large by 100 steps`, unit: '×', better: 'less' },
    deployMs: { title: `${shape}, deploy`, unit: 'ms', better: 'less' },
    startMs: { title: `${shape}, start`, unit: 'ms', better: 'less' },
    peakRssMb: { title: `${shape}, peak RSS`, unit: 'MB', better: 'less' },
  })

/** @param {keyof typeof SHAPES} shape @returns {import('../workload.mjs').Workload} */
function served(shape) {
  return {
    name: `dag-${shape}`,
    title: `DAG, ${shape}, over HTTP`,
    metrics: metricsOf(shape),
    size: { full: 10_000, quick: 1_000 },
    opensItself: true,

    async run({ url, dist, size }) {
      const server = await Served.start({ dist, url })
      try {
        const workers = shape === 'deep' ? 1 : 4
        const text = (/** @type {number} */ steps) => workflowText(`${shape}-${steps}`, SHAPES[shape](steps))
        const play = async (/** @type {number} */ steps) => {
          const id = await server.begin(`${shape}-${steps}`)
          await server.work({ workers, steps })
          const state = await server.ended(id)
          if (state !== 'completed') throw new Error(`the workflow is ${state}`)
        }
        await server.deploy(text(SMALL))
        await play(SMALL)
        const smallMs = await timed(async () => {
          for (let i = 0; i < SMALL_TIMES; i++) await play(SMALL)
        })
        const deployMs = await timed(() => server.deploy(text(size)))
        server.takePeakRssMb()
        let startMs = 0
        const ms = await timed(async () => {
          let id = ''
          startMs = await timed(async () => {
            id = await server.begin(`${shape}-${size}`)
          })
          await server.work({ workers, steps: size })
          const state = await server.ended(id)
          if (state !== 'completed') throw new Error(`the workflow is ${state}`)
        })
        return figures({ ms, size, smallMs, deployMs, startMs, peakRssMb: server.takePeakRssMb() })
      } finally {
        await server.stop()
      }
    },
  }
}

/** @param {keyof typeof SHAPES} shape @returns {import('../workload.mjs').Workload} */
function local(shape) {
  return {
    name: `dag-${shape}-local`,
    title: `DAG, ${shape}, worker in the process`,
    metrics: metricsOf(`${shape}, local`),
    size: { full: 10_000, quick: 1_000 },

    async run({ petrel, engine, internal, size }) {
      const { Catalog } = await internal('insides.js')
      const catalog = new Catalog({ engine, logger: null })
      petrel.handle(STEP, () => ({ n: 1 }))
      await petrel.work()
      const whose = { tenant: null, actor: null }
      const deploy = (/** @type {number} */ steps) =>
        catalog.deploy({ file: 'bench.yaml', text: workflowText(`${shape}-${steps}`, SHAPES[shape](steps)), ...whose })
      /** @param {number} steps @returns {Promise<string>} */
      const begin = async (steps) =>
        (await catalog.start({ name: `${shape}-${steps}`, version: null, input: { week: 46 }, ...whose })).id
      const play = async (/** @type {number} */ steps) => {
        const state = await engine.ended({ id: await begin(steps), kind: 'instance' })
        if (state !== 'completed') throw new Error(`the workflow is ${state}`)
      }
      await deploy(SMALL)
      await play(SMALL)
      const smallMs = await timed(async () => {
        for (let i = 0; i < SMALL_TIMES; i++) await play(SMALL)
      })
      const deployMs = await timed(() => deploy(size))
      let peak = 0
      const sampling = setInterval(() => {
        peak = Math.max(peak, process.memoryUsage().rss)
      }, 50)
      let startMs = 0
      const ms = await timed(async () => {
        let id = ''
        startMs = await timed(async () => {
          id = await begin(size)
        })
        const state = await engine.ended({ id, kind: 'instance' })
        if (state !== 'completed') throw new Error(`the workflow is ${state}`)
      })
      clearInterval(sampling)
      return figures({ ms, size, smallMs, deployMs, startMs, peakRssMb: peak / 2 ** 20 })
    },
  }
}

/** @param {{ ms: number, size: number, smallMs: number, deployMs: number, startMs: number, peakRssMb: number }} taken */
function figures({ ms, size, smallMs, deployMs, startMs, peakRssMb }) {
  const microsPerStep = (ms * 1000) / size
  const smallMicrosPerStep = (smallMs * 1000) / (SMALL * SMALL_TIMES)
  return {
    microsPerStep,
    smallMicrosPerStep,
    ratio: microsPerStep / smallMicrosPerStep,
    deployMs,
    startMs,
    peakRssMb,
  }
}

const names = /** @type {(keyof typeof SHAPES)[]} */ (Object.keys(SHAPES))
export const dags = names.flatMap((shape) => [served(shape), local(shape)])
