import { expect, it } from 'vitest'
import { aGate, anEndedInstance, anInstance, aRun, aStep, newId, T0 } from './rows.ts'
import { load, put } from './subject.ts'
import type { Current } from './suite.ts'

export function keyTopic(current: Current): void {
  it('finds runs by idempotency key and instances by start key', async () => {
    const { store } = current()
    const run = aRun({ idempotencyKey: 'order-1' })
    const instance = anInstance({ startKey: 'start-1' })
    await put(store, { runs: { insert: [run] }, instances: { insert: [instance] } })
    const loaded = await load(store, { idempotencyKeys: ['order-1', 'order-2'], startKeys: ['start-1', 'start-2'] })
    expect([...loaded.idempotencyKeys.entries()].map(([key, row]) => [key, row.id])).toEqual([['order-1', run.id]])
    expect([...loaded.startKeys.entries()]).toEqual([['start-1', instance]])
  })

  it('refuses a second run with an idempotency key, naming the key', async () => {
    const { store } = current()
    await put(store, { runs: { insert: [aRun({ idempotencyKey: 'order-1' })] } })
    const again = put(store, { runs: { insert: [aRun(), aRun({ idempotencyKey: 'order-1' })] } })
    await expect(again).rejects.toMatchObject({
      name: 'StoreConflictError',
      message: expect.stringContaining('order-1'),
    })
    expect(await store.read.countRuns({ queue: null })).toEqual(new Map([['pending', 1]]))
  })

  it('keeps the idempotency key of a run that retention removed', async () => {
    const { store } = current()
    const run = aRun({ idempotencyKey: 'order-1', status: 'succeeded', finishedAt: T0 - 5_000, settledAt: T0 - 5_000 })
    const instance = anEndedInstance({ endedAt: T0 - 5_000 })
    const step = aStep(instance, 'a', {
      idempotencyKey: 'step-1',
      status: 'succeeded',
      finishedAt: T0 - 5_000,
      settledAt: T0 - 5_000,
    })
    await put(store, { instances: { insert: [instance] }, runs: { insert: [run, step] } })
    await store.sweep.prune({ endedBefore: T0, eventsBefore: T0, limit: 1_000 })
    expect(await store.read.run(run.id)).toBeNull()
    expect(await store.read.run(step.id)).toBeNull()
    for (const key of ['order-1', 'step-1']) {
      const again = put(store, { runs: { insert: [aRun({ idempotencyKey: key })] } })
      await expect(again).rejects.toMatchObject({ name: 'StoreConflictError', message: expect.stringContaining(key) })
    }
    const loaded = await load(store, { idempotencyKeys: ['order-1', 'free'] })
    expect(loaded.idempotencyKeys.size).toBe(0)
    expect(loaded.keptKeys).toEqual(new Map([['order-1', run.id]]))
  })

  it('refuses a second run at a place, and a second gate', async () => {
    const { store } = current()
    const instance = anInstance()
    await put(store, {
      instances: { insert: [instance] },
      runs: {
        insert: [aStep(instance, 'a'), aStep(instance, 'a', { item: 0 }), aStep(instance, 'a', { role: 'undo' })],
      },
      gates: { insert: [aGate(instance)] },
    })
    const conflict = { name: 'StoreConflictError' }
    await expect(put(store, { runs: { insert: [aStep(instance, 'a')] } })).rejects.toMatchObject(conflict)
    await expect(put(store, { gates: { insert: [aGate(instance)] } })).rejects.toMatchObject(conflict)
    await put(store, { runs: { insert: [aStep(instance, 'a', { fire: 2 }), aStep(instance, 'b')] } })
  })

  it('refuses used ids and start keys', async () => {
    const { store } = current()
    const run = aRun()
    const instance = anInstance({ startKey: 'start-1' })
    await put(store, { runs: { insert: [run] }, instances: { insert: [instance] } })
    const conflict = { name: 'StoreConflictError' }
    await expect(put(store, { runs: { insert: [aRun({ id: run.id })] } })).rejects.toMatchObject(conflict)
    await expect(put(store, { instances: { insert: [anInstance({ id: instance.id })] } })).rejects.toMatchObject(
      conflict,
    )
    const again = put(store, { instances: { insert: [anInstance({ startKey: 'start-1' })] } })
    await expect(again).rejects.toMatchObject({ ...conflict, message: expect.stringContaining('start-1') })
  })

  it('passes a unique key from one run to the next in one delta', async () => {
    const { store } = current()
    const unique = (runId: string) => ({ key: 'u', runId, expiresAt: null, states: ['pending'] })
    await put(store, { uniques: { put: [unique(newId())] } })
    const next = newId()
    await put(store, { uniques: { remove: ['u'], put: [unique(next)] } })
    expect((await load(store, { uniques: ['u'] })).uniques.get('u')!.runId).toBe(next)
  })
}
