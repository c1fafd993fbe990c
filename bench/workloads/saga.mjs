// @ts-check
/**
 * Sagas over a real NATS: the engine here, the services in another process. 3 steps each, so many sagas in flight; then one
 * saga at a time; and what NATS gives without an engine: requests that the other process echoes, as many in flight.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { connect } from '@nats-io/transport-node'
import { measured, timed, warmUp } from '../figures.mjs'
import { natsServer } from '../saga/nats.mjs'

const STEPS = ['one', 'two', 'three']
const IN_FLIGHT = 200
/** As `petrel server --nats` builds commands. */
const BUILDERS = 50
const ALONE = 100
const PREFIX = `bench${process.pid}`
const service = fileURLToPath(new URL('../saga/service.mjs', import.meta.url))

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'saga',
  title: '3-step sagas over NATS',
  metrics: {
    stepsPerSecond: { title: '3-step sagas over NATS', unit: 'steps/s', better: 'more' },
    cpuPerStep: { title: '3-step sagas over NATS, processor time of the engine', unit: 'µs/step', better: 'less' },
    aloneMs: { title: '3-step sagas over NATS, one at a time', unit: 'ms/step', better: 'less' },
    requestsPerSecond: { title: 'bare NATS, request and reply', unit: 'requests/s', better: 'more' },
    requestAloneMs: { title: 'bare NATS, request and reply, one at a time', unit: 'ms', better: 'less' },
  },
  size: { full: 2000, quick: 400 },

  async run({ petrel, engine, sdk, size, dist, internal }) {
    const nats = await natsServer()
    if (nats === null) {
      console.error('saga: nats-server is not installed here; name one with PETREL_BENCH_NATS_URL')
      return {}
    }
    const { openSagaTransport } = await internal('nats.js')
    const transport = await openSagaTransport({ petrel, engine, url: nats.url, prefix: PREFIX })
    const services = await startServices([dist, nats.url, PREFIX, STEPS.map(subjectOf).join()])
    const nc = await connect({ servers: nats.url })
    try {
      await petrel.saga(definition(sdk))
      await petrel.work({ concurrency: BUILDERS })
      await transport.ready
      const play = async () => {
        const started = await petrel.startSaga('bench_saga', { n: 1 })
        const result = /** @type {any} */ (await started.result())
        if (result?.three?.n !== 1) throw new Error(`wrong result: ${JSON.stringify(result)}`)
      }
      const ask = () => nc.request(`${PREFIX}.echo`, '{"n":1}', { timeout: 30_000 })
      const round = () => inFlight({ count: size, atOnce: IN_FLIGHT, each: play })
      await warmUp(round)
      const { ms, cpuMicros } = await measured(round)
      const aloneMs = await timed(() => inFlight({ count: ALONE, atOnce: 1, each: play }))
      const requests = () => inFlight({ count: size * STEPS.length, atOnce: IN_FLIGHT, each: ask })
      await requests()
      const bareMs = await timed(requests)
      const requestAloneMs = await timed(() => inFlight({ count: ALONE, atOnce: 1, each: ask }))
      const steps = size * STEPS.length
      return {
        stepsPerSecond: (steps * 1000) / ms,
        cpuPerStep: cpuMicros / steps,
        aloneMs: aloneMs / (ALONE * STEPS.length),
        requestsPerSecond: (steps * 1000) / bareMs,
        requestAloneMs: requestAloneMs / ALONE,
      }
    } finally {
      await transport.close()
      services.disconnect()
      await nc.close()
      await nats.stop()
    }
  },
}

/** @param {string} step */
function subjectOf(step) {
  return `bench.v1.${step}.do`
}

/** @param {import('../workload.mjs').Bench['sdk']} sdk */
function definition(sdk) {
  const steps = STEPS.map((name) => ({
    name,
    subject: subjectOf(name),
    buildCommand: (/** @type {{ n: number }} */ request) => ({ n: request.n }),
  }))
  return sdk.saga({ name: 'bench_saga', steps })
}

/** @param {readonly string[]} args @returns {Promise<import('node:child_process').ChildProcess>} */
function startServices(args) {
  // Not included in the profile.
  const running = fork(service, args, { execArgv: ['--max-semi-space-size=64'] })
  return new Promise((resolve, reject) => {
    running.once('message', () => resolve(running))
    running.once('exit', (code) => reject(new Error(`the services ended with ${code}`)))
  })
}

/** @param {{ count: number, atOnce: number, each: () => Promise<unknown> }} params */
async function inFlight({ count, atOnce, each }) {
  let left = count
  const line = async () => {
    while (left-- > 0) await each()
  }
  await Promise.all(Array.from({ length: atOnce }, line))
}
