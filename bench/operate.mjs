// @ts-check
/**
 * How long the questions of an operator take in a large database: a million ended instances and a million pending runs of one
 * queue, beside them an instance of 10,000 steps and one with a list of a tenth as many items as there are rows.
 *
 *     node bench/operate.mjs [--store sqlite|postgres] [--rows 1000000]
 *
 * Every question is asked 20 times; one that takes longer than LIMIT_MS is marked, and the exit code is 1.
 */
import { ask, onFilledStores, ROWS } from './filled.mjs'

const STEPS = 10_000
const WIDTH = 100
const ITEMS = ROWS / 10

await onFilledStores(async ({ url, insides, sdk }) => {
  const store = await insides.openStore(url)
  const engine = await insides.Engine.open({ store, vocabularies: insides.VOCABULARIES })
  const began = performance.now()
  const [{ id: steps }] = await engine.start([{ net: stepsNet() }])
  const petrel = insides.petrelOn(engine)
  petrel.handle('bench.step', () => null)
  const worker = await petrel.work({ concurrency: 200 })
  await engine.ended({ id: steps, kind: 'instance' })
  await worker.stop()
  const { id: list } = await petrel.start(
    sdk.group(...Array.from({ length: ITEMS }, (_, i) => sdk.job('bench.item', [i]))),
  )
  while ((await store.read.instance(list)).more) await engine.sweep()
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(`an ended instance of ${STEPS} steps, and a list of ${ITEMS} items (${seconds} s)`)

  const report = { queue: 'bulk', minutes: 5 }
  await ask(
    'queue report, before the queue is counted',
    async () => (await engine.queueReport({ ...report, counted: false })).traffic.length,
  )
  await engine.queueReport({ ...report, counted: true })
  await ask('queue report', async () => (await engine.queueReport({ ...report, counted: false })).traffic.length)
  await ask('list of queues', async () => (await engine.queueStats({ queue: null, minutes: 0 })).length)

  for (const [name, instanceId] of /** @type {const} */ ([
    ['10,000 steps', steps],
    ['a long list', list],
  ])) {
    await ask(`timeline of ${name}`, async () => (await engine.timeline({ instanceId })).rows.length)
    await ask(`marking of ${name}`, async () => (await engine.marking({ instanceId })).nodes.length)
    const { seq } = await engine.marking({ instanceId })
    await ask(
      `marking of ${name}, changes`,
      async () => (await engine.marking({ instanceId, after: seq })).nodes.length,
    )
    await ask(`why ${name} waits`, async () => (await engine.why({ instanceId })).waits.length)
    await ask(
      `${name}: a page of runs`,
      async () => (await store.read.instanceRuns({ instanceId, limit: 100, after: null })).length,
    )
  }
  const middle = await middleRun(store, list)
  await ask(
    'a long list: a page of runs (middle)',
    async () => (await store.read.instanceRuns({ instanceId: list, limit: 100, after: middle })).length,
  )
  const at = { id: steps, fork: true }
  await ask('preview of a fork', async () => pageOf(await engine.previewRetry(at)))
  await ask('preview of a fork from a step', async () =>
    pageOf(await engine.previewRetry({ ...at, from: { step: `s${STEPS / 2}` } })),
  )
  await engine.close()
  await store.close()
})

/** @param {{ again: readonly unknown[], carried: readonly unknown[] }} preview */
function pageOf({ again, carried }) {
  return again.length + carried.length
}

/** Chains side by side. */
function stepsNet() {
  const work = {
    kind: 'run',
    type: 'bench.step',
    queue: 'steps',
    priority: 100,
    delayMs: 0,
    args: null,
    limitKey: null,
  }
  const policy = { join: 'each', admit: null, retry: null, timeout: null, onFailure: 'net', undo: null }
  const nodes = Array.from({ length: STEPS }, (_, i) => {
    const arcs = i + WIDTH < STEPS ? [{ to: `s${i + WIDTH}`, when: null, args: null, set: null }] : []
    return { key: `s${i}`, work, ...policy, next: { mode: 'every', arcs, scope: null } }
  })
  return {
    ...{ version: 1, name: 'steps', dialect: 'bench', finals: [], onFailure: 'abort', unknown: 'ignore' },
    ...{ verdict: { failedOn: 'unhandled', partial: false }, timeoutMs: null, undoTimeoutMs: null },
    ...{ held: 'wait', noMatch: 'end', nodes, entry: nodes.slice(0, WIDTH).map(({ key }) => key) },
  }
}

/** @param {any} store @param {string} instanceId */
async function middleRun(store, instanceId) {
  let after = null
  for (let seen = 0; seen < ITEMS / 2; seen += 1_000) {
    after = (await store.read.instanceRuns({ instanceId, limit: 1_000, after })).at(-1).id
  }
  return after
}
