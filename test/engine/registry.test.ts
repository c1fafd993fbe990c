/** The registry: which runtime may take a type, and whether any may. Every way of handing out work obeys it. */

import { expect, it } from 'vitest'
import { waitsOf } from '../../src/cli/run/waits.ts'
import { chain, group, job, type Petrel, Retryable } from '../../src/index.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { engineOf } from '../engine-of.ts'
import { onBothStores } from '../sdk/stores.ts'
import { until } from '../server/serving.ts'
import { fetched, ManualWorker, NO_POLL, plainSql } from './manual-worker.ts'

const ONCE = { retry: { maxAttempts: 1 } }

const STEPS = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `step.${name}.v1`)

onBothStores('the registry', (stage) => {
  it('unlisted types are open to all, a listed one only to its runtime, a disabled one to none', async () => {
    const petrel = await stage.open(NO_POLL)
    const engine = engineOf(petrel)
    await engine.registry.put({ workflowName: 'go.v1', runtime: 'go' })
    await engine.registry.put({ workflowName: 'node.v1', runtime: 'node' })
    await engine.registry.put({ workflowName: 'off.v1', runtime: 'node', isEnabled: false })
    const [node, go] = [await ManualWorker.open(engine), await ManualWorker.open(engine, { runtime: 'go' })]
    const all = ['free.v1', 'go.v1', 'node.v1', 'off.v1']
    const enqueue = () => petrel.enqueueMany(all.map((type) => job(type)))
    await enqueue()
    expect(await node.types()).toEqual(['free.v1', 'node.v1'])
    await enqueue()
    expect(await go.types()).toEqual(['free.v1', 'go.v1', 'go.v1'])
    expect(await go.types()).toEqual([])
    await enqueue()
    expect(await fetched(engine, null)).toEqual(['free.v1'])
    expect(await fetched(engine, null, ['go.v1', 'node.v1', 'off.v1'])).toEqual([])
    expect(await fetched(engine, 'go')).toEqual(['go.v1'])
    expect(await fetched(engine, 'python')).toEqual([])
    expect((await engine.registry.list()).map(({ workflowName, pending }) => [workflowName, pending])).toEqual([
      ['go.v1', 0],
      ['node.v1', 2],
      ['off.v1', 3],
    ])
  })

  it('a new run goes to a waiting worker of its runtime, never to another', async () => {
    const petrel = await stage.open(NO_POLL)
    const engine = engineOf(petrel)
    const [node, go] = [await ManualWorker.open(engine), await ManualWorker.open(engine, { runtime: 'go' })]
    await engine.registry.put({ workflowName: 'go.v1', runtime: 'go' })
    await engine.registry.put({ workflowName: 'off.v1', runtime: 'node', isEnabled: false })
    await Promise.all([node.types(), go.types()])
    node.room = 10
    await petrel.enqueueMany([job('go.v1'), job('off.v1'), job('free.v1')])
    await petrel.start(group(job('go.v1'), job('off.v1'), job('free.v1')))
    expect(node.delivered.map((delivery) => delivery.type)).toEqual(['free.v1', 'free.v1'])
    go.room = 10
    await petrel.start(chain(job('go.v1'), job('free.v1')))
    expect(go.delivered.map((delivery) => delivery.type)).toEqual(['go.v1'])
    expect(await go.types()).toEqual(['go.v1', 'go.v1'])
  })

  it('a step of a chain goes to a worker of its own runtime at once, in another process too', async () => {
    const here = await stage.open(NO_POLL)
    const there = await stage.open(NO_POLL)
    const ran: string[] = []
    for (const type of STEPS) {
      here.handle(type, () => void ran.push(`node ${type}`))
      there.handle(type, () => void ran.push(`go ${type}`))
    }
    await here.registry.put({ workflowName: 'step.b.v1', runtime: 'go' })
    await here.registry.put({ workflowName: 'step.c.v1', runtime: 'node' })
    await here.registry.put({ workflowName: 'step.d.v1', runtime: 'go' })
    await here.work({ pollMs: 60_000 })
    await there.work({ pollMs: 60_000, runtime: 'go', types: ['step.%'] })
    const handle = await here.start(chain(...STEPS.slice(0, 4).map((type) => job(type))))
    await handle.result()
    expect(ran.slice(1)).toEqual(['go step.b.v1', 'node step.c.v1', 'go step.d.v1'])
    expect(await engineOf(here).queries.doctor()).toEqual([])
  })

  it('a change by plain SQL applies to the next step, even if the chain is cached', async () => {
    const petrel = await stage.open(NO_POLL)
    const sql = await plainSql(stage)
    const engine = engineOf(petrel)
    const hand = await ManualWorker.open(engine)
    const steps = chain(...STEPS.map((type) => job(type)))
    await petrel.start(steps)
    // The process has cached only that these types are not registered.
    for (let [at] = (await hand.claim()) as (Delivery | null)[]; at != null; ) at = await hand.succeed(at)
    await petrel.start(steps)
    let [at] = await hand.claim()
    for (let i = 0; i < 2; i++) at = (await hand.succeed(at as Delivery)) as Delivery
    expect(at?.type).toBe('step.c.v1')
    await sql(`INSERT INTO workflow_registry (workflow_name, runtime) VALUES ('step.d.v1', 'python')`)
    expect(await hand.succeed(at as Delivery)).toBeNull()
    expect(await hand.claim()).toEqual([])
    const wakes = hand.wakes
    await sql(`UPDATE workflow_registry SET runtime = 'node'`)
    await until(
      async () => hand.wakes,
      (now) => now > wakes,
    )
    ;[at] = await hand.claim()
    expect(at?.type).toBe('step.d.v1')
    await sql(`UPDATE workflow_registry SET is_enabled = FALSE`)
    at = (await hand.succeed(at as Delivery)) as Delivery
    expect(at.type).toBe('step.e.v1')
    await sql(`UPDATE workflow_registry SET workflow_name = 'step.f.v1'`)
    expect(await hand.succeed(at)).toBeNull()
    await sql(`DELETE FROM workflow_registry`)
    ;[at] = await hand.claim()
    expect(at?.type).toBe('step.f.v1')
    await hand.succeed(at as Delivery)
    expect(await engine.queries.doctor()).toEqual([])
  })

  it('a change made here applies to the next step, and wakes waiting fetches here, before the call returns', async () => {
    const petrel = await stage.open(NO_POLL)
    const { registry } = petrel
    const hand = await ManualWorker.open(engineOf(petrel))
    const steps = chain(...STEPS.map((type) => job(type)))
    await petrel.start(steps)
    // The process has cached only that these types are not registered.
    for (let [at] = (await hand.claim()) as (Delivery | null)[]; at != null; ) at = await hand.succeed(at)
    await petrel.start(steps)
    let [at] = await hand.claim()
    at = (await hand.succeed(at as Delivery)) as Delivery
    await registry.put({ workflowName: 'step.c.v1', runtime: 'go' })
    expect(await hand.succeed(at)).toBeNull()
    expect(await hand.claim()).toEqual([])
    const woken = async (change: Promise<unknown>): Promise<boolean> => {
      const before = hand.wakes
      await change
      return hand.wakes > before
    }
    expect(await woken(registry.put({ workflowName: 'step.c.v1', runtime: 'node' }))).toBe(true)
    ;[at] = await hand.claim()
    expect(at?.type).toBe('step.c.v1')
    await registry.put({ workflowName: 'step.d.v1', runtime: 'node', isEnabled: false })
    expect(await hand.succeed(at as Delivery)).toBeNull()
    expect(await woken(registry.remove('step.d.v1'))).toBe(true)
    expect(await hand.types()).toEqual(['step.d.v1'])
  })

  it('listed types of this runtime are handed over like any other', async () => {
    const petrel = await stage.open(NO_POLL)
    for (const type of STEPS) await petrel.registry.put({ workflowName: type, runtime: 'node' })
    const hand = await ManualWorker.open(engineOf(petrel))
    await petrel.start(chain(...STEPS.map((type) => job(type))))
    let [at] = (await hand.claim()) as (Delivery | null | undefined)[]
    const walked: string[] = []
    for (; at != null; at = await hand.succeed(at)) walked.push(at.type)
    expect(walked).toEqual(STEPS)
  })

  it('a run that is returned while its type is disabled waits, and is taken at once when it is enabled again', async () => {
    const petrel = await stage.open(NO_POLL)
    const other = await stage.open(NO_POLL)
    const { registry } = petrel
    let tries = 0
    await registry.put({ workflowName: 'shaky.v1', runtime: 'node' })
    petrel.handle('shaky.v1', async () => {
      if (++tries > 1) return 'done'
      await other.registry.put({ workflowName: 'shaky.v1', isEnabled: false })
      throw new Retryable('not yet')
    })
    petrel.handle('calm.v1', () => 'calm')
    await petrel.work({ pollMs: 60_000 })
    const shaky = await petrel.enqueue('shaky.v1', null, { retry: { maxAttempts: 3, initialMs: 1, jitter: 0 } })
    const run = () => engineOf(petrel).queries.run(shaky.id)
    await until(run, (row) => row?.status === 'pending' && row.attempt === 1)
    // Its time has come: a claim for due work has skipped it.
    await until(async () => (await engineOf(petrel).queries.now()) > ((await run())?.runAt ?? 0), Boolean)
    expect(await (await petrel.enqueue('calm.v1')).result()).toBe('calm')
    expect([tries, (await run())?.status]).toEqual([1, 'pending'])
    await other.registry.put({ workflowName: 'shaky.v1', isEnabled: true })
    expect(await shaky.result()).toBe('done')
  })

  it('a worker that waits in another process is woken when a type is opened to it', async () => {
    const here = await stage.open(NO_POLL)
    const there = await stage.open(NO_POLL)
    await here.registry.put({ workflowName: 'moved.v1', runtime: 'go' })
    there.handle('moved.v1', () => 'node did it').handle('free.v1', () => null)
    await there.work({ pollMs: 60_000 })
    /** Afterwards the worker has checked everything that was enqueued before, and waits again. */
    const looked = async () => void (await (await here.enqueue('free.v1')).result())
    const first = await here.enqueue('moved.v1')
    await looked()
    const second = engineOf(there).leases.fetch({
      queues: null,
      types: ['moved.%'],
      limit: 1,
      holder: 'http',
      runtime: 'python',
      tenant: null,
      waitMs: 20_000,
      leaseMs: () => 60_000,
    })
    expect(await there.registry.get('moved.v1')).toMatchObject({ runtime: 'go', isEnabled: true })
    await here.registry.put({ workflowName: 'moved.v1', runtime: 'node' })
    expect(await first.result()).toBe('node did it')
    await here.registry.put({ workflowName: 'moved.v1', runtime: 'python' })
    const third = await here.enqueue('moved.v1')
    expect((await second).map((run) => run.id)).toEqual([third.id])
    const fourth = await here.enqueue('moved.v1')
    await looked()
    await here.registry.remove('moved.v1')
    expect(await fourth.result()).toBe('node did it')
  })

  it('no claim or hand-off that begins after a type was disabled hands it out, under any concurrency', async () => {
    const petrels = [await stage.open(NO_POLL), await stage.open(NO_POLL)] as const
    const engine = engineOf(petrels[0])
    const { registry } = engine
    await registry.put({ workflowName: 'hot.v1', runtime: 'node' })
    const handles: { result(): Promise<unknown> }[] = []
    for (let i = 0; i < 40; i++)
      handles.push(await petrels[0].start(chain(job('hot.v1'), job('cold.v1'), job('hot.v1'))))
    /** Odd while the type is certainly disabled: increased when a change has been made, or is about to be reverted. */
    let period = 0
    let over = false
    const wrong: string[] = []
    const executions: string[] = []
    const worker = async (petrel: Petrel): Promise<void> => {
      const hand = await ManualWorker.open(engineOf(petrel))
      const asking = async <T>(ask: () => Promise<T>, given: (answer: T) => readonly Delivery[]): Promise<T> => {
        const before = period
        const answer = await ask()
        const hot = given(answer).filter((delivery) => delivery.type === 'hot.v1')
        if (before % 2 === 1 && before === period && hot.length > 0) wrong.push(`${before}: ${hot.length}`)
        return answer
      }
      for (let idle = false; !(over && idle); ) {
        const claimed = await asking(
          () => hand.claim(3),
          (deliveries) => deliveries,
        )
        idle = claimed.length === 0
        await Promise.all(
          claimed.map(async (delivery) => {
            for (let at: Delivery | null = delivery; at !== null; ) {
              const current: Delivery = at
              executions.push(current.runId)
              at = await asking(
                () => hand.succeed(current),
                (next) => (next === null ? [] : [next]),
              )
            }
          }),
        )
        if (idle) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const toggler = async (): Promise<void> => {
      for (let i = 0; i < 15; i++) {
        await registry.put({ workflowName: 'hot.v1', isEnabled: false })
        period++
        for (let turn = 0; turn < 10; turn++) await engine.queries.now()
        period++
        await registry.put({ workflowName: 'hot.v1', isEnabled: true })
        await engine.queries.now()
      }
      await Promise.all(handles.map((handle) => handle.result()))
      over = true
    }
    await Promise.all([toggler(), ...petrels.flatMap((petrel) => [worker(petrel), worker(petrel)])])
    expect(wrong).toEqual([])
    expect(executions).toHaveLength(120)
    expect(new Set(executions).size).toBe(120)
    expect(await engine.queries.doctor()).toEqual([])
  }, 60_000)

  it('reports mistakes in an entry, and that a type must be registered before it is disabled', async () => {
    const engine = engineOf(await stage.open(NO_POLL))
    const { registry } = engine
    const refused = (params: object, code: string, message: string) =>
      expect(registry.put(params as never)).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
    await refused({ workflowName: 'a.v1', isEnabled: false }, 'not_found', "type 'a.v1' is not in the registry")
    await refused({ workflowName: '', runtime: 'go' }, 'invalid_request', 'workflowName: a type such as')
    await refused({ workflowName: 'a.v1', runtime: '' }, 'invalid_request', "runtime: a name such as 'node'")
    await refused({ workflowName: 'a.v1', runtime: ' go' }, 'invalid_request', "runtime: a name such as 'node'")
    await refused({ workflowName: 'a.%', runtime: 'go' }, 'invalid_request', "'a.%' is a prefix")
    await refused({ workflowName: 'a\0', runtime: 'go' }, 'invalid_request', 'workflowName: a type such as')
    await refused({ workflowName: 'a.v1', runtime: 'go', isEnabled: 1 }, 'invalid_request', 'isEnabled: true or false')
    await refused({ workflowName: 'a.v1', runtime: 'go', intentType: '' }, 'invalid_request', 'intentType: a word')
    await refused(
      { workflowName: 'a.v1', runtime: 'go', description: 'x'.repeat(10_001) },
      'invalid_request',
      'description: a string',
    )
    expect(await registry.remove('a.v1')).toBe(false)
    expect(await registry.list()).toEqual([])
  })

  it('shows that a workflow waits for a type to be enabled, or for a worker of its runtime', async () => {
    const petrel = await stage.open(NO_POLL)
    const engine = engineOf(petrel)
    await engine.registry.put({ workflowName: 'off.v1', runtime: 'go', isEnabled: false })
    await engine.registry.put({ workflowName: 'go.v1', runtime: 'go' })
    await ManualWorker.open(engine)
    const { id } = await petrel.start(group(job('off.v1'), job('go.v1')))
    expect((await waitsOf(engine, id))?.map(({ kind, text }) => [kind, text.replace(/^.* waits/, 'waits')])).toEqual([
      ['registry', "waits: type 'off.v1' is disabled in the registry"],
      ['worker', "waits for a worker of runtime 'go' that handles 'go.v1'"],
    ])
    await engine.registry.put({ workflowName: 'off.v1', isEnabled: true })
    await ManualWorker.open(engine, { runtime: 'go' })
    expect(await waitsOf(engine, id)).toBeNull()
  })

  it('the doctor names exactly the workers on plain SQL that take a disabled type', async () => {
    const petrel = await stage.open(NO_POLL)
    const sql = await plainSql(stage)
    const engine = engineOf(petrel)
    const take = async (worker: string): Promise<void> => {
      const until =
        stage.kind === 'sqlite' ? '(SELECT now FROM workflow_clock) + 30000' : `now() + interval '30 seconds'`
      await sql(`UPDATE workflow_run SET status = 'leased', leased_by = '${worker}', lease_until = ${until}
        WHERE id = (SELECT id FROM workflow_run WHERE status = 'pending' AND type LIKE 'billing.%' ORDER BY id LIMIT 1)`)
    }
    const [first, second, third] = await petrel.enqueueMany([1, 2, 3].map((n) => job('billing.pay.v1', n, ONCE)))
    const hand = await ManualWorker.open(engine)
    await engine.registry.put({ workflowName: 'billing.pay.v1', runtime: 'node' })
    await take('early')
    await hand.claim(1)
    await engine.registry.put({ workflowName: 'billing.pay.v1', isEnabled: false })
    expect(await engine.queries.doctor()).toEqual([])
    const disabledAt = await engine.queries.now()
    await until(
      () => engine.queries.now(),
      (now) => now > disabledAt + 2,
    )
    await take('late')
    expect([await first?.status(), await second?.status(), await third?.status()]).toEqual([
      'leased',
      'leased',
      'leased',
    ])
    const findings = await engine.queries.doctor()
    expect(findings).toEqual([
      {
        check: 'registry_disabled',
        subject: third?.id,
        finding: expect.stringMatching(
          /^of type billing\.pay\.v1, which the registry disables, was taken by late at \d{4}-.*: a worker on plain SQL, which the registry cannot hold back; stop that worker/,
        ),
      },
    ])
  })
})
