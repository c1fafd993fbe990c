// @ts-check
/**
 * `npm run conformance [-- --strict --store sqlite|postgres --suites DIR]`: the public OJS conformance cases against
 * servers of our own, on a fresh SQLite file and on a fresh Postgres database. Other options (`--test`, `--skip`,
 * `--level`, `--category`) go to the runner. `--servers N`: so many on each store, asked in turn, request by request.
 *
 * The suite is outside the repository: in OJS_CONFORMANCE_DIR, else in ../shared/ojs-conformance. Two cases wait for
 * whole minutes; they run on servers of their own beside the others, so that a run takes as long as they do.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as forward } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startServices } from './services.mjs'
import { orExit, root, SetupError, setup } from './setup.mjs'

/** Cases that wait for the next full minutes of the clock. */
const SLOW = ['L2-CRON-004', 'L2-CRON-005']
const STORES = /** @type {const} */ (['sqlite', 'postgres'])
const bin = process.env['PETREL_TEST_BIN'] || join(root, 'bin/petrel')

/**
 * @typedef {'sqlite' | 'postgres'} StoreKind
 * @typedef {{ test_id: string, name: string, level: number, status: string, known_issue?: string, failures: any[] }} Case
 * @typedef {{ url: string, stop(): Promise<void> }} Running
 * @typedef {{ dir: string, runner: string, suites: string | null, strict: boolean, passOn: string[], chosen: boolean, skip: string[], servers: number, stores: readonly StoreKind[] }} Wish
 */

const wish = readWish()
if (!process.env['PETREL_TEST_BIN']) orExit(setup)

/** Undone in reverse, whatever happens. @type {(() => Promise<void> | void)[]} */
const cleanUps = []
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, () => void cleanUp().then(() => process.exit(signal === 'SIGINT' ? 130 : 143)))
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof SetupError ? `\n${error.message}` : error)
  process.exitCode = 2
} finally {
  await cleanUp()
}

async function main() {
  const postgresUrl = wish.stores.includes('postgres') ? await findPostgres() : null
  // All slow cases at once, in the background, since they mostly wait.
  const slow = new Map(
    wish.stores.map((store) => {
      const running = wish.chosen
        ? Promise.resolve([])
        : runOn(store, postgresUrl, ['--test', SLOW.join(','), '--jobs', '2'])
      running.catch(() => {})
      return [store, running]
    }),
  )
  let failed = 0
  /** @type {string[]} */
  const totals = []
  for (const store of wish.stores) {
    const skip = wish.chosen ? wish.skip : [...wish.skip, ...SLOW]
    const most = await runOn(store, postgresUrl, skip.length === 0 ? [] : ['--skip', skip.join(',')])
    if (!wish.chosen) console.log(`${store}: waiting for ${SLOW.join(' and ')}`)
    const late = (await slow.get(store)) ?? []
    const cases = [...most.filter((one) => !late.some((other) => other.test_id === one.test_id)), ...late]
    failed += report(store, cases)
    totals.push(sentence(store, cases))
  }
  console.log(`\n${totals.join('\n')}`)
  return failed > 0 ? 1 : 0
}

/** @returns {Wish} */
function readWish() {
  const values = options()
  const { store } = values
  if (store !== undefined && store !== 'sqlite' && store !== 'postgres')
    fail(`--store is sqlite or postgres, not ${store}`)
  const servers = Number(values.servers ?? 1)
  if (!Number.isInteger(servers) || servers < 1 || servers > 8) fail(`--servers is a number from 1 to 8`)
  const dir = resolve(process.env['OJS_CONFORMANCE_DIR'] || join(root, '../shared/ojs-conformance'))
  const runner = join(dir, 'run.mjs')
  if (!existsSync(runner)) {
    fail(
      `The OJS conformance suite is not there: ${runner} does not exist.\n` +
        'Name its folder (the one with run.mjs and suites/) with OJS_CONFORMANCE_DIR, or put it at ../shared/ojs-conformance.',
    )
  }
  if (values.suites !== undefined && !existsSync(values.suites)) fail(`--suites: there is no folder ${values.suites}`)
  const passOn = /** @type {const} */ (['test', 'level', 'category']).flatMap((name) => {
    const value = values[name]
    return value === undefined ? [] : [`--${name}`, value]
  })
  return {
    dir,
    runner,
    suites: values.suites === undefined ? null : resolve(values.suites),
    strict: values.strict,
    passOn,
    // Only for all cases: in a selection, or in another suite, no case is known to be slow.
    chosen: passOn.length > 0 || values.suites !== undefined,
    skip: values.skip === undefined ? [] : values.skip.split(','),
    servers,
    stores: store === undefined ? STORES : [store],
  }
}

function options() {
  const text = /** @type {const} */ ({ type: 'string' })
  const strict = /** @type {const} */ ({ type: 'boolean', default: false })
  try {
    const selection = { test: text, skip: text, level: text, category: text }
    const known = { strict, store: text, suites: text, servers: text, ...selection }
    return parseArgs({ options: known }).values
  } catch (error) {
    return fail(/** @type {Error} */ (error).message)
  }
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message)
  process.exit(2)
}

async function findPostgres() {
  const services = await startServices()
  cleanUps.push(services.stop)
  if (services.postgresUrl !== null) return services.postgresUrl
  const reason = services.missing.find(({ name }) => name === 'Postgres')?.reason ?? ''
  throw new SetupError(
    `There is no Postgres (${reason}). Install it, or name one with PETREL_TEST_POSTGRES_URL, or --store sqlite.`,
  )
}

/** A server on a store of its own, the cases on it, and both gone again. @param {StoreKind} store @param {string | null} postgresUrl @param {string[]} args */
async function runOn(store, postgresUrl, args) {
  const place = store === 'sqlite' ? freshFile() : await freshDatabase(/** @type {string} */ (postgresUrl))
  /** @type {Running[]} */
  const servers = []
  try {
    // In sequence: the first one creates the tables.
    for (let n = 0; n < wish.servers; n++) servers.push(await startServer(place.url))
    if (servers.length > 1) servers.push(await askInTurn(servers.map(({ url }) => url)))
    return await runCases(/** @type {Running} */ (servers.at(-1)).url, args)
  } finally {
    for (const server of servers.reverse()) await server.stop()
    await place.drop()
  }
}

function freshFile() {
  const folder = mkdtempSync(join(tmpdir(), 'petrel-conformance-'))
  const drop = async () => rmSync(folder, { recursive: true, force: true })
  cleanUps.push(drop)
  return { url: `sqlite:${join(folder, 'petrel.db')}`, drop }
}

/** @param {string} server */
async function freshDatabase(server) {
  const name = `petrel_conformance_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  await administer(server, `CREATE DATABASE ${name} TEMPLATE template0`)
  const drop = () => administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  cleanUps.push(() => drop().catch(() => {}))
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop }
}

/** @param {string} server @param {string} statement */
async function administer(server, statement) {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** @param {string} storeUrl @returns {Promise<Running>} */
async function startServer(storeUrl) {
  const child = spawn(
    process.execPath,
    [bin, 'server', '--json', '--port', '0', '--allow-reset', '--store', storeUrl],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  /** @type {Promise<number | null>} */
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
  }
  cleanUps.push(stop)
  const line = await Promise.race([
    new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve)),
    exited,
  ])
  if (typeof line !== 'string')
    throw new SetupError(`petrel server ended with ${line} before it was ready (see above).`)
  return { url: JSON.parse(line).url, stop }
}

/** Passes each request on to the next of the servers. @param {string[]} urls @returns {Promise<Running>} */
async function askInTurn(urls) {
  let turn = 0
  const proxy = createServer((request, response) => {
    const url = new URL(request.url ?? '/', urls[turn++ % urls.length])
    const { method, headers } = request
    const passed = forward(url, { method, headers: { ...headers, host: url.host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  // The servers answer methods that are not part of HTTP; here any reply is sufficient.
  proxy.on('clientError', (_, socket) => socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n'))
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', () => resolve(null)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (proxy.address())
  const stop = async () => {
    proxy.closeAllConnections()
    await new Promise((resolve) => proxy.close(resolve))
  }
  cleanUps.push(stop)
  return { url: `http://127.0.0.1:${port}`, stop }
}

/** @param {string} url @param {string[]} args @returns {Promise<Case[]>} */
async function runCases(url, args) {
  const all = [
    wish.runner,
    ...['--url', url, '--reset-path', '/ojs/v1/admin/reset', '--output', 'json'],
    ...(wish.strict ? ['--strict'] : []),
    ...(wish.suites === null ? [] : ['--suites', wish.suites]),
    ...wish.passOn,
    ...args,
  ]
  const child = spawn(process.execPath, all, { cwd: wish.dir, stdio: ['ignore', 'pipe', 'inherit'] })
  cleanUps.push(() => void child.kill())
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0 && code !== 1) throw new SetupError(`The conformance runner ended with ${code} (see above).`)
  return JSON.parse(text).results
}

/** Prints what did not pass. @param {StoreKind} store @param {Case[]} cases @returns {number} how many failed */
function report(store, cases) {
  console.log(`\n── ${store}${wish.strict ? ', strict' : ''}`)
  const failed = cases.filter((one) => one.status === 'failed' && one.known_issue === undefined)
  for (const one of cases) {
    if (one.status !== 'failed') continue
    console.log(`${one.known_issue === undefined ? 'FAIL ' : 'known issue '} ${one.test_id} ${one.name}`)
    for (const { step, path, expected, got, problem } of one.failures) {
      console.log(`      ${step}: ${path}: expected ${JSON.stringify(expected)}, got ${problem ?? JSON.stringify(got)}`)
    }
    if (one.known_issue !== undefined) console.log(`      ${one.known_issue}`)
  }
  for (const level of [...new Set(cases.map((one) => one.level))].sort()) {
    console.log(
      sentence(
        `level ${level}`,
        cases.filter((one) => one.level === level),
      ),
    )
  }
  return failed.length
}

/** @param {string} what @param {Case[]} cases */
function sentence(what, cases) {
  const counted = cases.filter((one) => one.known_issue === undefined)
  const count = (/** @type {string} */ status) => counted.filter((one) => one.status === status).length
  const known = cases.length - counted.length
  return `${what.padEnd(8)} ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped${known > 0 ? `, ${known} known issue${known > 1 ? 's' : ''}` : ''}`
}

async function cleanUp() {
  for (const undo of cleanUps.splice(0).reverse()) await Promise.resolve(undo()).catch(() => {})
}
