// @ts-check
/**
 * The throw-away Postgres and NATS that tests run against.
 *
 * They belong to a keeper process (services/keeper.mjs) that lives as long as a pipe from us stays open. Whatever
 * ends this process, a normal end, a signal, a crash or SIGKILL, closes the pipe; the keeper then stops both servers
 * and removes their folder.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { findNats } from './services/nats.mjs'
import { findPostgres } from './services/postgres.mjs'

const keeperFile = fileURLToPath(new URL('services/keeper.mjs', import.meta.url))

/**
 * Commands that examples, documents and clients need: a probe for each, and the Debian packages that contain
 * it. Go's race detector links with a C compiler. Debian's psycopg2 and jinja2 belong to Debian's own Python.
 * @typedef {{ readonly command?: string, readonly probe: readonly string[], readonly packages: readonly string[] }} Tool
 * @type {{ readonly [name: string]: Tool }}
 */
const TOOLS = {
  bash: { probe: ['--version'], packages: ['bash'] },
  curl: { probe: ['--version'], packages: ['curl'] },
  jq: { probe: ['--version'], packages: ['jq'] },
  python3: { probe: ['--version'], packages: ['python3'] },
  psql: { probe: ['--version'], packages: ['postgresql-client'] },
  sqlite3: { probe: ['--version'], packages: ['sqlite3'] },
  psycopg2: { command: '/usr/bin/python3', probe: ['-c', 'import psycopg2'], packages: ['python3-psycopg2'] },
  jinja2: { command: '/usr/bin/python3', probe: ['-c', 'import jinja2'], packages: ['python3-jinja2'] },
  go: { probe: ['version'], packages: ['golang-go'] },
  gcc: { probe: ['--version'], packages: ['gcc', 'libc6-dev'] },
  // Another browser of the same family can be named by PETREL_TEST_CHROMIUM.
  chromium: {
    command: process.env['PETREL_TEST_CHROMIUM'] || 'chromium',
    probe: ['--version'],
    packages: ['chromium'],
  },
}

/** @returns {string[]} */
function missingTools() {
  const isMissing = (/** @type {string} */ name, /** @type {Tool} */ { command = name, probe }) =>
    spawnSync(command, probe, { stdio: 'ignore' }).status !== 0
  return Object.entries(TOOLS).flatMap(([name, tool]) => (isMissing(name, tool) ? [name] : []))
}

/**
 * @typedef {{ name: string, reason: string }} Missing
 * @typedef {{ postgresUrl: string | null, natsUrl: string | null, missing: Missing[], stop(): Promise<void> }} Services
 */

/**
 * Uses the servers named by PETREL_TEST_POSTGRES_URL and PETREL_TEST_NATS_URL, starts its own for those not named.
 * A server whose binaries are not installed is null and listed in `missing`; one that does not start is an error.
 * @returns {Promise<Services>}
 */
export async function startServices() {
  const given = {
    postgresUrl: process.env['PETREL_TEST_POSTGRES_URL'] || null,
    natsUrl: process.env['PETREL_TEST_NATS_URL'] || null,
  }
  const postgres = given.postgresUrl === null ? findPostgres() : null
  const nats = given.natsUrl === null ? findNats() : null

  /** @type {Missing[]} */
  const missing = []
  if (given.postgresUrl === null && postgres === null) {
    missing.push({
      name: 'Postgres',
      reason: 'no postgres and initdb in PATH, /usr/lib/postgresql/*/bin or `pg_config --bindir`',
    })
  }
  if (given.natsUrl === null && nats === null) {
    missing.push({ name: 'NATS', reason: 'no nats-server in PATH' })
  }
  for (const tool of missingTools()) missing.push({ name: tool, reason: 'not installed' })
  if (postgres === null && nats === null) return { ...given, missing, stop: async () => {} }

  const keeper = await startKeeper({ postgres, nats })
  return {
    postgresUrl: given.postgresUrl ?? keeper.postgresUrl,
    natsUrl: given.natsUrl ?? keeper.natsUrl,
    missing,
    stop: keeper.stop,
  }
}

/** As root on Debian, installs the packages of servers that are neither named nor installed, and of missing tools. */
export function installMissingServices() {
  const packages = []
  if (!process.env['PETREL_TEST_POSTGRES_URL'] && findPostgres() === null) packages.push('postgresql')
  if (!process.env['PETREL_TEST_NATS_URL'] && findNats() === null) packages.push('nats-server')
  packages.push(...missingTools().flatMap((tool) => TOOLS[tool]?.packages ?? []))
  if (packages.length === 0 || process.getuid?.() !== 0 || !isDebian()) return
  console.log(`Not installed: ${packages.join(', ')}. Trying apt-get …`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  /** @param {string[]} args */
  const apt = (args) => spawnSync('apt-get', args, { stdio: 'inherit', env }).status === 0
  // The package lists may be absent or old: refresh them only when the first try fails.
  const install = ['install', '-y', '--no-install-recommends', ...packages]
  if (!apt(install) && !(apt(['update']) && apt(install))) {
    console.log(`apt-get could not install ${packages.join(', ')}.`)
  }
}

/**
 * @param {{ postgres: import('./services/postgres.mjs').PostgresBinaries | null, nats: string | null }} binaries
 * @returns {Promise<{ postgresUrl: string | null, natsUrl: string | null, stop(): Promise<void> }>}
 */
async function startKeeper(binaries) {
  // Detached: Ctrl-C in the terminal reaches this process and not the servers, so that running tests end before their
  // database.
  const keeper = spawn(process.execPath, [keeperFile, JSON.stringify(binaries)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  /** @type {Promise<number | null>} */
  const exited = new Promise((resolve) => keeper.once('exit', resolve))
  const stop = async () => {
    keeper.stdin.destroy()
    await exited
  }
  const started = await Promise.race([
    new Promise((resolve) => createInterface({ input: keeper.stdout }).once('line', resolve)),
    exited,
  ])
  if (typeof started !== 'string') {
    await exited
    throw new Error('The throw-away Postgres and NATS could not be started (see above).')
  }
  return { ...JSON.parse(started), stop }
}

function isDebian() {
  try {
    return /^ID(_LIKE)?=.*(debian|ubuntu)/m.test(readFileSync('/etc/os-release', 'utf8'))
  } catch {
    return false
  }
}
