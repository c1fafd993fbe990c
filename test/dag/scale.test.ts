/**
 * The cost per step of large workflows equals that of small ones: measured in calls and rows of the store, never in
 * time.
 */
import { expect, it, vi } from 'vitest'
import { deep, dense, type Shape, STEP, UNDO, wide, workflowText, woven } from '../../bench/dag/shapes.mjs'
import { SLOT } from '../../src/net/slots.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { deploy } from '../server/native/stage.ts'
import { onBothStores, type Serving, type Stage, until } from '../server/serving.ts'
import { type Cost, countCost, expectAsSmall } from './cost.ts'

const FULL = process.env['PETREL_TEST_FULL'] === '1'
const SMALL = 50
/** Wide enough that a start does not create all of its runs at once; deep ones take a claim and a settle per step. */
const LARGE = FULL
  ? { wide: 10_000, dense: 10_000, woven: 10_000, deep: 10_000 }
  : { wide: 1_200, dense: 300, woven: 300, deep: 100 }
const SHAPES: { readonly [name in keyof typeof LARGE]: Shape } = { wide, dense, woven, deep }

interface Counted extends Serving {
  readonly cost: Cost
  reset(): void
}

async function counted(stage: Stage): Promise<Counted> {
  const serving = await stage.serve()
  return { ...serving, ...countCost(serving.store) }
}

async function start(s: Serving, workflow: string): Promise<string> {
  const started = await s.post('/v1/instances', { workflow, input: { week: 46 } })
  expect(started.status).toBe(201)
  // The first thousand steps can begin at once; the others follow in further transactions.
  await until(
    () => s.store.read.instance(started.body.id),
    (row) => row?.more === false,
    60_000,
  )
  return started.body.id
}

interface Job {
  readonly id: string
  readonly type: string
  readonly workflow: { readonly node: string }
}

/** Fetches and acknowledges over HTTP until the instance has ended; returns the steps in the order of execution. */
async function work(s: Serving, id: string, fails: (job: Job) => boolean = () => false): Promise<readonly string[]> {
  const done: string[] = []
  const worker_id = 'scale'
  for (;;) {
    const asked = { queues: [STEP, UNDO], count: 20, worker_id, visibility_timeout_ms: 600_000, wait_ms: 200 }
    const jobs: readonly Job[] = (await s.post('/ojs/v1/workers/fetch', asked)).body.jobs
    if (jobs.length === 0) {
      const row = await s.store.read.instance(id)
      if (row?.endedAt !== null) return done
      continue
    }
    for (const job of jobs.filter(fails)) {
      const error = { code: 'broken', message: 'broken', retryable: false }
      expect((await s.post('/ojs/v1/workers/nack', { job_id: job.id, worker_id, error })).status).toBe(200)
    }
    const good = jobs.filter((job) => !fails(job))
    const acks = good.map((job) => ({ job_id: job.id, worker_id, result: { of: job.workflow.node } }))
    if (acks.length > 0) expect((await s.post('/ojs/v1/workers/ack/batch', { acks })).body.failed).toBe(0)
    done.push(...good.map((job) => (job.type === UNDO ? `undo ${job.workflow.node}` : job.workflow.node)))
  }
}

/** Allows for other load on the machine. */
vi.setConfig({ testTimeout: FULL ? 1_800_000 : 120_000 })

onBothStores('large workflows', (stage) => {
  for (const name of ['wide', 'dense', 'woven', 'deep'] as const) {
    it(`costs per step of ${LARGE[name]} steps, ${name}, what it costs per step of ${SMALL}`, async () => {
      const s = await counted(stage)
      const costs: Cost[] = []
      for (const steps of [SMALL, LARGE[name]]) {
        expect((await deploy(s, workflowText(`${name}-${steps}`, SHAPES[name](steps)))).status).toBe(201)
        s.reset()
        const id = await start(s, `${name}-${steps}`)
        const done = await work(s, id)
        expect(new Set(done).size).toBe(steps)
        expect(done).toHaveLength(steps)
        expect(await s.store.read.instance(id)).toMatchObject({ state: 'completed', succeeded: steps, open: 0 })
        expect(await s.store.read.slots({ instanceId: id, prefix: SLOT.joinCount.prefix })).toEqual([])
        expect(await s.store.read.slots({ instanceId: id, prefix: SLOT.portions.prefix })).toEqual([])
        costs.push({ ...s.cost })
      }
      const [small, large] = costs as [Cost, Cost]
      expectAsSmall(large, LARGE[name], small, SMALL)
      expect(large.slotBytes / LARGE[name]).toBeLessThan(200)
      expect(large.netsRead).toBe(0)
      expect(large.mostRuns).toBeLessThanOrEqual(1000)
    })
  }

  it('starts a deployed one with a thousand runs at first, without reading its net, and cancels it as efficiently', async () => {
    const s = await counted(stage)
    await deploy(s, workflowText('come-and-go', wide(LARGE.wide)))
    for (let again = 0; again < 2; again++) {
      s.reset()
      const id = await start(s, 'come-and-go')
      expect(await s.store.read.instance(id)).toMatchObject({ open: LARGE.wide - 1, more: false })
      expect(s.cost).toMatchObject({ netsRead: 0, mostRuns: 1000 })
      const portions = Math.ceil(LARGE.wide / 1000)
      expect(s.cost.transactions).toBeLessThanOrEqual(portions + 1)
      s.reset()
      await s.engine.cancelInstance({ id, actor: null })
      const ended = await until(
        () => s.store.read.instance(id),
        (row) => row?.endedAt !== null,
        60_000,
      )
      expect(ended).toMatchObject({ state: 'cancelled', open: 0 })
      expect(s.cost.transactions).toBeLessThanOrEqual(portions + 1)
    }
  })

  it('reads its net once in a process that has not seen it, however many steps it settles', async () => {
    const first = await stage.serve()
    await deploy(first, workflowText('elsewhere', deep(50)))
    const id = await start(first, 'elsewhere')
    const second = await counted(stage)
    second.reset()
    expect(await work(second, id)).toHaveLength(50)
    expect(second.cost.netsRead).toBeLessThanOrEqual(1)
  })

  it('undoes a large one at the cost per step of a small one', async () => {
    const s = await counted(stage)
    const sizes = [40, FULL ? 10_000 : 120] as const
    const costs: Cost[] = []
    for (const steps of sizes) {
      const last = `s${steps - 1}`
      await deploy(s, workflowText(`undo-${steps}`, wide(steps), { compensated: true }))
      const id = await start(s, `undo-${steps}`)
      s.reset()
      const done = await work(s, id, (job) => job.type === STEP && job.workflow.node === last)
      expect(await s.store.read.instance(id)).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
      const worked = done.filter((one) => !one.startsWith('undo '))
      expect(done.slice(worked.length)).toHaveLength(steps - 1)
      expect(new Set(done).size).toBe(2 * (steps - 1))
      costs.push({ ...s.cost })
    }
    expectAsSmall(costs[1] as Cost, sizes[1], costs[0] as Cost, sizes[0])
  })

  it('retries a large one with one read per five hundred carried-over steps', async () => {
    const s = await counted(stage)
    for (const name of ['wide', 'deep'] as const) {
      const steps = FULL ? 10_000 : { wide: 600, deep: 80 }[name]
      const last = `s${steps - 1}`
      await deploy(s, workflowText(`retry-${name}`, SHAPES[name](steps)))
      const id = await start(s, `retry-${name}`)
      await work(s, id, (job) => job.workflow.node === last)
      s.reset()
      const retried = await s.engine.retryInstance({ id, actor: null })
      expect(s.cost.looks).toBeLessThanOrEqual(Math.ceil(steps / 500) + 3)
      expect(await work(s, retried.id)).toEqual([last])
      expect(await s.store.read.instance(retried.id)).toMatchObject({ state: 'completed', succeeded: steps })
    }
  })
})

it('refuses a workflow beyond the documented size, and suggests a remedy', async () => {
  const refused = async (dependencies: readonly (readonly number[])[]): Promise<string> =>
    readDefinition('large.yaml', workflowText('large', dependencies)).then(
      () => 'read',
      (error: Error) => error.message,
    )
  expect(await refused(wide(10_001))).toMatch(/10001 .*at most 10000/)
  // No two of these steps have the same dependencies, so that they share no join.
  const scattered = Array.from({ length: 1_000 }, (_, i) =>
    i < 500 ? [] : Array.from({ length: 500 }, (_, j) => j).filter((j) => j !== i - 500),
  )
  expect(await refused(scattered)).toMatch(/249500 dependencies.* at most 100000/)
})
