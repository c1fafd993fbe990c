// @ts-check
/**
 * Playbooks played by `petrel server` and `petrel worker`, two processes over one store, every iteration a leased run:
 * loops of 1,000, 10,000 and 100,000 items with 50 in flight; beside them a loop that takes one item at a time and pages
 * by a cycle of the graph, each long against short. Nothing may grow with the length: not what an item costs, not memory.
 */
import { Stage } from '../playbook/stage.mjs'
import { cycleText, loopText } from '../playbook/texts.mjs'

/** The same for every size: otherwise the short one would pay for compiling, which the long one spreads out. */
const WARM_UP = { rounds: 10, items: 1_000 }
/** A short one ends quickly, so it is repeated until its number is meaningful. */
const LEAST_ITEMS = 10_000
const SHORT_ROUNDS = 5

/** @param {number} count */
const numbers = (count) => Array.from({ length: count }, (_, i) => i)

/** @param {number} size @param {string} label @returns {import('../workload.mjs').Workload} */
function loopOf(size, label) {
  const title = `playbook loop of ${label}`
  return {
    name: `playbook-loop-${label}`,
    title,
    metrics: {
      microsPerItem: { title, unit: 'µs/item', better: 'less' },
      cpuPerItem: { title: `${title}, processor time`, unit: 'µs/item', better: 'less' },
      serverRssMb: { title: `${title}, server's peak RSS`, unit: 'MB', better: 'less' },
      workerRssMb: { title: `${title}, worker's peak RSS`, unit: 'MB', better: 'less' },
      serverGrowth: { title: `${title}, server's RSS, later half by earlier`, unit: '×', better: 'less' },
      workerGrowth: { title: `${title}, worker's RSS, later half by earlier`, unit: '×', better: 'less' },
      slowestMs: { title: `${title}, slowest answer meanwhile`, unit: 'ms', better: 'less' },
      lookMs: { title: `${title}, GET of the instance`, unit: 'ms', better: 'less' },
    },
    size: { full: size, quick: size > 10_000 ? null : size },
    opensItself: true,

    async run({ url, dist, size, internal }) {
      const rounds = Math.max(1, Math.round(LEAST_ITEMS / size))
      const stage = await Stage.open({ dist, url })
      let figures
      try {
        await stage.deploy(loopText({ name: 'loop', parallel: true }))
        for (let i = 0; i < WARM_UP.rounds; i++) await stage.play('loop', { items: numbers(WARM_UP.items) })
        /** @type {(import('../playbook/stage.mjs').Played & { id: string })[]} */
        const played = []
        for (let i = 0; i < rounds; i++) played.push(await stage.play('loop', { items: numbers(size) }))
        const id = played.at(-1)?.id ?? ''
        const lookMs = await checkLoop(stage, id, size)
        const items = size * rounds
        const sum = (/** @type {'ms' | 'cpuMicros'} */ key) => played.reduce((total, one) => total + one[key], 0)
        const most = (/** @type {(one: (typeof played)[number]) => number} */ of) => Math.max(...played.map(of))
        figures = {
          microsPerItem: (sum('ms') * 1000) / items,
          cpuPerItem: sum('cpuMicros') / items,
          serverRssMb: most(({ server }) => server.peakMb),
          workerRssMb: most(({ worker }) => worker.peakMb),
          serverGrowth: most(({ server }) => server.laterMb / server.earlierMb),
          workerGrowth: most(({ worker }) => worker.laterMb / worker.earlierMb),
          slowestMs: most(({ slowestMs }) => slowestMs),
          lookMs,
        }
      } finally {
        await stage.close()
      }
      // Every item is one run, `check` another, and there are no others.
      await checkRuns(internal, url, size * rounds + WARM_UP.items * WARM_UP.rounds + rounds + WARM_UP.rounds)
      return figures
    },
  }
}

/** Checks the result; returns the time to read it. @param {Stage} stage @param {string} id @param {number} size */
async function checkLoop(stage, id, size) {
  const from = performance.now()
  const { instance, execution, results } = await stage.ask('GET', `/v1/instances/${id}`)
  const lookMs = performance.now() - from
  const { total, success, failed } = results.visit.stats
  const counted = [execution.status, instance.succeeded, instance.open, results.check, total, success, failed]
  const wanted = ['success', size + 1, 0, size, size, size, 0]
  if (String(counted) !== String(wanted)) throw new Error(`the loop ended as ${counted}, not as ${wanted}`)
  results.visit.results.forEach((/** @type {{ n: number } | null} */ result, /** @type {number} */ n) => {
    if (result?.n !== n) throw new Error(`result ${n} is ${JSON.stringify(result)}`)
  })
  return lookMs
}

/** @param {(path: string) => Promise<any>} internal @param {string} url @param {number} wanted */
async function checkRuns(internal, url, wanted) {
  const { openStore } = await internal('insides.js')
  const store = await openStore(url)
  try {
    const counts = Object.fromEntries(await store.read.countRuns({ queue: null }))
    const { succeeded = 0, ...others } = counts
    const rest = Object.values(others).some((count) => count > 0)
    if (succeeded !== wanted || rest) throw new Error(`runs: ${JSON.stringify(counts)} instead of ${wanted} succeeded`)
  } finally {
    await store.close()
  }
}

/**
 * In sequence, so that a turn is a round trip: long against short, in the same processes.
 * @param {{ name: string, title: string, text: string, input: (turns: number) => object, size: { full: number, quick:
 * number } }} params
 * @returns {import('../workload.mjs').Workload}
 */
function turns({ name, title, text, input, size }) {
  return {
    name: `playbook-${name}`,
    title: `playbook, ${title}`,
    metrics: {
      microsPerTurn: { title: `playbook, ${title}, long`, unit: 'µs/turn', better: 'less' },
      shortMicrosPerTurn: { title: `playbook, ${title}, a tenth of it`, unit: 'µs/turn', better: 'less' },
      ratio: { title: `playbook, ${title}, long by short`, unit: '×', better: 'less' },
      cpuRatio: { title: `playbook, ${title}, processor time, long by short`, unit: '×', better: 'less' },
    },
    size,
    opensItself: true,

    async run({ url, dist, size }) {
      const short = size / 10
      const stage = await Stage.open({ dist, url })
      try {
        await stage.deploy(text)
        for (let i = 0; i < SHORT_ROUNDS; i++) await stage.play(name, input(short))
        let shortMs = 0
        let shortCpu = 0
        for (let i = 0; i < SHORT_ROUNDS; i++) {
          const { ms, cpuMicros } = await stage.play(name, input(short))
          shortMs += ms
          shortCpu += cpuMicros
        }
        const { ms, cpuMicros } = await stage.play(name, input(size))
        const microsPerTurn = (ms * 1000) / size
        const shortMicrosPerTurn = (shortMs * 1000) / (SHORT_ROUNDS * short)
        const cpuRatio = cpuMicros / size / (shortCpu / (SHORT_ROUNDS * short))
        return { microsPerTurn, shortMicrosPerTurn, ratio: microsPerTurn / shortMicrosPerTurn, cpuRatio }
      } finally {
        await stage.close()
      }
    },
  }
}

export const playbookLoops = [
  loopOf(1_000, '1k'),
  loopOf(10_000, '10k'),
  loopOf(100_000, '100k'),
  turns({
    name: 'sequential',
    title: 'one item at a time',
    text: loopText({ name: 'sequential', parallel: false }),
    input: (count) => ({ items: numbers(count) }),
    size: { full: 10_000, quick: 2_000 },
  }),
  turns({
    name: 'cycle',
    title: 'pages by a cycle',
    text: cycleText('cycle'),
    input: (count) => ({ turns: count }),
    size: { full: 5_000, quick: 1_000 },
  }),
]
