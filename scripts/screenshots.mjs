// @ts-check
/**
 * Takes pictures of every page of the dashboard with the examples of `petrel dev`: light and dark, as wide as a desktop and
 * as a phone. Prints which of them are wider than their window.
 *
 *   node scripts/screenshots.mjs FOLDER [--only NAME,NAME]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { launchChromium } from './services/chromium.mjs'
import { buildIfStale } from './setup.mjs'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: 'string' } } })
const [folder] = positionals
if (folder === undefined) throw new Error('node scripts/screenshots.mjs FOLDER [--only NAME,NAME]')
const only = values.only?.split(',') ?? null
const bin = fileURLToPath(new URL('../bin/petrel', import.meta.url))

const LOOKS = [
  { name: 'light', width: 1280, height: 800, theme: 'light' },
  { name: 'dark', width: 1280, height: 800, theme: 'dark' },
  { name: 'phone', width: 390, height: 844, theme: 'light' },
  { name: 'phone-dark', width: 390, height: 844, theme: 'dark' },
]
/** Until the examples have reached the states in which they stay. */
const EXAMPLES_MS = 12_000

/** @typedef {(path: string) => Promise<any>} Get */

/** The pages, with instances found by what happened to them. @param {Get} get @returns {Promise<Record<string, string>>} */
async function pages(get) {
  /** @param {string} q */
  const find = async (q) => (await get(`/v1/instances?q=${encodeURIComponent(q)}&limit=1`)).instances[0]?.id
  const [failed, article, pagesOf, expense, party] = await Promise.all(
    [
      'state:compensated,compensating',
      'name:demo-article',
      'name:demo-pages',
      'name:demo-expense state:waiting',
      'name:demo-party',
    ].map(find),
  )
  const [gate] = (await get('/v1/gates')).gates
  const [group] = (await get('/v1/error-groups')).groups
  const [run] = (await get('/v1/runs?limit=1&q=status:failed')).runs
  const [operation] = (await get('/v1/operations')).operations
  return {
    overview: '/',
    errors: '/errors',
    'error-group': `/errors/${group?.fingerprint}`,
    gates: '/gates',
    gate: `/gates/${gate?.id}`,
    instances: '/instances',
    'instances-search': '/instances?q=state:failed,waiting',
    runs: '/runs',
    run: `/runs/${run?.id}`,
    graph: `/instances/${failed}`,
    'graph-list': `/instances/${pagesOf}`,
    timeline: `/instances/${article}?tab=timeline`,
    steps: `/instances/${failed}?tab=steps`,
    events: `/instances/${failed}?tab=events`,
    data: `/instances/${expense}?tab=data`,
    compare: `/instances/${expense}?tab=compare`,
    operations: '/operations',
    ...(operation === undefined ? {} : { operation: `/operations/${operation.id}` }),
    definitions: '/definitions',
    definition: '/definitions/demo-expense',
    'definition-net': '/definitions/demo-expense?tab=net',
    schedules: '/schedules',
    queues: '/queues',
    'queue-payments': '/queues?queue=payments',
    workers: '/workers',
    inbox: '/inbox',
    'inbox-types': '/inbox?tab=types',
    sagas: '/sagas',
    saga: `/sagas/${party}`,
    webhooks: '/webhooks',
    keys: '/keys',
    history: '/history',
  }
}

buildIfStale()
fs.mkdirSync(folder, { recursive: true })
const data = fs.mkdtempSync(join(tmpdir(), 'petrel-screenshots-'))
const dev = spawn(process.execPath, [bin, 'dev', '--json', '--port', '0', '--data', data], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const browser = await launchChromium()
try {
  const { url, token_file: tokenFile } = await ready()
  const token = fs.readFileSync(tokenFile, 'utf8').trim()
  await sleep(EXAMPLES_MS)
  const all = await pages(async (path) => {
    const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  })
  for (const look of LOOKS) await take(look, { url, token, all })
} finally {
  await browser.close()
  dev.kill('SIGTERM')
  await once(dev, 'exit')
  fs.rmSync(data, { recursive: true, force: true })
}

/** @returns {Promise<{ url: string, token_file: string }>} */
async function ready() {
  for await (const line of createInterface({ input: dev.stdout })) {
    const record = JSON.parse(line)
    if (record.event === 'ready') {
      dev.stdout.resume()
      return record
    }
  }
  throw new Error('petrel dev has not become ready')
}

/**
 * @param {typeof LOOKS[number]} look
 * @param {{ url: string, token: string, all: Record<string, string> }} of
 */
async function take({ name, width, height, theme }, { url, token, all }) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: /** @type {any} */ (theme) })
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error') process.stdout.write(`${name} ${page.url()}: ${message.text()}\n`)
  })
  await page.goto(`${url}/?token=${token}`)
  await page.locator('main h1').first().waitFor()
  for (const [of, path] of Object.entries(all)) {
    if (only !== null && !only.includes(of)) continue
    await page.goto(`${url}/ui${path}`)
    await page.locator('main h1').first().waitFor()
    // Pages load their data after their frame, and pictures after their data.
    await sleep(900)
    const picture = page.locator('.graph canvas, .timeline canvas').first()
    if ((await picture.count()) > 0) await picture.scrollIntoViewIfNeeded()
    await page.screenshot({ path: join(/** @type {string} */ (folder), `${of}-${name}.png`) })
    const wide = await page.evaluate('document.documentElement.scrollWidth')
    if (Number(wide) > width) process.stdout.write(`${of}-${name} is ${wide} px wide\n`)
  }
  await context.close()
}
