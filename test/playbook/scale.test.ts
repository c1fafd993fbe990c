/**
 * Long loops and many cycles: they end correctly, with a server and a worker in separate processes; and an item costs
 * the same as in a short loop, measured in calls of the store, never in time.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { Stage as Processes } from '../../bench/playbook/stage.mjs'
import { cycleText, loopText } from '../../bench/playbook/texts.mjs'
import { buildIfStale, root } from '../../scripts/setup.mjs'
import { SLOT } from '../../src/net/slots.ts'
import { openStore } from '../../src/store/open.ts'
import { type Cost, countCost, expectAsSmall } from '../dag/cost.ts'
import { YAML } from '../server/native/stage.ts'
import { onBothStores, type Serving } from '../server/serving.ts'

const FULL = process.env['PETREL_TEST_FULL'] === '1'
const ITEMS = FULL ? 100_000 : 1_200
const MOST_EVENTS = 1_000

/** Allows for other load on the machine. */
vi.setConfig({ testTimeout: FULL ? 1_800_000 : 120_000, hookTimeout: 120_000 })

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

onBothStores('a long loop, played by a server and a worker', (stage) => {
  let processes: Processes
  let id = ''
  let played: Awaited<ReturnType<Processes['play']>>

  beforeAll(async () => {
    buildIfStale()
    processes = await Processes.open({ dist: join(root, 'dist'), url: await stage.url() })
    await processes.deploy(loopText({ name: 'loop', parallel: true }))
  })
  afterAll(() => processes?.close())

  it(`ends with the results of ${ITEMS} items in order, each of them one run`, async () => {
    // Memory allocated at the start does not count as growth.
    if (FULL) await processes.play('loop', { items: numbers(10_000) })
    played = await processes.play('loop', { items: numbers(ITEMS) })
    id = played.id
    const { instance, execution, results } = await processes.ask('GET', `/v1/instances/${id}`)
    expect(instance).toMatchObject({ state: 'completed', succeeded: ITEMS + 1, failed: 0, open: 0 })
    expect(execution).toMatchObject({ status: 'success', counts: { steps: 2, succeeded: ITEMS + 1, failed: 0 } })
    expect(results.visit.stats).toEqual({ total: ITEMS, success: ITEMS, failed: 0 })
    expect(results.visit.results).toEqual(numbers(ITEMS).map((n) => ({ n })))
    expect(results.check).toBe(ITEMS)
    const store = await openStore(await stage.url())
    const items = await store.read.steps.itemCounts({ instanceId: id, node: 'visit', most: ITEMS + 1 })
    expect(Object.fromEntries(items)).toEqual({ succeeded: ITEMS })
    // All its working data has been removed.
    for (const prefix of [SLOT.scope.prefix, SLOT.tokenArgs.prefix, SLOT.portions.prefix])
      expect(await store.read.slots({ instanceId: id, prefix })).toEqual([])
    await store.close()
  })

  it('logs each item, page by page, and its view stays bounded', async () => {
    const iterations = new Set<number>()
    let started = 0
    for (let after = '0', more = true; more; ) {
      const path = `/v1/instances/${id}/execution-events?limit=${MOST_EVENTS}&after=${after}`
      const page = await processes.ask('GET', `${path}&types=loop.iteration.started,loop.iteration.done`)
      expect(page.events.length).toBeLessThanOrEqual(MOST_EVENTS)
      for (const { event_type, iteration } of page.events) {
        if (event_type === 'loop.iteration.started') started++
        else iterations.add(iteration)
      }
      after = page.next_after
      more = page.has_more
    }
    expect([started, iterations.size]).toEqual([ITEMS, ITEMS])
    const { runs } = await processes.ask('GET', `/v1/instances/${id}`)
    expect(runs).toHaveLength(1000)
    const { steps } = await processes.ask('GET', `/v1/instances/${id}/steps`)
    expect(steps.map(({ name }: { name: string }) => name)).toEqual(['visit', 'check'])
  })

  it('takes memory that does not grow with it', () => {
    for (const { earlierMb, laterMb } of [played.server, played.worker]) {
      expect(earlierMb).toBeGreaterThan(10)
      // A short one is still warming up.
      expect(laterMb).toBeLessThanOrEqual(earlierMb * (FULL ? 1.15 : 2))
    }
    // A young generation of three times 64 MB, SQLite's cache of 32 MB, and the code.
    expect(played.server.peakMb).toBeLessThan(300)
    expect(played.worker.peakMb).toBeLessThan(450)
  })
})

interface Shape {
  readonly name: string
  readonly text: string
  /** Runs taken at a time. */
  readonly atOnce: number
  readonly sizes: readonly [small: number, large: number]
  /** 64 items are read at a time, even for one; a small loop has fewer left. */
  readonly ahead: number
  input(size: number): object
  /** In addition to those of its items or cycles. */
  readonly otherRuns: number
}

const SHAPES: readonly Shape[] = [
  {
    name: 'loop',
    text: loopText({ name: 'loop', parallel: true }),
    atOnce: 50,
    sizes: [500, ITEMS],
    ahead: 0,
    input: (size) => ({ items: numbers(size) }),
    otherRuns: 1,
  },
  {
    name: 'sequential',
    text: loopText({ name: 'sequential', parallel: false }),
    atOnce: 1,
    sizes: [50, FULL ? 10_000 : 200],
    ahead: 40,
    input: (size) => ({ items: numbers(size) }),
    otherRuns: 1,
  },
  {
    name: 'cycle',
    text: cycleText('cycle'),
    atOnce: 1,
    sizes: [30, FULL ? 5_000 : 120],
    ahead: 0,
    input: (size) => ({ turns: size }),
    otherRuns: 0,
  },
]

interface Job {
  readonly id: string
  readonly args: readonly [{ readonly item?: { readonly value: number }; readonly args: { readonly page?: number } }]
}

/** Takes this many leases over HTTP at a time, and reports them together, which fixes the number settled at once. */
async function work(s: Serving, id: string, atOnce: number): Promise<number> {
  const worker_id = 'scale'
  const asked = { queues: ['playbook'], count: atOnce, worker_id, visibility_timeout_ms: 600_000, wait_ms: 200 }
  for (let done = 0; ; ) {
    const jobs: readonly Job[] = (await s.post('/ojs/v1/workers/fetch', asked)).body.jobs
    if (jobs.length === 0) {
      if ((await s.store.read.instance(id))?.endedAt !== null) return done
      continue
    }
    const acks = jobs.map(({ id: job_id, args: [given] }) => {
      const result = given.item === undefined ? { page: given.args?.page ?? 1 } : { n: given.item.value }
      return { job_id, worker_id, result }
    })
    expect((await s.post('/ojs/v1/workers/ack/batch', { acks })).body.failed).toBe(0)
    done += jobs.length
  }
}

onBothStores('long playbooks', (stage) => {
  it.each(SHAPES)('$name costs per item of many what it costs per item of few', async (shape) => {
    const serving = await stage.serve()
    const { cost, reset } = countCost(serving.store)
    expect((await serving.post('/v1/definitions', shape.text, YAML)).status).toBe(201)
    const costs: Cost[] = []
    for (const size of shape.sizes) {
      reset()
      const started = await serving.post('/v1/instances', { workflow: shape.name, input: shape.input(size) })
      expect(started.status).toBe(201)
      expect(await work(serving, started.body.id, shape.atOnce)).toBe(size + shape.otherRuns)
      const wanted = { state: 'completed', outcome: 'success', succeeded: size + shape.otherRuns, open: 0 }
      expect(await serving.store.read.instance(started.body.id)).toMatchObject(wanted)
      costs.push({ ...cost })
    }
    const [small, large] = costs as [Cost, Cost]
    const [few, many] = shape.sizes
    expectAsSmall(large, many, small, few, shape.ahead)
    expect(large.slotBytes / many).toBeLessThan(1_000)
    expect(large.mostRuns).toBeLessThanOrEqual(1_000)
    expect(large.netsRead).toBe(0)
    // Its arcs and the next step read only the counts of the loop: no result is read for them.
    expect(large.gathered).toBe(0)
  })
})
