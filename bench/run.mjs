// @ts-check
/**
 * Measures Petrel through its public SDK, with default settings and full history, on both stores: see README.md here.
 * Every repetition is a process of its own on a fresh database, and the repetitions of different workloads take turns,
 * so that a disturbance of some seconds does not fall on one of them alone.
 */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { busyShare, describeMachine, describeServer } from './machine.mjs'
import { readOptions, USAGE } from './options.mjs'
import { printProfiles } from './profile.mjs'
import { judge } from './requirements.mjs'
import { postgresServer } from './server.mjs'
import { printBare, printComparison, printJudgement, printSagas, printTable } from './table.mjs'
import { workloads } from './workload.mjs'

/**
 * @typedef {{ [metric: string]: number[] }} Samples
 * @typedef {{
 *   store: 'sqlite' | 'postgres',
 *   server: string,
 *   samples: { [workload: string]: Samples },
 *   counted: { [workload: string]: { readonly [metric: string]: number } },
 *   against: { [workload: string]: Samples },
 * }} StoreReport
 */

/** For the SQLite files; removed when this process ends in any way. */
const folder = mkdtempSync(join(process.env['PETREL_BENCH_TMP'] ?? tmpdir(), 'petrel-bench-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const child = fileURLToPath(new URL('child.mjs', import.meta.url))

/** @param {import('./options.mjs').Options} options */
async function main(options) {
  const print = options.json === true ? console.error : console.log
  if (options.help) return print(USAGE)
  if (options.list) return print(workloads.map(({ name, title }) => `${name.padEnd(12)} ${title}`).join('\n'))
  const chosen = chosenWorkloads(options)
  const profiles = options.cpuProf ? mkdtempSync(join(tmpdir(), 'petrel-profile-')) : null
  const machine = { ...describeMachine(), busyBefore: await busyShare(500) }
  print(`${machine.text}${options.quick ? ' · quick: small counts, rough' : ''} · ${options.repeat} repetitions`)
  if (machine.busyBefore > 0.2) {
    print(
      `Others use ${Math.round(machine.busyBefore * 100)} % of the processors: repeat this when the machine is quiet.`,
    )
  }

  /** @type {StoreReport[]} */
  const reports = []
  for (const store of options.stores) {
    const server = store === 'postgres' ? await postgresServer() : null
    if (store === 'postgres' && server === null) {
      print('\nPostgres: not installed here; name a server with PETREL_BENCH_POSTGRES_URL.')
      continue
    }
    try {
      const onThis = chosen.filter(({ stores }) => stores?.includes(store) ?? true)
      const report = await measureStore({ store, url: server?.url ?? '', chosen: onThis, options, profiles })
      reports.push(report)
      printTable(report, chosen, print)
      if (options.against !== null) printComparison(report, chosen, print)
      printBare(report, print)
      printSagas(report, print)
    } finally {
      await server?.stop()
    }
  }
  const judgement = reports.flatMap((report) => judge(report))
  printJudgement(judgement, print)
  if (profiles !== null) printProfiles(profiles, print)
  const result = { machine, quick: options.quick, repeat: options.repeat, stores: reports, judgement }
  if (options.json === true) console.log(JSON.stringify(result))
  else if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`)
}

/** @param {Pick<import('./options.mjs').Options, 'only' | 'quick'>} options */
function chosenWorkloads({ only, quick }) {
  for (const name of only ?? []) {
    if (!workloads.some((workload) => workload.name.startsWith(name))) {
      throw new TypeError(`--only: no workload is called '${name}' (--list names them)`)
    }
  }
  const named = workloads.filter(({ name }) => only?.some((beginning) => name.startsWith(beginning)) ?? true)
  return named.filter(({ size }) => !quick || size.quick !== null)
}

/**
 * @param {{
 *   store: 'sqlite' | 'postgres', url: string, chosen: readonly import('./workload.mjs').Workload[],
 *   options: import('./options.mjs').Options, profiles: string | null,
 * }} params
 * @returns {Promise<StoreReport>}
 */
async function measureStore({ store, url, chosen, options, profiles }) {
  /** @type {StoreReport} */
  const report = { store, server: await describeServer(store, url), samples: {}, counted: {}, against: {} }
  /** Figures of earlier workloads, for later ones. @type {{ [name: string]: number }} */
  const given = {}
  /** @returns {Promise<{ [metric: string]: number }>} */
  const measure = async (
    /** @type {import('./workload.mjs').Workload} */ workload,
    { counting = false, dist = options.dist } = {},
  ) => {
    const size = options.quick ? workload.size.quick : workload.size.full
    const params = { name: workload.name, storeKind: store, server: url, folder, size, counting, dist, given }
    const flags =
      profiles === null || counting
        ? []
        : ['--cpu-prof', `--cpu-prof-dir=${join(profiles, `${store}-${workload.name}`)}`]
    try {
      return await runChild(params, flags)
    } catch (error) {
      // Its output is above. The others continue; the exit code reports the failure.
      process.exitCode = 1
      console.error(`${workload.name} on ${store}: ${/** @type {Error} */ (error).message}`)
      return {}
    }
  }
  const builds = [{ dist: options.dist, into: report.samples }]
  if (options.against !== null) builds.push({ dist: options.against, into: report.against })
  const status = progress(
    chosen.length * options.repeat * builds.length + chosen.filter((workload) => workload.counted).length,
  )
  for (const workload of chosen.filter(({ counted }) => counted)) {
    status(`${store} ${workload.name}, counting`)
    const figures = await measure(workload, { counting: true })
    if (figures['rowsPerStep'] === undefined) continue
    report.counted[workload.name] = figures
    if (figures['settleBatch'] !== undefined) given['settleBatch'] = figures['settleBatch']
  }
  for (let round = 0; round < options.repeat; round++) {
    for (const workload of chosen) {
      // The build that goes first changes with every round.
      const turns = round % 2 === 0 ? builds : builds.toReversed()
      for (const { dist, into } of turns) {
        status(`${store} ${workload.name} ${round + 1}/${options.repeat}`)
        const samples = (into[workload.name] ??= {})
        for (const [metric, value] of Object.entries(await measure(workload, { dist })))
          (samples[metric] ??= []).push(value)
      }
    }
  }
  status(null)
  return report
}

/** As bin/petrel runs Node, for every workload alike: short-lived rows must not outlive a small young space. */
const YOUNG_SPACE = '--max-semi-space-size=64'

/** @param {object} params @param {readonly string[]} flags @returns {Promise<{ [metric: string]: number }>} */
function runChild(params, flags) {
  return new Promise((resolve, reject) => {
    /** @type {{ [metric: string]: number } | null} */
    let figures = null
    const running = fork(child, [JSON.stringify(params)], { execArgv: [YOUNG_SPACE, ...flags] })
    running.once('message', (message) => {
      figures = /** @type {{ [metric: string]: number }} */ (message)
    })
    running.once('error', reject)
    running.once('exit', (code, signal) => {
      if (figures !== null && code === 0) resolve(figures)
      else reject(new Error(`ended with ${signal ?? `exit code ${code}`}`))
    })
  })
}

/** One line on a terminal with the current workload. @param {number} total */
function progress(total) {
  let done = 0
  return (/** @type {string | null} */ what) => {
    if (!process.stderr.isTTY) return
    process.stderr.write(what === null ? '\r\x1b[K' : `\r\x1b[K[${++done}/${total}] ${what}`)
  }
}

try {
  await main(readOptions(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  console.error(`${error.message}\n\n${USAGE}`)
  process.exitCode = 2
}
