// @ts-check
/**
 * What the dashboard costs in a real browser, against a real server with an SQLite file: each budget beside what was measured.
 *
 *     node bench/dashboard.mjs [--instances 5000] [--many 50000] [--nodes 10000] [--minutes 2] [--json]
 *
 * `--many 0` leaves the longer list out. A budget that is exceeded is marked ✗; the exit code is 0 all the same, since times
 * depend on what else the machine does.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { launchChromium } from '../scripts/services/chromium.mjs'
import { buildIfStale } from '../scripts/setup.mjs'
import { median, quantile, sleep } from './figures.mjs'
import { describeMachine } from './machine.mjs'

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').CDPSession} Session */

const { values: options } = parseArgs({
  options: {
    instances: { type: 'string', default: '5000' },
    many: { type: 'string', default: '50000' },
    nodes: { type: 'string', default: '10000' },
    minutes: { type: 'string', default: '2' },
    json: { type: 'boolean', default: false },
  },
})
const INSTANCES = Number(options.instances)
const MANY = Number(options.many)
const NODES = Number(options.nodes)
const MINUTES = Number(options.minutes)
const OPENINGS = 7
const FRAMES = 180
const EVENTS_PER_SECOND = 1_000
const BATCH = 100
const bin = fileURLToPath(new URL('../bin/petrel', import.meta.url))

/** @type {{ what: string, budget: number | null, measured: number, unit: string }[]} */
const results = []
/** @param {string} what @param {number | null} budget @param {number} measured @param {string} unit */
function note(what, budget, measured, unit) {
  results.push({ what, budget, measured, unit })
  if (!options.json) process.stderr.write(`${what}: ${format(measured)} ${unit}\n`)
}
/** @param {number} value */
const format = (value) => (value >= 100 ? String(Math.round(value)) : value.toFixed(1))

buildIfStale()
const machine = describeMachine()
const folder = mkdtempSync(join(tmpdir(), 'petrel-bench-dashboard-'))
const store = `sqlite:${join(folder, 'petrel.db')}`
const server = spawn(
  process.execPath,
  ['--max-semi-space-size=64', bin, 'server', '--port', '0', '--json', '--store', store],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
/** @returns {Promise<string>} */
async function ready() {
  for await (const line of createInterface({ input: server.stdout })) {
    const { url } = JSON.parse(line)
    if (url !== undefined) {
      server.stdout.resume()
      return url
    }
  }
  throw new Error('petrel server has not become ready')
}

/** @param {string} url @param {string} path @param {string | object} body @param {string} [type] */
async function post(url, path, body, type = 'application/json') {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await fetch(url + path, { method: 'POST', headers: { 'content-type': type }, body: text })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${(await answer.text()).slice(0, 500)}`)
  return /** @type {Promise<any>} */ (answer.json())
}

/** Waits for an expression to be true in the page, whose policy does not permit waiting there. @param {Page} page @param {string} expression */
async function until(page, expression) {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(5)) {
    if (await page.evaluate(expression)) return
  }
  throw new Error(`not within a minute: ${expression}`)
}

/** Two workflows: one that waits at once, and a large one. @param {string} url */
async function deploy(url) {
  const waits = 'kind: Net\nversion: 1\nname: waits\nnodes: { wait: { gate: { title: Go on? } } }\n'
  // Layers of ten, each step after two of the layer before.
  const steps = Array.from({ length: NODES }, (_, i) => {
    const above = Math.floor(i / 10) * 10 - 10
    const after = above < 0 ? '' : `, dependsOn: [n${above + (i % 10)}, n${above + ((i + 1) % 10)}]`
    return `    - { name: n${i}, uses: large.step, timeout: 1h${after} }\n`
  })
  const large = `apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: large }\nspec:\n  steps:\n${steps.join('')}`
  await post(url, '/v1/definitions', waits, 'application/yaml')
  await post(url, '/v1/definitions', large, 'application/yaml')
}

/** @param {string} url @param {number} count */
async function start(url, count) {
  for (let at = 0; at < count; at += BATCH) {
    await Promise.all(
      Array.from({ length: Math.min(BATCH, count - at) }, () => post(url, '/v1/instances', { workflow: 'waits' })),
    )
  }
}

/** A window of its own. `init`: runs in the page before anything else. @param {string} [init] */
async function open(init) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  if (init !== undefined) await context.addInitScript(init)
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  // The time of the thread, not of the clock: what else the machine does is left out.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return { page, session, close: () => context.close() }
}

/** Milliseconds in which the main thread of the page was busy. @param {Session} session */
async function busyMs(session) {
  const { metrics } = await session.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000
}

/** When an element first is there: in `window.seenAt`, in ms since the page was requested. @param {string} selector */
const seen = (selector) => `{
  const look = () => {
    if (document.querySelector(${JSON.stringify(selector)}) === null) requestAnimationFrame(look)
    else window.seenAt = performance.now()
  }
  requestAnimationFrame(look)
}`

/** @param {string} url */
async function opening(url) {
  const paints = []
  const usables = []
  for (let i = 0; i < OPENINGS; i++) {
    const { page, close } = await open(seen('main .card'))
    await page.goto(`${url}/ui/`)
    await until(page, 'window.seenAt !== undefined')
    paints.push(Number(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")))
    usables.push(Number(await page.evaluate('window.seenAt')))
    await close()
  }
  note('first paint', 150, median(paints), 'ms')
  note('usable, with its data', 300, median(usables), 'ms')
}

/** @param {string} url */
async function payload(url) {
  const { id } = await post(url, '/v1/instances', { workflow: 'waits', input: { text: 'x'.repeat(1_000_000) } })
  const { page, close } = await open(seen('main pre'))
  await page.goto(`${url}/ui/instances/${id}?tab=data`)
  await until(page, 'window.seenAt !== undefined')
  note('payload of 1 MB: its beginning is shown', null, Number(await page.evaluate('window.seenAt')), 'ms')
  await close()
}

/** Scrolls by a page in each frame, in both directions; when the frames came, in ms. */
const SCROLL = `(async () => {
  const box = document.querySelector('.rows-view')
  const at = []
  for (let i = 0; i < ${FRAMES}; i++) {
    box.scrollTop += (i < ${FRAMES / 2} ? -1 : 1) * box.clientHeight
    at.push(await new Promise(requestAnimationFrame))
  }
  return at
})()`

/** @param {string} url @param {number} count */
async function list(url, count) {
  const { page, session, close } = await open()
  await page.goto(`${url}/ui/instances?q=name:waits`)
  await page.locator('.rows-row').first().waitFor()
  const read = "Number(document.querySelector('.rows').getAttribute('aria-rowcount')) - 1"
  for (const until = Date.now() + 300_000; Date.now() < until && Number(await page.evaluate(read)) < count; ) {
    await page.evaluate("document.querySelector('.rows-view').scrollTop = 1e9")
    await sleep(20)
  }
  const name = `list of ${Number(await page.evaluate(read)).toLocaleString('en')} instances`
  const before = await busyMs(session)
  const at = /** @type {number[]} */ (await page.evaluate(SCROLL))
  note(`${name}, scrolled: work in a frame`, 16, ((await busyMs(session)) - before) / FRAMES, 'ms')
  const frames = at.slice(1).map((time, i) => time - /** @type {number} */ (at[i]))
  note(`${name}, scrolled: from frame to frame, 95 %`, null, quantile(frames, 0.95), 'ms')
  note(`${name}: rows in the document`, 60, await page.locator('.rows-row').count(), '')
  const from = await busyMs(session)
  await page.locator('[data-search]').fill('name:waits state:waiting')
  await page.keyboard.press('Enter')
  await until(page, `location.search.includes('waiting') && ${read} < ${count}`)
  note(`${name}: work to filter them`, 50, (await busyMs(session)) - from, 'ms')
  await close()
}

/** How long threads take from a message to its answer. */
const TIMED_THREADS = `{
  const { Worker } = window
  window.layouts = []
  window.Worker = class extends Worker {
    constructor(...given) {
      super(...given)
      this.addEventListener('message', () => window.layouts.push(performance.now() - this.since))
    }
    postMessage(...given) {
      this.since = performance.now()
      super.postMessage(...given)
    }
  }
}`

/** @param {string} url */
async function picture(url) {
  const { id } = await post(url, '/v1/instances', { workflow: 'large' })
  const { page, session, close } = await open(TIMED_THREADS)
  await page.goto(`${url}/ui/instances/${id}`)
  await until(page, 'window.layouts.length > 0')
  note(
    `layout of ${NODES.toLocaleString('en')} nodes, in its thread`,
    1500,
    Number(await page.evaluate('layouts[0]')),
    'ms',
  )
  const box = await page.locator('canvas').first().boundingBox()
  if (box === null) throw new Error('there is no picture')
  await sleep(1_000)
  await page.mouse.move(box.x + box.width / 2, box.y + 40)
  await page.mouse.down()
  const before = await busyMs(session)
  for (let i = 0; i < FRAMES; i++) {
    await page.mouse.move(box.x + box.width / 2 + (i % 60), box.y + 40 + (i % 30))
    await page.evaluate('new Promise(requestAnimationFrame)')
  }
  note('the same, dragged: work in a frame', 16, ((await busyMs(session)) - before) / FRAMES, 'ms')
  await page.mouse.up()
  await close()
}

/** The heap after a collection, in MB. @param {Session} session */
async function heapMb(session) {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize / 2 ** 20
}

/** Jobs are enqueued at an even rate, each of which is an event. @param {string} url */
async function live(url) {
  const { page, session, close } = await open()
  await page.goto(`${url}/ui/`)
  await page.locator('main .card').first().waitFor()
  await sleep(2_000)
  const jobs = Array.from({ length: BATCH }, (_, i) => ({ type: 'bench.event', args: [i] }))
  const [cores, heaps, begun] = [/** @type {number[]} */ ([]), [await heapMb(session)], performance.now()]
  let sent = 0
  for (let [from, busy] = [begun, await busyMs(session)]; performance.now() - begun < MINUTES * 60_000; ) {
    await post(url, '/ojs/v1/jobs/batch', { jobs }, 'application/openjobspec+json')
    sent += BATCH
    await sleep(Math.max(0, begun + (sent / EVENTS_PER_SECOND) * 1000 - performance.now()))
    if (performance.now() - from < 10_000) continue
    const now = await busyMs(session)
    cores.push(((now - busy) / (performance.now() - from)) * 100)
    heaps.push(await heapMb(session))
    ;[from, busy] = [performance.now(), await busyMs(session)]
  }
  const perSecond = sent / ((performance.now() - begun) / 1000)
  note(`overview, ${Math.round(perSecond)} events/s: main thread`, 15, median(cores), '% of a core')
  note(`heap after ${MINUTES} minutes of it`, 150, heaps.at(-1) ?? Number.NaN, 'MB')
  note(
    'the same: more than at a third of the time',
    null,
    (heaps.at(-1) ?? 0) - (heaps[Math.ceil(heaps.length / 3)] ?? 0),
    'MB',
  )
  await close()
}

function print() {
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ machine, results })}\n`)
    return
  }
  process.stdout.write(`${machine.text}\n\n| | budget | measured | |\n|---|---:|---:|---|\n`)
  for (const { what, budget, measured, unit } of results) {
    const mark = budget === null ? '' : measured <= budget ? '✓' : '✗'
    process.stdout.write(
      `| ${what} | ${budget === null ? '' : `${budget} ${unit}`} | ${format(measured)} ${unit} | ${mark} |\n`,
    )
  }
}

const browser = await launchChromium(['--js-flags=--expose-gc', '--enable-precise-memory-info'])
try {
  const url = await ready()
  await deploy(url)
  await opening(url)
  await payload(url)
  await start(url, INSTANCES)
  await list(url, INSTANCES)
  if (MANY > INSTANCES) {
    await start(url, MANY - INSTANCES)
    await list(url, MANY)
  }
  await picture(url)
  await live(url)
} finally {
  await browser.close()
  server.kill('SIGTERM')
  await once(server, 'exit')
  rmSync(folder, { recursive: true, force: true })
}
print()
