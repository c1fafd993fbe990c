import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import { PetrelError } from '../../../src/kernel/errors.ts'
import type { RunRow } from '../../../src/model/rows.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { type FreshDatabase, freshDatabase } from '../../services.ts'
import { net, node, PLACES } from '../drive.ts'
import { EXACT } from './http-worker.ts'

describe.skipIf(PLACES.length < 2)('two servers of one database, each with a cache', () => {
  let database: FreshDatabase
  let stores: Store[]
  let a: Engine
  let b: Engine
  beforeEach(async () => {
    database = await freshDatabase()
    stores = await Promise.all([openStore(database.url), openStore(database.url)])
    await stores[0]?.migrate()
    const engines = await Promise.all(stores.map((store) => Engine.open({ store, sweep: false })))
    ;[a, b] = engines as [Engine, Engine]
  })
  afterEach(async () => {
    await Promise.all([a.close(), b.close()])
    await Promise.all(stores.map((store) => store.close()))
    await database.drop()
  })

  const fetch = async (engine: Engine, holder = 'w'): Promise<RunRow> => {
    const [run] = await engine.leases.fetch({
      queues: null,
      types: null,
      limit: 1,
      holder,
      runtime: null,
      tenant: null,
      leaseMs: () => 30_000,
      waitMs: 0,
    })
    return run as RunRow
  }
  const report = async (engine: Engine, runId: string, ok: boolean, holder: string | null = null) => {
    const outcome = ok
      ? ({ kind: 'succeeded', result: null } as const)
      : ({ kind: 'failed', error: { code: 'boom', message: 'broke' }, how: 'policy' } as const)
    const [settled] = await engine.leases.settle([{ runId, holder, attempt: null, outcome }])
    return settled instanceof PetrelError ? settled.code : settled?.run.status
  }

  it('a run fetched at one is reported at the other', async () => {
    await a.start([{ net: net([node('x', ['y']), node('y', ['z']), node('z')]) }])
    for (let step = 0; step < 3; step++) {
      const [here, there] = step % 2 === 0 ? [a, b] : [b, a]
      const run = await fetch(here)
      expect(await report(there, run.id, true)).toBe('succeeded')
      expect(await report(here, run.id, true)).toBe('conflict')
    }
    expect([...(await a.store.read.countInstances())]).toEqual([['completed', 1]])
    expect(await a.store.read.doctor()).toEqual([])
  })

  it('refuses only by the current state', async () => {
    const retry = { ...EXACT, initialMs: 0, deadLetter: true }
    const [made] = await a.enqueue([{ type: 'x', payload: [], retry }])
    const id = made?.id as string
    await fetch(a, 'w1')
    expect(await report(b, id, false)).toBe('pending')
    await fetch(b, 'w2')
    // In the cache of `a` is the lease of w1.
    expect(await report(a, id, false, 'w1')).toBe('conflict')
    expect(await report(a, id, false, 'w2')).toBe('pending')
    await fetch(a, 'w3')
    expect(await report(b, id, false)).toBe('failed')
    expect(await a.redrive({ runId: id, actor: null })).toMatchObject({ status: 'pending', attempt: 0 })
    await fetch(a, 'w4')
    await b.cancelRun({ id, actor: null })
    await expect(a.cancelRun({ id, actor: null })).rejects.toMatchObject({ details: { status: 'cancelled' } })
    expect(await a.store.read.doctor()).toEqual([])
  })

  it('a heartbeat at one keeps the lease at the other', async () => {
    await a.enqueue([{ type: 'x', payload: [] }])
    const run = await fetch(a)
    expect(await b.leases.extend({ holder: 'w', runIds: [run.id], leaseMs: 90_000 })).toEqual([run.id])
    await a.store.moveClock(60_000)
    expect(await report(a, run.id, true)).toBe('succeeded')
  })
})
