// @ts-check
/** The report as text. */
import { median } from './figures.mjs'
import { chainsToBare } from './requirements.mjs'

/** @typedef {(line: string) => void} Print */

/** @param {import('./run.mjs').StoreReport} report @param {readonly import('./workload.mjs').Workload[]} chosen @param {Print} print */
export function printTable(report, chosen, print) {
  print(`\n${report.server}`)
  const rows = chosen.flatMap((workload) =>
    Object.entries(workload.metrics).flatMap(([metric, { title, unit }]) => {
      const samples = report.samples[workload.name]?.[metric]
      if (samples === undefined) return []
      const range = `${shown(Math.min(...samples))} – ${shown(Math.max(...samples))}`
      return [[title, shown(median(samples)), unit, samples.length > 1 ? range : '']]
    }),
  )
  printRows([['workload', 'median', '', 'min – max'], ...rows], 'lrlr', print)
}

/**
 * Above 1 is always better: more per second, or less time.
 * @param {import('./run.mjs').StoreReport} report @param {readonly import('./workload.mjs').Workload[]} chosen @param {Print} print
 */
export function printComparison(report, chosen, print) {
  print(
    '\nThis build beside the other, medians of repetitions by turns (a ratio above 1 means that this one is better)',
  )
  const rows = chosen.flatMap((workload) =>
    Object.entries(workload.metrics).flatMap(([metric, { title, unit, better }]) => {
      const own = report.samples[workload.name]?.[metric]
      const other = report.against[workload.name]?.[metric]
      if (own === undefined || other === undefined) return []
      const [a, b] = [median(own), median(other)]
      return [[title, shown(a), shown(b), unit, (better === 'more' ? a / b : b / a).toFixed(2)]]
    }),
  )
  printRows([['workload', 'this', 'other', '', 'ratio'], ...rows], 'lrrlr', print)
}

/** @param {import('./run.mjs').StoreReport} report @param {Print} print */
export function printBare(report, print) {
  const { chains, 'bare-chains': bare } = report.counted
  if (chains === undefined) return
  const middle = (/** @type {string} */ workload, /** @type {string} */ metric) => {
    const samples = report.samples[workload]?.[metric]
    return samples === undefined ? Number.NaN : median(samples)
  }
  const ratio = chainsToBare(report)
  print(`\nChains beside the bare loop, in settles of ${shown(chains['settleBatch'] ?? Number.NaN)} steps on average`)
  const rows = [
    ['', 'Petrel', 'bare', 'Petrel / bare'],
    [
      'steps/s',
      shown(middle('chains', 'stepsPerSecond')),
      shown(middle('bare-chains', 'stepsPerSecond')),
      ratio === null ? '–' : ratio.toFixed(2),
    ],
    // Not the inverse of the above: neither contains the time for which a store waits for its disk, nor that of
    // Postgres itself.
    compared('µs of processor time per step', middle('chains', 'cpuPerStep'), middle('bare-chains', 'cpuPerStep')),
    compared('rows written per step', chains['rowsPerStep'], bare?.['rowsPerStep']),
    compared('WAL bytes per step', chains['walBytesPerStep'], bare?.['walBytesPerStep']),
  ]
  printRows(rows, 'lrrr', print)
}

/**
 * The cost that NATS adds to a step, and the engine to a message. @param {import('./run.mjs').StoreReport} report
 * @param {Print} print
 */
export function printSagas(report, print) {
  const sagas = report.samples['saga']
  const middle = (/** @type {number[] | undefined} */ samples) => (samples === undefined ? Number.NaN : median(samples))
  const steps = middle(sagas?.['stepsPerSecond'])
  if (Number.isNaN(steps)) return
  const chains = middle(report.samples['chains']?.['stepsPerSecond'])
  const requests = middle(sagas?.['requestsPerSecond'])
  print('\nSagas over NATS beside what they are made of')
  const rows = [
    ['', 'per second', 'sagas / it'],
    ['steps of sagas', shown(steps), ''],
    ['steps of chains, handled in the process', shown(chains), shown(steps / chains)],
    ['bare NATS, request and reply', shown(requests), shown(steps / requests)],
  ]
  printRows(rows, 'lrr', print)
}

/** @param {string} title @param {number} [petrel] @param {number} [bare] */
function compared(title, petrel = Number.NaN, bare = Number.NaN) {
  return [title, shown(petrel), shown(bare), shown(petrel / bare)]
}

/** @param {readonly import('./requirements.mjs').Judged[]} judged @param {Print} print */
export function printJudgement(judged, print) {
  for (const [kind, title] of /** @type {const} */ ([
    ['must', 'Required'],
    ['aim', 'Aimed at'],
  ])) {
    const rows = judged.filter((one) => one.kind === kind)
    if (rows.length === 0) continue
    print(`\n${title}`)
    printRows(
      rows.map(({ met, store, text, figure }) => [met ? '✓' : '✗', store, text, figure]),
      'llll',
      print,
    )
  }
}

/** @param {readonly (readonly string[])[]} rows @param {string} align l or r per column @param {Print} print */
function printRows(rows, align, print) {
  const widths = [...align].map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      align[column] === 'r' ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    )
    print(`  ${cells.join('  ')}`.trimEnd())
  }
}

/** Three significant digits are all that such a number justifies. @param {number} value */
function shown(value) {
  if (Number.isNaN(value)) return '–'
  if (value >= 1000) return Math.round(value).toLocaleString('en')
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
