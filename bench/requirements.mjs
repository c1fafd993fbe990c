// @ts-check
/**
 * Requirements and aims for the numbers. They are judged and printed, and never fail: a slow machine is not a bug.
 *
 * @typedef {{ store: string, kind: 'must' | 'aim', text: string, figure: string, met: boolean }} Judged
 */
import { median } from './figures.mjs'

/** @param {import('./run.mjs').StoreReport} report @returns {Judged[]} */
export function judge(report) {
  return [...requirements(report), ...aims(report)]
}

/** @param {import('./run.mjs').StoreReport} report @returns {Judged[]} */
function requirements(report) {
  const { store } = report
  /** @type {Judged[]} */
  const judged = []
  const must = (/** @type {string} */ text, /** @type {string} */ figure, /** @type {boolean} */ met) =>
    judged.push({ store, kind: 'must', text, figure, met })

  const ratio = chainsToBare(report)
  if (ratio !== null) must('chains reach at least half of the bare loop', ratio.toFixed(2), ratio >= 0.5)
  const written = report.counted['chains']
  const bare = report.counted['bare-chains']
  if (written !== undefined && bare !== undefined) {
    for (const [metric, what] of /** @type {const} */ ([
      ['rowsPerStep', 'rows'],
      ['walBytesPerStep', 'WAL bytes'],
    ])) {
      const more = (written[metric] ?? 0) / (bare[metric] ?? 0) - 1
      const figure = `${more >= 0 ? '+' : '−'}${Math.abs(more * 100).toFixed(0)} %`
      must(`${what} per step within 20 % of the bare loop`, figure, Math.abs(more) <= 0.2)
    }
  }
  const idle = middle(report, 'latency', 'p50')
  const commit = middle(report, 'latency', 'commitP50')
  if (idle !== null && commit !== null) {
    must('idle p50 under three durable commits', `${(idle / commit).toFixed(2)} commits`, idle < 3 * commit)
  }
  const group = worstByFirst(report, ['group-1k', 'group-10k', 'group-100k'], 'microsPerJob')
  if (group !== null) {
    must('cost per job flat from 1 k to 100 k (at most 1.3 times that of 1 k)', group.toFixed(2), group <= 1.3)
  }
  const loops = ['playbook-loop-1k', 'playbook-loop-10k', 'playbook-loop-100k']
  const loop = worstByFirst(report, loops, 'microsPerItem')
  if (loop !== null) {
    const text = 'cost per item of a playbook loop flat from 1 k to 100 k (at most 1.5 times that of 1 k)'
    must(text, loop.toFixed(2), loop <= 1.5)
  }
  for (const process of ['server', 'worker']) {
    const growth = middle(report, 'playbook-loop-100k', `${process}Growth`)
    if (growth === null) continue
    const text = `memory of the ${process} flat over a playbook loop of 100 k (later half at most 1.15 times the earlier)`
    must(text, growth.toFixed(2), growth <= 1.15)
  }
  for (const name of ['playbook-sequential', 'playbook-cycle']) {
    const ratio = middle(report, name, 'ratio')
    if (ratio !== null)
      must(`${name}: a turn costs at most 1.5 times what it does in a tenth`, ratio.toFixed(2), ratio <= 1.5)
  }
  return judged
}

/**
 * The ratio of the most expensive larger one to the small one. null: not all were measured.
 * @param {import('./run.mjs').StoreReport} report @param {readonly string[]} workloads @param {string} metric
 */
function worstByFirst(report, workloads, metric) {
  const [smallest, ...larger] = workloads.map((name) => middle(report, name, metric))
  if (smallest == null || larger.some((cost) => cost === null)) return null
  return Math.max(.../** @type {number[]} */ (larger)) / smallest
}

/** Median over the rounds: the two ran one after the other in each. @param {import('./run.mjs').StoreReport} report */
export function chainsToBare(report) {
  const petrel = report.samples['chains']?.['stepsPerSecond']
  const bare = report.samples['bare-chains']?.['stepsPerSecond']
  if (petrel === undefined || bare === undefined) return null
  // A round in which one of them failed.
  if (petrel.length !== bare.length) return median(petrel) / median(bare)
  return median(petrel.map((steps, round) => steps / (bare[round] ?? Number.NaN)))
}

/** The aims of the design, set on 2 quiet cores. */
const AIMS = /** @type {const} */ ([
  ['10-step chains', 'chains', 'stepsPerSecond', 'steps/s', { sqlite: 15_000, postgres: 15_000 }, 'more'],
  ['drain', 'drain', 'jobsPerSecond', 'jobs/s', { sqlite: 25_000, postgres: 25_000 }, 'more'],
  ['100-way fan-out', 'fan-out', 'childrenPerSecond', 'children/s', { sqlite: 12_000, postgres: 12_000 }, 'more'],
  ['idle start → done, p50', 'latency', 'p50', 'ms', { sqlite: 0.8, postgres: 1.6 }, 'less'],
  ['step of a 200-step chain', 'long-chain', 'msPerStep', 'ms', { sqlite: 0.4, postgres: 0.7 }, 'less'],
  ['enqueue one by one', 'enqueue', 'singlePerSecond', 'jobs/s', { sqlite: 15_000, postgres: 15_000 }, 'more'],
  ['enqueue in batches', 'enqueue', 'batchedPerSecond', 'jobs/s', { sqlite: 90_000, postgres: 90_000 }, 'more'],
])

/** @param {import('./run.mjs').StoreReport} report @returns {Judged[]} */
function aims(report) {
  return AIMS.flatMap(([text, workload, metric, unit, aim, better]) => {
    const figure = middle(report, workload, metric)
    if (figure === null) return []
    const wanted = aim[report.store]
    const met = better === 'more' ? figure >= wanted : figure <= wanted
    const shown = `${round(figure)} of ${round(wanted)} ${unit}`
    return [{ store: report.store, kind: /** @type {const} */ ('aim'), text, figure: shown, met }]
  })
}

/** @param {import('./run.mjs').StoreReport} report @param {string} workload @param {string} metric */
function middle(report, workload, metric) {
  const samples = report.samples[workload]?.[metric]
  return samples === undefined ? null : median(samples)
}

/** @param {number} value */
function round(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}
