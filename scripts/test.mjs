// @ts-check
/**
 * `npm test`: every check there is, each under a heading, then a summary.
 * `npm test -- src/net`: arguments go to vitest, and only vitest runs. `--full`: the larger counts.
 *
 * Fails on any failed check, on any skipped test, and with CI=true on a missing service. Without CI a missing service
 * is named in the summary and its tests may be skipped.
 */
import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { checkConformance, printConformance } from './check-conformance.mjs'
import { installMissingServices, startServices } from './services.mjs'
import { buildIfStale, installIfStale, orExit, requireNode, root, SetupError } from './setup.mjs'

const args = process.argv.slice(2).filter((arg) => arg !== '--full')
const full = process.argv.includes('--full') || process.env['PETREL_TEST_FULL'] === '1'
const ci = !['', '0', 'false', undefined].includes(process.env['CI'])
const everything = args.length === 0
/** Tests excluded by a name pattern are reported as skipped on purpose. */
const filtered = args.some((arg) => /^(-t|--testNamePattern)\b/.test(arg))
const reportFile = join(root, '.test/report.json')

/** @type {{ name: string, ok: boolean, ms: number }[]} */
const steps = []
/** @type {import('node:child_process').ChildProcess | null} */
let running = null
/** @type {NodeJS.Signals | null} */
let interruptedBy = null
let stale = false

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, () => interrupt(signal))

/** Ends what is running; the steps after it are left out, the services are still stopped. @param {NodeJS.Signals} signal */
function interrupt(signal) {
  const child = running
  // A second signal means that the user does not want to wait.
  if (child) signalGroup(child, interruptedBy ? 'SIGKILL' : signal)
  if (child) setTimeout(() => signalGroup(child, 'SIGKILL'), 10_000).unref()
  interruptedBy ??= signal
}

/** @param {import('node:child_process').ChildProcess} child @param {NodeJS.Signals} signal */
function signalGroup(child, signal) {
  try {
    if (child.pid) process.kill(-child.pid, signal)
  } catch {
    // No process of the group is left.
  }
}

/** @param {string} name @param {() => Promise<boolean> | boolean} task false or a throw: it failed */
async function step(name, task) {
  if (interruptedBy) return
  const startedAt = performance.now()
  console.log(`\n── ${name}`)
  let ok = false
  try {
    ok = await task()
  } catch (error) {
    console.error(error instanceof SetupError ? error.message : error)
  }
  const ms = performance.now() - startedAt
  steps.push({ name, ok, ms })
  console.log(`${ok ? 'ok' : 'FAILED'} (${seconds(ms)})`)
}

/**
 * Runs a tool as a process group of its own, so that the workers of a vitest that was killed, and processes that tests
 * left behind, end with it.
 * @param {string[]} command a script of node_modules and its arguments @param {NodeJS.ProcessEnv} env
 * @returns {Promise<boolean>}
 */
function run(command, env = {}) {
  const [script = '', ...rest] = command
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, 'node_modules', script), ...rest], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
      env: { ...process.env, ...env },
    })
    running = child
    child.once('error', reject)
    child.once('exit', (code) => {
      running = null
      signalGroup(child, 'SIGKILL')
      resolve(code === 0)
    })
  })
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`
}

/**
 * Runs vitest and counts. A test file that could not be loaded has no tests to count: it counts as one failure.
 * @param {import('./services.mjs').Services} services
 */
async function runVitest(services) {
  const file = `${reportFile}-${process.pid}`
  const options = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  if (everything) options.push('--allowOnly=false')
  const ok = await run(['vitest/vitest.mjs', 'run', ...options, ...args], {
    PETREL_TEST_POSTGRES_URL: services.postgresUrl ?? '',
    PETREL_TEST_NATS_URL: services.natsUrl ?? '',
    ...(full ? { PETREL_TEST_FULL: '1' } : {}),
  })
  if (!fs.existsSync(file)) {
    console.log('vitest ended without a report')
    return { ok: false, report: null, passed: 0, failed: 0, skipped: 0 }
  }
  fs.renameSync(file, reportFile)
  const report = JSON.parse(fs.readFileSync(reportFile, 'utf8'))
  const unloaded = report.testResults.filter(
    (/** @type {any} */ result) => result.status === 'failed' && result.assertionResults.length === 0,
  ).length
  return {
    ok,
    report,
    passed: report.numPassedTests,
    failed: report.numFailedTests + unloaded,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

/**
 * A type error elsewhere does not stop a run of one directory's tests; tests that use dist get a warning that it is
 * outdated.
 */
function buildOrWarn() {
  try {
    buildIfStale()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    stale = true
    console.log(error.message)
  }
}

async function main() {
  orExit(() => {
    requireNode()
    installIfStale()
  })
  fs.mkdirSync(join(root, '.test'), { recursive: true })

  if (everything) {
    await step('build', () => {
      buildIfStale()
      return true
    })
    await step('type check', async () => {
      const checked = await run(['typescript/bin/tsc', '-p', 'tsconfig.json', '--noEmit'])
      return (await run(['typescript/bin/tsc', '-p', 'dashboard/tsconfig.json', '--noEmit'])) && checked
    })
    await step('lint and format', () =>
      run(['@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '--diagnostic-level=warn', '.']),
    )
    await step('dead code', () => run(['knip/bin/knip.js', '--no-progress', '--no-config-hints']))
  } else {
    buildOrWarn()
  }

  /** @type {import('./services.mjs').Services | null} */
  let services = null
  let tests = { passed: 0, failed: 0, skipped: 0 }
  await step('services', async () => {
    installMissingServices()
    services = await startServices()
    for (const { name, reason } of services.missing) console.log(`MISSING ${name}: ${reason}`)
    return !(ci && services.missing.length > 0)
  })
  if (services) {
    const started = /** @type {import('./services.mjs').Services} */ (services)
    const allowSkipped = (started.missing.length > 0 && !ci) || filtered
    try {
      /** @type {any} */
      let report = null
      await step(full ? 'tests (full)' : 'tests', async () => {
        const result = await runVitest(started)
        tests = result
        report = result.report
        if (result.skipped > 0 && !allowSkipped) {
          console.log(`${result.skipped} skipped: a test that does not run proves nothing.`)
          return false
        }
        return result.ok
      })
      if (everything && report) {
        await step('conformance', () => {
          const verdict = checkConformance({ report, allowSkipped })
          printConformance(verdict)
          return verdict.offending.length === 0
        })
      }
    } finally {
      await started.stop()
    }
  }
  return summarise(services, tests)
}

/**
 * @param {import('./services.mjs').Services | null} services
 * @param {{ passed: number, failed: number, skipped: number }} tests
 */
function summarise(services, tests) {
  console.log('\n── summary')
  for (const { name, ok, ms } of steps) console.log(`${ok ? 'passed' : 'FAILED'}  ${name} (${seconds(ms)})`)
  for (const { name, reason } of services?.missing ?? []) {
    console.log(`NOT RUN  the tests that need ${name}: ${reason}${ci ? ' (a failure, since CI is set)' : ''}`)
  }
  if (services === null) console.log('NOT RUN  tests: the services did not start')
  if (stale) console.log('NOT BUILT  dist is missing or older than src: tests that use it do not see the newest source')
  if (!everything) console.log(`only vitest was run, with: ${args.join(' ')}`)
  if (interruptedBy) console.log(`interrupted by ${interruptedBy}`)
  console.log(`${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped`)
  return steps.every(({ ok }) => ok) && !interruptedBy
}

const ok = await main()
process.exitCode = interruptedBy === 'SIGINT' ? 130 : interruptedBy ? 143 : ok ? 0 : 1
