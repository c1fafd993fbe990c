import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import { HELD_AT } from '../../../src/model/rows.ts'
import { openStore } from '../../../src/store/open.ts'
import { freshDatabase } from '../../services.ts'
import { PLACES } from '../drive.ts'
import { EXACT, HttpWorker, until } from './http-worker.ts'

describe.each(PLACES)('fetching under an HTTP lease on $name', (place) => {
  let http: HttpWorker
  beforeEach(async () => {
    http = await HttpWorker.open(place)
  })
  afterEach(() => http.d.close())

  it('leases to its holder and counts as a start', async () => {
    const id = await http.enqueue({ timeoutMs: 5000, payload: [1, 'two'] })
    const run = await http.fetchOne({ leaseMs: (row) => (row.id === id ? 12_000 : 1) })
    const now = run.leasedAt as number
    expect(run).toMatchObject({
      id,
      status: 'leased',
      leasedBy: 'w1',
      sessionId: null,
      leaseUntil: now + 12_000,
      leaseMs: 12_000,
      startedAt: now,
      firstStartedAt: now,
      timeoutAt: now + 5000,
      attempt: 0,
    })
    expect(await http.get(id)).toEqual(run)
    const history = await http.d.store.read.runHistory(id)
    expect(history.map((e) => e.type)).toEqual(['created', 'leased', 'started'])
    expect(history[2]).toMatchObject({ actor: 'w1', data: expect.stringContaining('"attempt"') })
    await http.ack(id)
    expect(await http.history(id)).toEqual(['created', 'leased', 'started', 'succeeded'])
    expect(await http.d.doctor()).toEqual([])
  })

  it('takes the queues strictly in their order, then by priority, then by age', async () => {
    const low = await http.enqueue({ queue: 'b', priority: 1 })
    const late = await http.enqueue({ queue: 'a', priority: 100 })
    const later = await http.enqueue({ queue: 'a', priority: 100 })
    const urgent = await http.enqueue({ queue: 'a', priority: 50, type: 'y' })
    const other = await http.enqueue({ queue: 'c', priority: 0 })
    const first = await http.fetch({ queues: ['a', 'b'], limit: 3 })
    expect(first.map((r) => r.id)).toEqual([urgent, late, later])
    expect((await http.fetch({ queues: ['a', 'b'] })).map((r) => r.id)).toEqual([low])
    expect((await http.fetch({ queues: null })).map((r) => r.id)).toEqual([other])
  })

  it('serves several simultaneous fetches, the first one completely', async () => {
    for (let i = 0; i < 5; i++) await http.enqueue()
    const asked = ['w1', 'w2', 'w3'].map((holder) => http.fetch({ holder, limit: 2 }))
    const given = await Promise.all(asked)
    expect(given.map((runs) => runs.map((r) => r.leasedBy))).toEqual([['w1', 'w1'], ['w2', 'w2'], ['w3']])
  })

  it('never returns one run twice, to any worker', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, (_, i) => http.enqueue({ queue: `q${i % 3}` })))
    const queues = ['q0', 'q1', 'q2']
    const asked = Array.from({ length: 20 }, (_, i) => {
      // Different filters wait in different queues, which claim at the same time.
      const own = i % 4 === 0 ? null : [...queues.slice(i % 3), ...queues.slice(0, i % 3)]
      return http.fetch({ holder: `w${i}`, limit: 3, queues: own })
    })
    const given = (await Promise.all(asked)).flat().map((run) => run.id)
    expect(given).toHaveLength(40)
    expect(new Set(given)).toEqual(new Set(ids))
  })

  it('applies the same admission as every claim: pause, limits, tenant, types, expiry', async () => {
    await http.engine.pauseQueue({ queue: 'stopped', paused: true, actor: null })
    await http.enqueue({ queue: 'stopped' })
    expect(await http.fetch({ queues: ['stopped'] })).toEqual([])

    await http.engine.setLimit({ key: 'queue:narrow', maxConcurrent: 1, ratePer: null, periodMs: null })
    for (let i = 0; i < 3; i++) await http.enqueue({ queue: 'narrow' })
    const wide = await http.enqueue({ queue: 'wide' })
    const [one, ...rest] = await http.fetch({ queues: ['narrow', 'wide'], limit: 2 })
    expect([one?.queue, ...rest.map((r) => r.id)]).toEqual(['narrow', wide])
    expect(await http.fetch({ queues: ['narrow'] })).toEqual([])
    await http.ack((one as { id: string }).id)
    expect(await http.fetch({ queues: ['narrow'] })).toHaveLength(1)

    await http.engine.setLimit({ key: 'key:k', maxConcurrent: 1, ratePer: null, periodMs: null })
    for (let i = 0; i < 2; i++) await http.enqueue({ queue: 'keyed', limitKey: 'k' })
    expect(await http.fetch({ queues: ['keyed'] })).toHaveLength(1)
    expect(await http.fetch({ queues: ['keyed'] })).toEqual([])

    const own = await http.enqueue({ queue: 'shared', tenant: 'acme' })
    await http.enqueue({ queue: 'shared', tenant: 'other' })
    expect((await http.fetch({ queues: ['shared'], tenant: 'acme' })).map((r) => r.id)).toEqual([own])

    await http.enqueue({ queue: 'typed', type: 'mail.send' })
    expect(await http.fetch({ queues: ['typed'], types: ['bill.%'] })).toEqual([])
    expect(await http.fetch({ queues: ['typed'], types: ['mail.%'] })).toHaveLength(1)

    await http.enqueue({ queue: 'old', expiresInMs: 1000 })
    await http.d.store.moveClock(1500)
    expect(await http.fetch({ queues: ['old'] })).toEqual([])
    expect(await http.d.doctor()).toEqual([])
  })

  it('respects a rate per period', async () => {
    await http.engine.setLimit({ key: 'queue:slow', maxConcurrent: null, ratePer: 1, periodMs: 1000 })
    for (let i = 0; i < 2; i++) await http.enqueue({ queue: 'slow' })
    expect(await http.fetch({ queues: ['slow'] })).toHaveLength(1)
    expect(await http.fetch({ queues: ['slow'] })).toEqual([])
    await http.d.store.moveClock(1100)
    expect(await http.fetch({ queues: ['slow'] })).toHaveLength(1)
  })

  it('hands out runs that are due by the clock of the store, without a sweep', async () => {
    const now = await http.d.store.now()
    const later = await http.enqueue({ runAt: now + 60_000 })
    const id = await http.enqueue({ retry: EXACT, priority: 1 })
    await http.fetchOne()
    await http.nack(id)
    const wait = (await http.get(id)).runAt - (await http.d.store.now())
    await http.d.store.moveClock(wait - 400)
    expect(await http.fetch()).toEqual([])
    await http.d.store.moveClock(wait)
    expect((await http.fetch()).map((r) => r.id)).toEqual([id])
    await http.d.store.moveClock(60_100)
    expect((await http.fetch()).map((r) => r.id)).toEqual([later])
  })

  it('does not return runs that wait to be activated', async () => {
    const id = await http.enqueue({ runAt: HELD_AT })
    await http.d.store.moveClock(400 * 24 * 3_600_000)
    expect(await http.fetch()).toEqual([])
    expect(await http.engine.activate({ id, actor: 'ada' })).toMatchObject({ id, status: 'pending' })
    expect((await http.fetch()).map((r) => r.id)).toEqual([id])
    expect(await http.history(id)).toEqual(['created', 'run.activated', 'leased', 'started'])
    await expect(http.engine.activate({ id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { kind: 'run', id, status: 'leased', expected: 'held' },
    })
    await expect(http.engine.activate({ id: 'nothing', actor: null })).rejects.toMatchObject({ code: 'not_found' })
  })

  describe('a waiting fetch', () => {
    it('is woken by new work', async () => {
      const waiting = http.fetch({ waitMs: 20_000 })
      const other = http.fetch({ waitMs: 20_000, queues: ['other'], holder: 'w2' })
      const begun = Date.now()
      const id = await http.enqueue()
      expect((await waiting).map((r) => r.id)).toEqual([id])
      expect(Date.now() - begun).toBeLessThan(2000)
      await http.enqueue({ queue: 'other' })
      expect(await other).toHaveLength(1)
    })

    it('is served in the order of arrival', async () => {
      const waiting = ['w1', 'w2', 'w3'].map((holder) => http.fetch({ waitMs: 20_000, holder, limit: 1 }))
      for (let i = 0; i < 3; i++) {
        const id = await http.enqueue()
        expect((await (waiting[i] as Promise<readonly { id: string }[]>)).map((r) => r.id)).toEqual([id])
      }
    })

    it('returns nothing when its time is over, when its client disconnects and when the engine closes', async () => {
      expect(await http.fetch({ waitMs: 30 })).toEqual([])
      const away = new AbortController()
      const waiting = http.fetch({ waitMs: 20_000, signal: away.signal })
      away.abort()
      expect(await waiting).toEqual([])
      expect(await http.fetch({ waitMs: 20_000, signal: away.signal })).toEqual([])
      const id = await http.enqueue()
      expect((await http.fetch()).map((r) => r.id)).toEqual([id])
      const last = http.fetch({ waitMs: 20_000 })
      await http.engine.close()
      expect(await last).toEqual([])
    })

    it('returns its runs to the queue if its client disconnected, as if it had never fetched', async () => {
      for (let round = 0; round < 10; round++) {
        const away = new AbortController()
        const id = await http.enqueue()
        const asked = http.fetch({ waitMs: 20_000, signal: away.signal })
        await new Promise((resolve) => setImmediate(resolve))
        away.abort()
        const got = await asked
        if (got.length === 0) await until(async () => (await http.get(id)).status === 'pending', 'given back')
        const run = got.length > 0 ? (got[0] as { id: string }) : await http.fetchOne()
        expect(run.id).toBe(id)
        expect((await http.get(id)).attempt).toBe(0)
        await http.ack(id)
      }
      expect(await http.d.doctor()).toEqual([])
    })

    it('gets a run when it becomes due, when a queue is resumed, and when a place becomes free', async () => {
      const { d } = http
      const late = await http.enqueue({ delayMs: 60_000 })
      const due = http.fetch({ waitMs: 20_000 })
      await new Promise((resolve) => setTimeout(resolve, 20))
      await d.pass(60_001)
      expect((await due).map((r) => r.id)).toEqual([late])

      await http.engine.pauseQueue({ queue: 'p', paused: true, actor: null })
      await http.enqueue({ queue: 'p' })
      const resumed = http.fetch({ waitMs: 20_000, queues: ['p'] })
      await http.engine.pauseQueue({ queue: 'p', paused: false, actor: null })
      expect(await resumed).toHaveLength(1)

      await http.engine.setLimit({ key: 'queue:one', maxConcurrent: 1, ratePer: null, periodMs: null })
      const [first] = [await http.enqueue({ queue: 'one' }), await http.enqueue({ queue: 'one' })]
      await http.fetchOne({ queues: ['one'] })
      const room = http.fetch({ waitMs: 20_000, queues: ['one'] })
      await http.ack(first)
      expect(await room).toHaveLength(1)
    })
  })

  it('returns nothing to a worker that was made quiet', async () => {
    await beat(http, 'w1')
    await http.enqueue()
    await http.engine.directWorker({ id: 'w1', state: 'quiet', actor: 'ada' })
    expect(await http.fetch()).toEqual([])
    expect(await http.fetch({ holder: 'w2' })).toHaveLength(1)
    expect((await beat(http, 'w1')).state).toBe('quiet')
    expect(await http.engine.directWorker({ id: 'w1', state: 'terminate', actor: null })).toMatchObject({
      state: 'terminate',
    })
    expect(await http.engine.directWorker({ id: 'w1', state: 'quiet', actor: null })).toMatchObject({
      state: 'terminate',
    })
    await expect(http.engine.directWorker({ id: 'w9', state: 'quiet', actor: null })).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})

describe.skipIf(PLACES.length < 2)('fetching on two servers of one database', () => {
  it('never returns one run twice, and wakes waiting fetches at the other server', async () => {
    const database = await freshDatabase()
    const stores = await Promise.all([openStore(database.url), openStore(database.url)])
    await stores[0]?.migrate()
    const engines = await Promise.all(stores.map((store) => Engine.open({ store })))
    const [a, b] = engines as [Engine, Engine]
    const ask = (engine: Engine, waitMs: number) =>
      engine.leases.fetch({
        queues: ['default'],
        types: null,
        limit: 2,
        holder: 'w',
        runtime: null,
        tenant: null,
        leaseMs: () => 30_000,
        waitMs,
      })
    try {
      await a.enqueue(Array.from({ length: 40 }, () => ({ type: 'x', payload: [] })))
      const given = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(i % 2 === 0 ? a : b, 0)))
      const ids = given.flat().map((run) => run.id)
      expect(new Set(ids).size).toBe(ids.length)
      for (;;) {
        const more = await ask(a, 0)
        if (more.length === 0) break
        ids.push(...more.map((run) => run.id))
      }
      expect(new Set(ids).size).toBe(40)
      expect(ids).toHaveLength(40)

      const waiting = ask(b, 20_000)
      const begun = Date.now()
      await a.enqueue([{ type: 'x', payload: [] }])
      expect(await waiting).toHaveLength(1)
      expect(Date.now() - begun).toBeLessThan(1000)
    } finally {
      await Promise.all(engines.map((engine) => engine.close()))
      await Promise.all(stores.map((store) => store.close()))
      await database.drop()
    }
  })
})

function beat(http: HttpWorker, holder: string) {
  return http.engine.leases.beat({
    holder,
    host: 'h',
    pid: 1,
    runtime: 'python',
    queues: ['default'],
    types: [],
    concurrency: 1,
    state: 'running',
    tenant: null,
    runIds: [],
    leaseMs: null,
    ttlMs: 30_000,
  })
}
