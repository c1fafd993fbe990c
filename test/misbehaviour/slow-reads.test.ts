/** Callers who read much, beside the engine's timed work: no timer, heartbeat, renewal or claim waits for a list. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { keyOf } from '../server/keys.ts'
import { serveOn } from '../server/serving.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { Neighbour } from './neighbour.ts'

const EVERY_INBOX_RUN = {
  type: null,
  status: null,
  idempotencyKey: null,
  queue: null,
  deleted: null,
  tenant: null,
  limit: 100,
  before: null,
}

const WORKER = {
  id: 'reader',
  name: 'reader',
  host: 'here',
  pid: 1,
  runtime: 'node',
  queues: [],
  types: [],
  concurrency: 1,
  state: 'running' as const,
  startedAt: 0,
  heartbeatAt: 0,
  expiresAt: 0,
  tenant: null,
  holds: 'session' as const,
  build: null,
}

/** The engine's essential work while callers read: sweeps, heartbeats, renewals, reads of runs, claims. */
async function everythingElse(store: Store, engine: Engine): Promise<void> {
  const { sweep, read } = store
  await sweep.lostRuns({ limit: 10 })
  await sweep.expiredLeases({ limit: 10 })
  await sweep.nextDueAt()
  await store.now()
  await sweep.beat({ worker: WORKER, ttlMs: 1000 })
  await sweep.extendLeases({ holder: null, runIds: [randomUUID()], leaseMs: null })
  await sweep.started({ runs: [{ id: randomUUID(), epoch: 0, at: 0 }] })
  await read.run(randomUUID())
  await read.instance(randomUUID())
  await engine.enqueue([{ type: 'any.v1', payload: {}, queue: 'q' }])
  const about = { holder: 'w', queues: ['q'], types: null, limit: 1, runtime: null, tenant: null }
  expect(await engine.leases.fetch({ ...about, leaseMs: () => 60_000, waitMs: 0 })).toHaveLength(1)
}

describe.skipIf(postgresUrl() === null)('reads that take long (postgres)', () => {
  const undo: (() => Promise<unknown>)[] = []
  afterAll(async () => {
    for (const one of undo.reverse()) await one()
  })

  test('lists that wait for a lock delay no timer, heartbeat, renewal or claim', async () => {
    const place = await freshDatabase()
    undo.push(() => place.drop())
    const store = await openStore(place.url)
    undo.push(() => store.close())
    const engine = await Engine.open({ store, sweep: false })
    undo.push(() => engine.close())
    await everythingElse(store, engine)
    const foreign = new pg.Client(place.url)
    await foreign.connect()
    undo.push(() => foreign.end())
    // Only lists and statistics read this table.
    await foreign.query('BEGIN')
    await foreign.query('LOCK TABLE workflow.workflow_total IN ACCESS EXCLUSIVE MODE')
    let answered = 0
    const lists = Array.from({ length: 30 }, () =>
      store.read
        .totals({ queue: null, since: 0 })
        .catch(() => null)
        .finally(() => answered++),
    )
    await everythingElse(store, engine)
    expect(answered).toBe(0)
    await foreign.query('ROLLBACK')
    await Promise.all(lists)
  })

  test('thirty clients whose lists do not return affect no neighbour', async () => {
    const place = await freshDatabase()
    undo.push(() => place.drop())
    const serving = await serveOn(place.url)
    undo.push(async () => {
      await serving.server.close({ graceMs: 500 })
      await serving.engine.close()
      await serving.store.close()
    })
    // Two callers: the reads of one are answered in turn.
    const greedy = await keyOf(serving, 'greedy', null)
    const neighbour = await Neighbour.of(serving, { headers: await keyOf(serving, 'calm', 'neighbour') })
    await neighbour.calm(5)
    const foreign = new pg.Client(place.url)
    await foreign.connect()
    undo.push(() => foreign.end())
    await neighbour.beside(async () => {
      await foreign.query('BEGIN')
      await foreign.query('LOCK TABLE workflow.workflow_definition IN ACCESS EXCLUSIVE MODE')
      const lists = Array.from({ length: 30 }, () => serving.get('/v1/definitions', greedy).catch(() => null))
      const first = await Promise.race([...lists, new Promise((resolve) => setTimeout(resolve, 4_500, 'none'))])
      expect(first).toBe('none')
      await foreign.query('ROLLBACK')
      await Promise.all(lists)
    })
    await neighbour.expectUnaffected()
  }, 60_000)
})

describe('reads that take long (sqlite)', () => {
  test('leave the event loop to the engine, see earlier commits, and close with the store', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'petrel-reads-'))
    const store = await openStore(`sqlite:${join(folder, 'petrel.db')}`)
    await store.migrate()
    store.offload()
    const engine = await Engine.open({ store, sweep: false })
    await engine.enqueue(Array.from({ length: 50 }, () => ({ type: 'long.v1', payload: {}, inbox: true })))
    const reads = {
      doctor: () => store.read.doctor(),
      inbox: () => store.read.listInbox(EVERY_INBOX_RUN).then(({ runs }) => runs.length),
      counts: () => store.read.countRuns({ queue: null }).then((counts) => counts.get('pending')),
      queues: () => store.read.queueCounts({ queue: null }).then((queues) => queues.map(({ available }) => available)),
      tenants: () => store.read.overview.tenants(),
      events: () => store.read.events({ afterId: 0, limit: 100 }).then(({ events }) => events.length),
    }
    const wanted = { doctor: [], inbox: 50, counts: 50, queues: [50], tenants: [], events: 50 }
    for (const [name, read] of Object.entries(reads)) {
      let ended = false
      const reading = read().finally(() => {
        ended = true
      })
      // Work within this thread settles without a turn of the event loop.
      for (let turn = 0; turn < 100; turn++) await null
      expect([name, ended]).toEqual([name, false])
      expect([name, await reading]).toEqual([name, wanted[name as keyof typeof wanted]])
    }
    await expect(Promise.all(Array.from({ length: 20 }, reads.inbox))).resolves.toEqual(Array(20).fill(50))
    await engine.close()
    await store.close()
    // The write-ahead log is gone: the last connection has closed.
    expect(readdirSync(folder)).toEqual(['petrel.db'])
    rmSync(folder, { recursive: true })
  })

  test('let the event loop turn between two replies, however many come at once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'petrel-reads-'))
    const store = await openStore(`sqlite:${join(folder, 'petrel.db')}`)
    await store.migrate()
    store.offload()
    let turns = 0
    let going = true
    const turn = (): void => {
      turns++
      if (going) setImmediate(turn)
    }
    const read = async (): Promise<void> => {
      await store.read.listInbox(EVERY_INBOX_RUN)
      // The other thread has answered by then.
      const until = performance.now() + 10
      while (performance.now() < until);
    }
    await read()
    setImmediate(turn)
    await Promise.all(Array.from({ length: 40 }, read))
    going = false
    // Two threads: two replies may be processed in one turn.
    expect(turns).toBeGreaterThanOrEqual(20)
    await store.close()
    rmSync(folder, { recursive: true })
  })
})
