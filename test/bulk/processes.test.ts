/**
 * Two `petrel server` processes on one Postgres. One is killed with SIGKILL in the middle of what it was asked over HTTP; the
 * other continues, and everything has happened exactly once.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { HOLD_MS } from '../../src/engine/fold/bulk/operations.ts'
import { sleep } from '../../src/kernel/sleep.ts'
import { PARKED_AT } from '../../src/model/rows.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { type Running, shell } from '../cli/petrel.ts'
import { net, node, ONCE, run } from '../engine/drive.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'

const HOUR = 3_600_000
const ITEMS = 300
const WAITING = 2_500

interface Server {
  readonly process: Running
  post(path: string, body?: object): Promise<{ readonly status: number; readonly body: any }>
  get(path: string): Promise<any>
}

describe.skipIf(postgresUrl() === null)('two server processes, one killed with SIGKILL', { timeout: 60_000 }, () => {
  const sh = shell()
  let database: FreshDatabase
  let store: Store
  let engine: Engine
  let a: Server
  let b: Server

  beforeEach(async () => {
    database = await freshDatabase()
    store = await openStore(database.url)
    await store.migrate()
    engine = await Engine.open({ store, sweep: false })
    ;[a, b] = await Promise.all([serve(), serve()])
  }, 60_000)

  afterEach(async () => {
    b.process.child.kill('SIGTERM')
    expect((await b.process.ended).code).toBe(0)
    expect(await store.read.doctor()).toEqual([])
    await engine.close()
    await store.close()
    await database.drop()
  })

  async function serve(): Promise<Server> {
    const process = sh.start('server', '--json', '--port', '0', '--store', database.url)
    const url = (await process.until(/"url":"([^"]+)"/))[1] as string
    return {
      process,
      post: async (path, body = {}) => {
        const headers = { 'content-type': 'application/json' }
        const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
        return { status: reply.status, body: await reply.json() }
      },
      get: async (path) => (await fetch(`${url}${path}`)).json(),
    }
  }

  /** Whatever it was answering is cut off. */
  async function kill(server: Server): Promise<void> {
    server.process.child.kill('SIGKILL')
    await server.process.ended
  }

  async function until<T>(look: () => Promise<T>, enough: (seen: T) => boolean): Promise<T> {
    for (;;) {
      const seen = await look()
      if (enough(seen)) return seen
      await sleep(5)
    }
  }

  const eventsOf = async (id: string, type: string) =>
    (await store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 10_000 })).filter((e) => e.type === type)

  it('a bulk operation', async () => {
    const flow = net([node('pay')], { name: 'order', dialect: 'net' })
    const started = await engine.start(Array.from({ length: ITEMS }, () => ({ net: flow })))
    const order = { action: 'cancel', q: 'name:order', rate_per_minute: 12_000 }
    const { status, body } = await a.post('/v1/operations', order)
    expect(status).toBe(201)
    const { id } = body.operation
    const progress = async () => (await b.get(`/v1/operations/${id}`)).operation
    const before = await until(progress, ({ succeeded }) => succeeded >= 20)
    await kill(a)
    expect(before.state).toBe('running')
    // What the killed one had in hand is free again.
    await store.moveClock(HOLD_MS)
    const counts = { matched: ITEMS, succeeded: ITEMS, refused: 0, failed: 0, pending: 0 }
    expect(await until(progress, ({ state }) => state === 'completed')).toMatchObject(counts)
    for (const one of started) expect(await eventsOf(one.id, 'instance.cancel_requested')).toHaveLength(1)
    expect(await store.read.countInstances()).toEqual(new Map([['cancelled', ITEMS]]))
  })

  it('a pause and its end', async () => {
    const body = run('item', { delayMs: HOUR })
    const items = `range(${WAITING}) | list`
    const work = { kind: 'each', items, body, maxInFlight: WAITING, failFast: false, collect: 'list' } as const
    const flow = net([node('l', [], { retry: ONCE, work })], { name: 'list', dialect: 'net' })
    const [started] = await engine.start([{ net: flow }])
    const id = started?.id as string
    const dueTimes = async (): Promise<readonly number[]> => {
      const times: number[] = []
      for (let after: string | null = null; ; ) {
        const page = await store.read.instanceRuns({ instanceId: id, limit: 1000, after })
        times.push(...page.map(({ runAt }) => runAt))
        if (page.length < 1000) return times
        after = page.at(-1)?.id ?? null
      }
    }
    await until(dueTimes, ({ length }) => length === WAITING)
    const pause = () => store.pauses.get({ kind: 'instance', key: id })
    const asked = a.post(`/v1/instances/${id}/pause`, { reason: 'look at it' }).catch(() => null)
    await until(pause, (row) => row !== null)
    await kill(a)
    await asked
    // Already ordered: the other server parks what is left.
    expect((await b.post(`/v1/instances/${id}/pause`)).status).toBe(409)
    await until(pause, (row) => row?.state === 'paused')
    expect(new Set(await dueTimes())).toEqual(new Set([PARKED_AT]))
    expect((await b.post(`/v1/instances/${id}/resume`)).status).toBe(200)
    await until(pause, (row) => row === null)
    const times = await dueTimes()
    expect(times).toHaveLength(WAITING)
    expect(times.filter((at) => at >= PARKED_AT)).toEqual([])
    expect([...(await eventsOf(id, 'instance.paused')), ...(await eventsOf(id, 'instance.unpaused'))]).toHaveLength(2)
  })

  it('retries from a step', async () => {
    const flow = net([node('a', ['b']), node('b')], { name: 'two', dialect: 'net' })
    const started = await engine.start(Array.from({ length: 60 }, () => ({ net: flow })))
    for (const { id } of started) await engine.cancelInstance({ id, actor: null })
    const send = (server: Server, id: string) =>
      server.post(`/v1/instances/${id}/retry`, { from: { step: 'a' }, start_key: `again-${id}` })
    let answered = 0
    const first = started.map(({ id }) =>
      send(a, id).then(
        ({ status }) => {
          expect(status).toBe(201)
          answered++
        },
        () => undefined,
      ),
    )
    await until(
      async () => answered,
      (count) => count >= 5,
    )
    await kill(a)
    await Promise.all(first)
    const replies = await Promise.all(started.map(({ id }) => send(b, id)))
    const created = replies.filter(({ status }) => status === 201).length
    expect(created + replies.filter(({ status }) => status === 200).length).toBe(started.length)
    const all = { states: ['running'], name: null, dialect: null, tenant: null, rootsOnly: true, before: null } as const
    const retries = await store.read.listInstances({ ...all, limit: 1_000 })
    expect(retries.map(({ retryOf }) => retryOf).toSorted()).toEqual(started.map(({ id }) => id).toSorted())
    expect(retries.map(({ id }) => id).toSorted()).toEqual(replies.map(({ body }) => body.id).toSorted())
  })
})
