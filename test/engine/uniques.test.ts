import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import type { EnqueueParams, UniqueParams } from '../../src/model/enqueue.ts'
import { openStore } from '../../src/store/open.ts'
import { freshDatabase } from '../services.ts'
import { net, node, PLACES } from './drive.ts'
import { accepted, EXACT, HttpWorker } from './leases/http-worker.ts'

describe.each(PLACES)('unique keys and chosen ids on $name', (place) => {
  let http: HttpWorker
  beforeEach(async () => {
    http = await HttpWorker.open(place)
  })
  afterEach(() => http.d.close())

  const unique = (given: Partial<UniqueParams> = {}): Partial<EnqueueParams> => ({
    unique: { key: 'k', onConflict: 'reject', ...given },
  })

  it('counts a pending holder by its phase: available, retryable, scheduled or held', async () => {
    const holder = await http.enqueue({ ...unique(), retry: EXACT })
    const duplicate = { code: 'duplicate', details: { kind: 'run', id: holder, existing: holder } }
    await expect(http.enqueue(unique({ states: ['available'] }))).rejects.toMatchObject(duplicate)
    await http.fetchOne()
    await expect(http.enqueue(unique({ states: ['leased'] }))).rejects.toMatchObject(duplicate)
    await http.nack(holder)
    await expect(http.enqueue(unique({ states: ['retryable'] }))).rejects.toMatchObject(duplicate)
    await expect(http.enqueue(unique({ states: ['pending'] }))).rejects.toMatchObject(duplicate)
    const free = await http.enqueue(unique({ states: ['available', 'leased', 'scheduled', 'held'] }))
    expect(free).not.toBe(holder)
    // The new run holds the key now.
    await expect(http.enqueue(unique({ states: ['available'] }))).rejects.toMatchObject({ details: { existing: free } })
  })

  it('counts an ended holder, if requested', async () => {
    const holder = await http.enqueue(unique())
    await http.fetchOne()
    await http.ack(holder)
    const states = ['succeeded'] as const
    await expect(http.enqueue(unique({ states }))).rejects.toMatchObject({ details: { existing: holder } })
    const [ignored] = await http.engine.enqueue([
      { type: 'x', payload: [], ...unique({ states, onConflict: 'ignore' }) },
    ])
    expect(ignored).toMatchObject({ id: holder, created: false, run: { id: holder, status: 'succeeded' } })
    // It keeps its state when it is replaced.
    const next = await http.enqueue(unique({ states, onConflict: 'replace' }))
    expect((await http.get(holder)).status).toBe('succeeded')
    await expect(http.enqueue(unique())).rejects.toMatchObject({ details: { existing: next } })
  })

  it('counts its period from the creation of the holder', async () => {
    const holder = await http.enqueue(unique())
    await http.d.pass(1000)
    await expect(http.enqueue(unique({ periodMs: 2000 }))).rejects.toMatchObject({ details: { existing: holder } })
    const next = await http.enqueue(unique({ periodMs: 900 }))
    expect(next).not.toBe(holder)
    expect((await http.get(holder)).status).toBe('pending')
  })

  it('replaces a pending holder, and an active one, which is fenced off', async () => {
    const waiting = await http.enqueue(unique())
    const [second] = await http.engine.enqueue([{ type: 'x', payload: [], ...unique({ onConflict: 'replace' }) }])
    expect(second).toMatchObject({ created: true, replaced: waiting })
    expect(await http.get(waiting)).toMatchObject({ status: 'cancelled' })
    const active = await http.fetchOne()
    await http.enqueue(unique({ onConflict: 'replace' }))
    expect(await http.get(active.id)).toMatchObject({ status: 'cancelled', unknown: true })
    expect(await http.ack(active.id)).toMatchObject({ code: 'conflict' })
    expect(await http.d.doctor()).toEqual([])
  })

  it('replaces all but the time, if requested', async () => {
    const holder = await http.enqueue({ ...unique(), delayMs: 60_000 })
    const { runAt } = await http.get(holder)
    const next = await http.enqueue({ ...unique({ onConflict: 'replace_except_schedule' }), payload: ['new'] })
    expect(await http.get(next)).toMatchObject({ runAt, payload: expect.stringContaining('new') })
    expect((await http.get(holder)).status).toBe('cancelled')
    const now = await http.enqueue(unique({ onConflict: 'replace' }))
    expect((await http.get(now)).runAt).toBeLessThan(runAt)
  })

  it('includes the runs of the same call', async () => {
    const order = { type: 'x', payload: [], ...unique({ onConflict: 'ignore' }) } as EnqueueParams
    const [first, second] = await http.engine.enqueue([order, order])
    expect(second).toMatchObject({ id: first?.id, created: false })
    await expect(
      http.engine.enqueue([
        { type: 'x', payload: [], unique: { key: 'other', onConflict: 'reject' } },
        { type: 'x', payload: [], unique: { key: 'other', onConflict: 'reject' } },
      ]),
    ).rejects.toMatchObject({ code: 'duplicate' })
  })

  it('sets the limits that a run brings along, and none if it is refused', async () => {
    const limits = async () =>
      (await http.d.store.read.limits()).map((l) => [l.key, l.maxConcurrent, l.ratePer, l.periodMs, l.inUse])
    await http.enqueue()
    await http.fetchOne()
    const id = await http.enqueue({ limits: [{ key: 'queue:default', maxConcurrent: 2 }] })
    // Runs leased before count.
    expect(await limits()).toEqual([['queue:default', 2, null, null, 1]])
    await http.enqueue({ limitKey: 'k', limits: [{ key: 'key:k', ratePer: 1, periodMs: 1000 }] })
    await http.enqueue({ limits: [{ key: 'queue:default', ratePer: 5, periodMs: 100 }] })
    const both = [
      ['key:k', null, 1, 1000, 0],
      ['queue:default', 2, 5, 100, 1],
    ]
    expect(await limits()).toEqual(both)
    const other = [{ key: 'queue:default', maxConcurrent: 9 }]
    await expect(http.enqueue({ id, limits: other })).rejects.toMatchObject({ code: 'duplicate' })
    await expect(http.enqueue({ limits: [{ key: 'nonsense' }] })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(http.enqueue({ limits: [{ key: 'key:k', ratePer: 1, periodMs: 0 }] })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    expect(await limits()).toEqual(both)
    await http.d.start({ net: net([node('a')]), limits: other })
    expect((await limits())[1]).toEqual(['queue:default', 9, 5, 100, 1])
    expect(await http.d.doctor()).toEqual([])
  })

  it('refuses an id that is used or invalid', async () => {
    const id = '01900000-0000-7000-8000-00000000abcd'
    expect(await http.enqueue({ id })).toBe(id)
    const duplicate = { code: 'duplicate', details: { kind: 'run', id, existing: id } }
    await expect(http.enqueue({ id, payload: ['other'] })).rejects.toMatchObject(duplicate)
    await http.fetchOne()
    accepted(await http.ack(id))
    await expect(http.enqueue({ id })).rejects.toMatchObject(duplicate)
    await expect(http.enqueue({ id: 'mine' })).rejects.toMatchObject({ code: 'invalid_request' })
    const other = '01900000-0000-7000-8000-00000000abce'
    const twice = [1, 2].map(() => ({ id: other, type: 'x', payload: [] }))
    await expect(http.engine.enqueue(twice)).rejects.toMatchObject({ code: 'duplicate' })
    expect(await http.d.store.read.run(other)).toBeNull()
  })
})

describe.skipIf(PLACES.length < 2)('unique keys on two servers of one database', () => {
  it('go to one of many simultaneous callers', async () => {
    const database = await freshDatabase()
    const stores = await Promise.all([openStore(database.url), openStore(database.url)])
    await stores[0]?.migrate()
    const engines = await Promise.all(stores.map((store) => Engine.open({ store, sweep: false })))
    try {
      for (let round = 0; round < 20; round++) {
        const order: EnqueueParams = { type: 'x', payload: [], unique: { key: `k${round}`, onConflict: 'ignore' } }
        const made = await Promise.all(Array.from({ length: 6 }, (_, i) => (engines[i % 2] as Engine).enqueue([order])))
        expect(made.flat().filter((m) => m.created)).toHaveLength(1)
        expect(new Set(made.flat().map((m) => m.id)).size).toBe(1)
      }
    } finally {
      await Promise.all(engines.map((engine) => engine.close()))
      await Promise.all(stores.map((store) => store.close()))
      await database.drop()
    }
  })
})
