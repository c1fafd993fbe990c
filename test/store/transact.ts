import { expect, it } from 'vitest'
import type { Loaded } from '../../src/model/transaction.ts'
import { anEvent, anInstance, aRun, aStep, newId } from './rows.ts'
import { load, put } from './subject.ts'
import type { Current } from './suite.ts'

export function transactTopic(current: Current): void {
  it('leaves nothing behind when decide throws', async () => {
    const { store } = current()
    const failing = store.transact({
      roots: [],
      wait: true,
      need: {},
      decide: () => {
        throw new Error('no decision')
      },
    })
    await expect(failing).rejects.toThrow('no decision')
    await put(store, { runs: { insert: [aRun()] } })
    expect(await store.read.countRuns({ queue: null })).toEqual(new Map([['pending', 1]]))
  })

  it('leaves nothing behind when one row of a delta is refused', async () => {
    const { store } = current()
    const taken = aRun()
    await put(store, { runs: { insert: [taken] } })
    const instance = anInstance()
    const delta = {
      instances: { insert: [instance] },
      runs: { insert: [aRun(), aRun({ id: taken.id })] },
      events: [anEvent({ type: 'created', runId: taken.id })],
      queues: [{ name: 'mail', paused: true }],
    }
    await expect(put(store, delta)).rejects.toThrow()
    expect(await store.read.instance(instance.id)).toBeNull()
    expect(await store.read.countRuns({ queue: null })).toEqual(new Map([['pending', 1]]))
    expect(await store.read.feed({ afterId: 0, limit: 10 })).toEqual([])
  })

  it('refuses values that no store could keep, as data errors', async () => {
    const { store } = current()
    const bad = [
      { runs: { insert: [aRun({ payload: '{"broken' })] } },
      { runs: { insert: [aRun({ idempotencyKey: 'a\0b' })] } },
      { runs: { insert: [aRun({ type: 'a\0b' })] } },
      { events: [anEvent({ type: 'no such word' })] },
      { slots: { put: [{ instanceId: newId(), key: 'a', value: 'nope' }] } },
    ]
    for (const delta of bad) await expect(put(store, delta)).rejects.toMatchObject({ name: 'StoreDataError' })
    const run = aRun()
    await put(store, { runs: { insert: [run] } })
    await expect(put(store, { runs: { update: [{ ...run, result: '{' }] } })).rejects.toMatchObject({
      name: 'StoreDataError',
    })
    expect((await store.read.run(run.id))!.result).toBeNull()
  })

  it('calls decide again with the requested rows, keeping those it had', async () => {
    const { store } = current()
    const [first, second] = [aRun(), aRun()]
    await put(store, { runs: { insert: [first, second] } })
    const rounds: string[][] = []
    const result = await store.transact({
      roots: [],
      wait: true,
      need: { runs: [first.id] },
      decide: (loaded) => {
        rounds.push([...loaded.runs.keys()])
        if (rounds.length === 1) return { need: { runs: [second.id, first.id] } }
        if (rounds.length === 2) return { need: { queues: ['default'] } }
        return { delta: {}, result: 'decided' }
      },
    })
    expect(result).toBe('decided')
    expect(rounds).toEqual([[first.id], [first.id, second.id], [first.id, second.id]])
  })

  it('lists requested rows that do not exist', async () => {
    const { store } = current()
    const id = newId()
    const loaded = await load(
      store,
      {
        runs: [id],
        instances: [id],
        gates: [id],
        nets: ['h'],
        queues: ['q'],
        limits: ['l'],
        idempotencyKeys: ['k'],
        startKeys: ['s'],
        uniques: ['u'],
        sessions: [id],
        schedules: ['c'],
        slots: [{ instanceId: id, keys: ['a'] }],
        slotsWith: [{ instanceId: id, prefix: 'p' }],
        topSlot: [{ instanceId: id, prefix: 'p' }],
        unstarted: [{ instanceId: id, limit: 5 }],
        openChildren: [{ instanceId: id, limit: 5 }],
        openGates: [{ instanceId: id, limit: 5 }],
        results: [{ instanceId: id, node: 'n' }],
        items: [{ instanceId: id, node: 'n', fire: 0, from: 0, count: 5 }],
        places: [{ instanceId: id, node: 'n', item: -1 }],
        childPlaces: [{ instanceId: id, node: 'n', item: -1 }],
        handedBy: [{ sessionId: id, reportId: 'r' }],
        candidates: {
          queues: null,
          types: null,
          tenant: null,
          runtime: null,
          limit: 5,
          skipQueues: [],
          skipLimitKeys: [],
        },
        urgency: [{ queues: null, types: null, tenant: null, runtime: null }],
      },
      [id],
    )
    const maps = [
      loaded.runs,
      loaded.instances,
      loaded.gates,
      loaded.nets,
      loaded.queues,
      loaded.limits,
      loaded.idempotencyKeys,
      loaded.startKeys,
      loaded.uniques,
      loaded.sessions,
      loaded.schedules,
      loaded.items,
    ]
    expect(maps.map((map) => map.size)).toEqual(maps.map(() => 0))
    expect(loaded.locked.size).toBe(0)
    expect(loaded.slots.get(`${id}/a`)).toBeNull()
    expect(loaded.topSlot.get(`${id}/p`)).toBeNull()
    expect(loaded.results.get(`${id}/n`)).toBeNull()
    expect(loaded.places.get(`${id}/n/-1`)).toBeNull()
    expect(loaded.childPlaces.get(`${id}/n/-1`)).toBeNull()
    expect(loaded.slotsWith.get(`${id}/p`)).toEqual([])
    expect(loaded.unstarted.get(id)).toEqual([])
    expect(loaded.openChildren.get(id)).toEqual([])
    expect(loaded.openGates.get(id)).toEqual([])
    expect(loaded.handedBy.get(`${id}/r`)).toEqual([])
    expect(loaded.candidates).toEqual([])
    expect(loaded.urgency).toEqual([null])
  })

  it('locks the existing roots', async () => {
    const { store } = current()
    const instance = anInstance()
    await put(store, { instances: { insert: [instance] }, runs: { insert: [aStep(instance, 'a')] } })
    const loaded = await load(store, {}, [instance.id, newId()])
    expect([...loaded.locked]).toEqual([instance.id])
  })

  it("passes the store's clock in whole milliseconds to decide", async () => {
    const { store } = current()
    await store.moveClock(86_400_000)
    const { now } = await load(store, {})
    expect(Number.isInteger(now)).toBe(true)
    expect(Math.abs(now - Date.now() - 86_400_000)).toBeLessThan(5_000)
    expect(Math.abs((await store.now()) - now)).toBeLessThan(5_000)
  })

  it('runs many transactions started at once without losing any', async () => {
    const { store } = current()
    const instance = anInstance({ fires: 0 })
    await put(store, { instances: { insert: [instance] } })
    const increment = (loaded: Loaded) => {
      const row = loaded.instances.get(instance.id)!
      return { delta: { instances: { update: [{ ...row, fires: row.fires + 1 }] } }, result: row.fires }
    }
    const transaction = { roots: [instance.id], wait: true, need: { instances: [instance.id] }, decide: increment }
    const seen = await Promise.all(Array.from({ length: 20 }, () => store.transact(transaction)))
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index))
    expect((await store.read.instance(instance.id))!.fires).toBe(20)
  })

  it('calls the probe before and after each commit', async () => {
    const points: string[] = []
    const store = await current().second({ probe: (point) => points.push(point) })
    const run = aRun()
    await store.transact({
      roots: [],
      wait: true,
      need: {},
      decide: () => {
        points.push('decide')
        return { delta: { runs: { insert: [run] } }, result: null }
      },
    })
    expect(points).toEqual(['decide', 'before-commit', 'after-commit'])
  })
}
