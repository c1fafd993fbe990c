// @ts-check
/**
 * A worker process that ends its runs on request.
 *
 *   { claim: n } takes n runs of any type → { claimed }
 *   { settle: n } reports n of them, all at once → { settled }
 *   { releaseAt: time } reports the rest, all at that moment → { released }
 *   { sleep: true } stops itself, between transactions → { sleeping }
 *   { exit: true }
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const settings = JSON.parse(/** @type {string} */ (process.argv[2]))
const { Engine, openStore } = await import(pathToFileURL(`${settings.dist}/insides.js`).href)
const say = (/** @type {object} */ line) => void writeSync(1, `${JSON.stringify(line)}\n`)

const store = await openStore(settings.url)
const engine = await Engine.open({ store, sweep: false, ...settings.engine })
/** @type {any[]} */
const held = []
const inbox = { room: () => 0, holding: () => held.map((d) => d.runId), deliver() {}, wake() {}, stop() {} }
const options = {
  name: `holder ${process.pid}`,
  runtime: 'node',
  queues: null,
  types: null,
  concurrency: 100,
  tenant: null,
}
const session = await engine.workers.open(options, inbox)
let reports = 0

async function claim(/** @type {number} */ wanted) {
  const before = held.length
  while (held.length < before + wanted) {
    const got = await session.claim(before + wanted - held.length)
    held.push(...got)
    if (got.length === 0) await new Promise((resolve) => setTimeout(resolve, 2))
  }
  say({ claimed: held.length })
}

/** Number of answers per status. */
async function settle(/** @type {number} */ count) {
  const deliveries = held.splice(0, count)
  const replies = await Promise.all(
    deliveries.map((delivery) =>
      session.settle({
        delivery,
        reportId: `${process.pid}.${reports++}`,
        startedAt: Date.now(),
        outcome: { kind: 'succeeded', result: JSON.stringify(settings.name ?? delivery.item) },
        wantNext: false,
      }),
    ),
  )
  return replies.filter((/** @type {any} */ reply) => reply.status === 'recorded').length
}

async function obey(/** @type {any} */ order) {
  if (order.claim !== undefined) await claim(order.claim)
  if (order.settle !== undefined) say({ settled: await settle(order.settle) })
  if (order.releaseAt !== undefined) {
    while (Date.now() < order.releaseAt);
    say({ released: await settle(held.length) })
  }
  if (order.sleep) {
    say({ sleeping: true })
    process.kill(process.pid, 'SIGSTOP')
  }
  if (order.exit) {
    await session.close()
    await engine.close()
    await store.close()
    process.exit(0)
  }
}

createInterface({ input: process.stdin }).on('line', (text) => void obey(JSON.parse(text)))
say({ ready: true })
