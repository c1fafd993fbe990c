/**
 * Many waiting requests: they cost the store no more than the work that arrives, and their number per caller is
 * limited.
 */
import { EventEmitter } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { LongPolls } from '../../src/http/long-polls.ts'
import { POLL_SEATS, STREAM_SEATS } from '../../src/http/seats.ts'
import { onBothStores, type Serving, type Stage, until } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

const POLLS = 300
const ENQUEUED = 20

onBothStores('floods of waiting requests', (stage) => {
  describe('fetches with different filters that all take from the same queue', () => {
    test('cost about one claim per job, not one per waiting fetch', async () => {
      const s = await serveAlone(stage)
      const stop = new AbortController()
      const transact = vi.spyOn(s.store, 'transact')
      const polls = openPolls(s, stop.signal)
      await allWait(transact)
      transact.mockClear()
      const ids = await enqueue(s)
      await until(async () => (await states(s, ids)).every((state) => state === 'active'), Boolean, 60_000)
      expect(await states(s, ids)).toEqual(ids.map(() => 'active'))
      // There were more than 12,000. Now: an enqueue and a claim for each, and a few checks of all without a cause.
      expect(transact.mock.calls.length).toBeLessThan(2 * ENQUEUED + 4 * POLLS)
      transact.mockRestore()
      stop.abort()
      await Promise.all(polls)
    }, 180_000)

    test('delay no other work', async () => {
      const s = await serveAlone(stage)
      const neighbour = await Neighbour.of(s)
      await neighbour.calm(3)
      const stop = new AbortController()
      const transact = vi.spyOn(s.store, 'transact')
      const polls = openPolls(s, stop.signal)
      await allWait(transact)
      transact.mockRestore()
      await neighbour.beside(() => enqueue(s), 5)
      stop.abort()
      await Promise.all(polls)
      await neighbour.expectUnaffected()
    }, 240_000)

    test("each job goes to a fetch whose filter matches, whatever the others' filters are", async () => {
      const s = await serveAlone(stage)
      const types = Array.from({ length: 40 }, (_, i) => `t${i}`)
      const waiting = types.map((type, i) => {
        const asked = { queues: ['shared', `own-${i}`], types: [type], worker_id: `w${i}`, wait_ms: 30_000 }
        return s.post('/ojs/v1/workers/fetch', asked)
      })
      for (const type of types.toReversed())
        await s.post('/ojs/v1/jobs', { type, args: [], options: { queue: 'shared' } })
      const replies = await Promise.all(waiting)
      expect(replies.map(({ body }) => body.jobs.map((job: { readonly type: string }) => job.type))).toEqual(
        types.map((type) => [type]),
      )
    }, 60_000)
  })

  test('a caller may have 200 event streams open, of jobs and of instances together', async () => {
    const s = await stage.serve()
    const { body } = await s.post('/ojs/v1/workflows', { type: 'chain', steps: [{ type: 'never', args: [] }] })
    const { id } = body.workflow
    const stop = new AbortController()
    const headers = { accept: 'text/event-stream' }
    const { signal } = stop
    const open = (path: string) => fetch(s.server.url + path, { headers, signal })
    const paths = [`/v1/instances/${id}/events`, '/ojs/v1/events']
    // Kept: fetch closes the connection of a garbage-collected reply, which would free a place.
    const streams: Response[] = []
    for (let i = 0; i < STREAM_SEATS.perCaller; i++) streams.push(await open(paths[i % 2] as string))
    expect(streams.map(({ status }) => status)).toEqual(Array(STREAM_SEATS.perCaller).fill(200))
    for (const path of [...paths, '/ojs/v1/events/stream', '/ojs/v1/queues/q/events']) {
      const refused = await open(path)
      expect([path, refused.status, refused.headers.get('retry-after')]).toEqual([path, 429, '5'])
      expect(((await refused.json()) as { error: object }).error).toMatchObject({ details: { limit_per_caller: 200 } })
    }
    expect(streams).toHaveLength(STREAM_SEATS.perCaller)
    stop.abort()
    const again = new AbortController()
    const freed = () => fetch(s.server.url + paths[0], { headers, signal: again.signal })
    expect((await until(freed, ({ status }) => status === 200)).status).toBe(200)
    again.abort()
  }, 240_000)
})

test('a caller may have a limited number of waiting fetches; one more is refused, and another caller is not affected', async () => {
  const closing = new AbortController()
  const polls = new LongPolls(closing.signal)
  const wait = (subject: string) => {
    const caller = { subject, verified: true, bound: false, tenant: null }
    const asked = { request: { caller, ip: '127.0.0.1' }, reply: { raw: new EventEmitter() } }
    const until = (signal: AbortSignal) =>
      new Promise<string>((done) => signal.addEventListener('abort', () => done(subject)))
    return polls.during(asked as never, until)
  }
  const waiting = Array.from({ length: POLL_SEATS.perCaller }, () => wait('many'))
  await expect(wait('many')).rejects.toMatchObject({
    code: 'rate_limited',
    status: 429,
    retryable: true,
    headers: { 'retry-after': '5' },
    details: { limit_per_caller: POLL_SEATS.perCaller },
  })
  const other = wait('other')
  closing.abort()
  expect(await other).toBe('other')
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['many']))
})

async function serveAlone(stage: Stage): Promise<Serving> {
  return stage.serve({ engine: { pollMs: 60_000 } })
}

function openPolls(s: Serving, signal: AbortSignal): readonly Promise<unknown>[] {
  return Array.from({ length: POLLS }, (_, i) => {
    const body = { queues: ['flood', `flood-${i}`], worker_id: `flood-${i}`, wait_ms: 30_000 }
    return s.ask('POST', '/ojs/v1/workers/fetch', { body, signal }).catch(() => null)
  })
}

/** Every fetch checks once when it arrives; then it waits. */
async function allWait(transact: { readonly mock: { readonly calls: readonly unknown[] } }): Promise<void> {
  await until(
    async () => transact.mock.calls.length,
    (calls) => calls >= POLLS,
    20_000,
  )
}

async function enqueue(s: Serving): Promise<readonly string[]> {
  const ids: string[] = []
  for (let i = 0; i < ENQUEUED; i++) {
    const { body } = await s.post('/ojs/v1/jobs', { type: 'flood', args: [i], options: { queue: 'flood' } })
    ids.push(body.job.id)
  }
  return ids
}

async function states(s: Serving, ids: readonly string[]): Promise<readonly string[]> {
  const replies = await Promise.all(ids.map((id) => s.get(`/ojs/v1/jobs/${id}`)))
  return replies.map(({ body }) => body.job.state)
}
