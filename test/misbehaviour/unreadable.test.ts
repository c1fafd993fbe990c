/**
 * A row that throws while it is turned into a reply, an event or a delivery, on a running server: lists have an entry
 * that reports it, streams and webhooks skip it, and its neighbours in a fetch are delivered.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { startServer } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { Receiver } from '../server/ojs/receiver.ts'
import { client, onBothStores, type Serving, until } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

/** Stored text of one run or event that is not JSON: every reader of it throws. */
const BROKEN = '{"half":'

onBothStores('a row that cannot be read', (stage) => {
  let serving: Serving
  let receiver: Receiver
  const broken = new Set<string | null>()

  beforeAll(async () => {
    const inner = await openStore(await stage.url())
    await inner.migrate()
    const store = breaking(inner, broken)
    const engine = await Engine.open({ store })
    const server = await startServer({ version: '1.2.3', port: 0, engine })
    serving = { server, engine, store: inner, ...client(server.url) }
    receiver = await Receiver.open()
  })
  afterAll(async () => {
    await serving.server.close({ graceMs: 500 })
    await serving.engine.close()
    await serving.store.close()
  })

  async function enqueue(queue: string, n: number): Promise<string[]> {
    const ids: string[] = []
    for (let i = 0; i < n; i++) {
      const { body } = await serving.post('/ojs/v1/jobs', { type: 'odd.job', args: [i], options: { queue } })
      ids.push(body.job.id)
    }
    return ids
  }

  it('is an entry with its id and a code in a list; the others are shown', async () => {
    const ids = await enqueue('listed', 5)
    broken.add(ids[2] as string)
    const { status, body } = await serving.get('/ojs/v1/admin/jobs?queue=listed')
    expect(status).toBe(200)
    const items = body.items ?? body.jobs
    const codes = new Map(items.map((job: any) => [job.id, job.error?.code ?? 'shown']))
    expect(ids.map((id) => codes.get(id))).toEqual(['shown', 'shown', 'unreadable', 'shown', 'shown'])
    expect(serving.engine.faults.counts().get('unreadable_row')).toBeGreaterThan(0)
    const metrics = await serving.get('/metrics')
    expect(metrics.text).toMatch(/petrel_contained_faults_total\{code="unreadable_row"\} [1-9]/)
  })

  it('fails when it is fetched; its neighbours are delivered', async () => {
    const ids = await enqueue('fetched', 4)
    const asked = { queues: ['fetched'], count: 10, worker_id: 'w' }
    await serving.post('/ojs/v1/workers/fetch', asked)
    // From the second time on a job comes with its failures.
    for (const id of ids) await serving.post('/ojs/v1/workers/nack', { job_id: id, worker_id: 'w', requeue: true })
    broken.add(ids[0] as string)
    const fetched = await serving.post('/ojs/v1/workers/fetch', asked)
    expect(fetched.body.jobs.map(({ id }: { id: string }) => id)).toEqual(ids.slice(1))
    const row = await serving.store.read.run(ids[0] as string)
    expect([row?.status, JSON.parse(row?.error as string).code]).toEqual(['failed', 'unstorable'])
  })

  it('is an event that reports it, in a poll, in a stream and in a webhook; later events follow', async () => {
    const subscription = { url: receiver.url('/odd'), events: ['job.enqueued'], filter: {} }
    const hook = await serving.post('/ojs/v1/webhooks/subscriptions', subscription)
    expect(hook.status, hook.text).toBe(201)
    const cursor = (await serving.get('/ojs/v1/events?limit=1000')).body.cursor
    const open = new AbortController()
    const stream = await fetch(`${serving.server.url}/ojs/v1/events/stream?after=${cursor}`, { signal: open.signal })
    const ids = await enqueue('published', 1)
    broken.add(ids[0] as string)
    const [later] = await enqueue('published', 1)
    const wanted = [
      [ids[0], 'system.unreadable_event'],
      [later, 'job.enqueued'],
    ]
    const polled = await serving.get(`/ojs/v1/events?limit=1000&after=${cursor}`)
    const seen = (events: readonly any[]) => events.map(({ subject, type }) => [subject, type])
    expect(seen(polled.body.events)).toEqual(wanted)
    const heard = await until(
      async () => receiver.heard,
      (all) => all.length >= 2,
    )
    // A read before it was broken may have published it normally.
    expect(heard.map(({ event }) => event.subject)).toEqual([ids[0], later])
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true })
      if (text.includes(`"subject":"${later}"`)) break
    }
    open.abort()
    expect(text).toContain(`"subject":"${ids[0]}"`)
  })

  it('and several of them affect no neighbour', async () => {
    const neighbour = await Neighbour.of(serving)
    await neighbour.calm(4)
    await neighbour.beside(async () => {
      for (let round = 0; round < 5; round++) {
        const [odd] = await enqueue('beside', 2)
        broken.add(odd as string)
        await serving.post('/ojs/v1/workers/fetch', { queues: ['beside'], count: 10, worker_id: 'w' })
        for (const path of ['/ojs/v1/admin/jobs?queue=beside', '/ojs/v1/events?limit=1000']) {
          expect([path, (await serving.get(path)).status]).toEqual([path, 200])
        }
      }
    })
    await neighbour.expectUnaffected()
  }, 60_000)
})

/** Returns runs and events of these ids as if their text were not JSON; reads of many runs throw. */
function breaking(inner: Store, ids: ReadonlySet<string | null>): Store {
  const spoil = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(spoil)
    if (typeof value !== 'object' || value === null || value instanceof Map) return value
    const row = value as { readonly id?: string; readonly runId?: string | null; readonly payload?: string }
    if (row.payload !== undefined && ids.has(row.id ?? null)) return { ...row, payload: BROKEN }
    if ('seq' in row && row.runId !== undefined && ids.has(row.runId)) return { ...row, data: BROKEN }
    const lists = Object.entries(value).filter(([, part]) => Array.isArray(part))
    return lists.length === 0 ? value : { ...value, ...Object.fromEntries(lists.map(([k, part]) => [k, spoil(part)])) }
  }
  const read = new Proxy(inner.read, {
    get: (target, name) => {
      const value = target[name as keyof Store['read']] as unknown
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        const { runIds = [] } = (args[0] ?? {}) as { readonly runIds?: readonly string[] }
        if (runIds.some((id) => ids.has(id))) throw new TypeError('injected into what is read of many runs')
        return spoil(await (value as (...all: unknown[]) => unknown).apply(target, args))
      }
    },
  })
  const transact: Store['transact'] = (transaction) => inner.transact(transaction)
  return new Proxy(inner, {
    get: (target, name) => {
      if (name === 'read') return read
      if (name === 'transact') return transact
      const value = target[name as keyof Store] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
