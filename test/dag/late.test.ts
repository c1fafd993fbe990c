/** A worker whose run was given up may have done its work all the same. Its late success is undone like any other. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { openStore } from '../../src/store/open.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { STORES } from './stores.ts'

const FLOW = `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: late }
spec:
  failurePolicy: compensate
  steps:
    - { name: a, timeout: 5m, onFailure: skip, retryPolicy: { maxRetries: 1 } }
    - { name: b }
    - { name: c }
  compensation:
    - { step: a, uses: undo }
`

describe.each(STORES)('a success reported late on $name', (place) => {
  const held = new Set<string>()
  const worker = { types: ['a', 'b', 'c', 'undo'], holding: () => [...held] }
  let drop: () => Promise<void>
  let process: SimulatedProcess
  let id = ''

  beforeEach(async () => {
    const { url, ...rest } = await place.open()
    drop = rest.drop
    const store = await openStore(url)
    await store.migrate()
    await store.close()
    worker.types = ['a', 'b', 'c', 'undo']
    process = await SimulatedProcess.open({ Engine, openStore, readDefinition }, url, worker)
    const [started] = await process.engine.start([(await readDefinition('late.yaml', FLOW)).start])
    id = (started as { id: string }).id
  })

  afterEach(async () => {
    held.clear()
    await process.close()
    await drop()
  })

  /** Claims all claimable work and marks it as begun; by node. */
  async function take(): Promise<Record<string, Delivery>> {
    const deliveries = await process.session.claim(10)
    for (const { runId } of deliveries) held.add(runId)
    await process.session.started(deliveries.map(({ runId, epoch }) => ({ runId, epoch, at: Date.now() })))
    return Object.fromEntries(deliveries.map((d) => [d.node as string, d]))
  }

  async function report(delivery: Delivery | undefined, outcome: 'succeeded' | 'failed'): Promise<string> {
    const done = { delivery: delivery as Delivery, outcome, result: '{"made":7}', wantNext: false }
    const reply = await process.report(done)
    held.delete((delivery as Delivery).runId)
    return (reply as { readonly status: string }).status
  }

  async function expectUndone(): Promise<void> {
    const { a: undo } = await take()
    expect(undo?.role).toBe('undo')
    expect(JSON.parse(undo?.payload as string).step).toMatchObject({ name: 'a', result: { made: 7 } })
    await report(undo, 'succeeded')
    expect((await process.engine.view(id))?.instance).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
  }

  it('is undone with its result after its timeout, once however often it is reported', async () => {
    const { a, b, c } = await take()
    await process.pass(6 * 60_000)
    expect(await report(a, 'succeeded')).toBe('stale')
    expect(await report(a, 'succeeded')).toBe('stale')
    await report(b, 'succeeded')
    await report(c, 'failed')
    await expectUndone()
  })

  it('is undone if its worker was lost and another failure came before the next attempt', async () => {
    worker.types = ['a']
    await process.openSession()
    const { a } = await take()
    await process.session.close()
    worker.types = ['b', 'c', 'undo']
    await process.openSession()
    await process.engine.sweep()
    const { b, c } = await take()
    await report(b, 'failed')
    const cancelled = (await process.engine.view(id))?.runs.find((run) => run.node === 'a')
    expect(cancelled?.status).toBe('cancelled')
    expect(await report(a, 'succeeded')).toBe('stale')
    expect(await report(a, 'succeeded')).toBe('stale')
    await report(c, 'succeeded')
    await expectUndone()
  })

  it('changes nothing if the work was given to another worker, which ends it', async () => {
    const { a, b, c } = await take()
    await process.session.close()
    await process.openSession()
    await process.engine.sweep()
    expect(await report(a, 'succeeded')).toBe('stale')
    const again = await take()
    expect(again['a']?.attempt).toBe(2)
    await report(again['a'], 'succeeded')
    expect([await report(b, 'succeeded'), await report(c, 'succeeded')]).toEqual(['stale', 'stale'])
    await report(again['b'], 'failed')
    await report(again['c'], 'succeeded')
    await expectUndone()
  })
})
