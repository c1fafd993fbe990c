// @ts-check
/**
 * A process that starts workflows, works on them, and at the same time cancels random ones; short deadlines and nested
 * workflows add further conflicts. After { calm: true } it only works.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { QUICK } from '../crash/workloads.mjs'

const settings = JSON.parse(/** @type {string} */ (process.argv[2]))
const built = (/** @type {string} */ file) => import(pathToFileURL(`${settings.dist}/${file}`).href)
const { Petrel, PetrelError, chain, group, batch, job } = await built('index.js')
const { engineOf } = await built('insides.js')
const say = (/** @type {object} */ line) => void writeSync(1, `${JSON.stringify(line)}\n`)

/** Errors that reached a caller and are not the expected answer to a late request. */
const errors = /** @type {string[]} */ ([])
const counts = { started: 0, cancelled: 0, refused: 0, busy: 0 }
const complain = (/** @type {any} */ context, /** @type {string} */ message) => {
  const text = `${message} ${context.err?.stack ?? JSON.stringify(context)}`
  process.stderr.write(`${text}\n`)
  if (/deadlock|collid|40P01/i.test(text)) errors.push(text)
}
const logger = { debug() {}, info() {}, warn: complain, error: complain }
const petrel = await Petrel.open(settings.url, { logger, pollMs: 50, migrate: false })
const engine = engineOf(petrel)

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))
const chance = (/** @type {number} */ p) => Math.random() < p
const pick = (/** @type {readonly any[]} */ list) => list[Math.floor(Math.random() * list.length)]

petrel
  .handle('quick', () => {
    if (chance(0.1)) throw new Error('now and then it fails')
    return 1
  })
  .handle('slow', () => sleep(Math.random() * 60))
await petrel.work({ concurrency: 20, pollMs: 100 })

const options = { retry: { ...QUICK, maxAttempts: 3 } }
const quick = () => job('quick', null, options)
const slow = () => job('slow', null, options)

/** A chain of nodes with undo and a deadline, aborting or compensating. */
function withDeadline() {
  const run = (/** @type {string} */ type) => ({
    kind: 'run',
    type,
    queue: 'default',
    priority: 100,
    delayMs: 0,
    args: null,
    limitKey: null,
  })
  const node = (/** @type {string} */ key, /** @type {string} */ type, /** @type {string[]} */ to, join = 'each') => ({
    key,
    work: run(type),
    join,
    admit: null,
    retry: QUICK,
    timeout: null,
    onFailure: 'net',
    undo: { work: run('quick'), retry: { ...QUICK, maxAttempts: 20 }, timeout: null },
    next: { mode: 'every', arcs: to.map((t) => ({ to: t, when: null, args: null, set: null })), scope: null },
  })
  const onFailure = pick(['abort', 'compensate'])
  const net = {
    version: 1,
    name: `deadline-${onFailure}`,
    dialect: 'dag',
    nodes: [
      node('a', 'quick', ['b', 'c']),
      node('b', 'slow', ['d']),
      node('c', 'slow', ['d']),
      node('d', 'slow', [], 'count'),
    ],
    entry: ['a'],
    finals: [],
    onFailure,
    verdict: { failedOn: 'any', partial: false },
    unknown: 'ignore',
    timeoutMs: pick([20, 50, 100, 200]),
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
  }
  return engine.start([{ net, literals: Object.fromEntries(['a', 'b', 'c', 'd'].map((key) => [key, { args: null }])) }])
}

const kinds = [
  () => petrel.start(chain([quick(), slow(), quick(), quick()])),
  () => petrel.start(chain([quick(), group([chain([quick(), slow()]), quick(), chain([slow(), quick()])]), quick()])),
  () => petrel.start(group(Array.from({ length: 12 }, () => pick([quick, slow])()))),
  () => petrel.start(batch([quick(), slow(), chain([quick(), quick()])], { onComplete: quick(), onFailure: slow() })),
  withDeadline,
]

/** Errors that are correct answers to a late request. */
async function asking(/** @type {string} */ what, /** @type {() => Promise<unknown>} */ request) {
  try {
    await request()
    return true
  } catch (error) {
    const { code, message, stack } = /** @type {any} */ (error)
    if (error instanceof PetrelError && (code === 'conflict' || code === 'not_found')) counts.refused++
    // An SQLite file that other processes kept locked for five seconds: on such a busy machine the caller retries.
    else if (code === 'busy') counts.busy++
    else errors.push(`${what}: ${code} ${message} ${stack}`)
    return false
  }
}

let calm = false

async function starting() {
  while (!calm) {
    const [running] = await Promise.all([engine.queries.countInstances(), sleep(5)])
    if ((running.get('running') ?? 0) > 60) continue
    const burst = Array.from({ length: 4 }, () => asking('start', pick(kinds)))
    counts.started += (await Promise.all(burst)).filter(Boolean).length
  }
}

async function cancelling() {
  const running = {
    states: ['running', 'queued', 'waiting'],
    name: null,
    dialect: null,
    tenant: null,
    limit: 60,
    before: null,
  }
  const open = {
    status: ['pending', 'leased'],
    queue: null,
    type: null,
    deadLetter: null,
    tenant: null,
    limit: 60,
    before: null,
  }
  while (!calm) {
    await sleep(Math.random() * 30)
    const instance = pick(await engine.queries.listInstances({ ...running, rootsOnly: chance(0.5) }))
    if (instance && chance(0.6)) {
      counts.cancelled += (await asking('cancel', () =>
        engine.cancelInstance({ id: instance.id, actor: 'contention' }),
      ))
        ? 1
        : 0
    }
    const run = pick(await engine.queries.listRuns(open))
    if (run && chance(0.4)) {
      counts.cancelled += (await asking('cancel run', () => engine.cancelRun({ id: run.id, actor: 'contention' })))
        ? 1
        : 0
    }
  }
}

const busy = Promise.all([starting(), cancelling(), cancelling()])

createInterface({ input: process.stdin }).on('line', async (text) => {
  const order = JSON.parse(text)
  if (order.calm) {
    calm = true
    await busy.catch((error) => errors.push(String(error?.stack ?? error)))
    say({ calmed: true, counts, errors })
  }
  if (order.exit) {
    await petrel.close()
    process.exit(0)
  }
})
say({ ready: true })
