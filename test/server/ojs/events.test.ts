/** Events: polling, server-sent events, WebSocket; resume, filters, tenants, slow and disconnecting listeners. */
import { connect } from 'node:net'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { eventId, eventPlace } from '../../../src/notations/ojs/project/event-id.ts'
import { onBothStores, type Serving, until } from '../serving.ts'
import { hangUp, listen } from './listening.ts'

afterEach(hangUp)

async function enqueue(s: Serving, queue: string, type = 'test.echo', headers = {}): Promise<string> {
  const { status, body } = await s.post('/ojs/v1/jobs', { type, args: [1], options: { queue } }, headers)
  expect([status, body.error]).toEqual([201, undefined])
  return body.job.id
}

async function work(s: Serving, queue: string): Promise<string> {
  const { body } = await s.post('/ojs/v1/workers/fetch', { queues: [queue], worker_id: 'w' })
  const id = body.jobs[0].id
  expect((await s.post('/ojs/v1/workers/ack', { job_id: id, result: { ok: true } })).status).toBe(200)
  return id
}

onBothStores('polling events', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  it('lists the life of a job in order, with both ids', async () => {
    const id = await enqueue(s, 'life')
    await work(s, 'life')
    const { status, body } = await s.get('/ojs/v1/events?queues=life')
    expect(status).toBe(200)
    expect(body.events.map((e: any) => e.type)).toEqual(['job.enqueued', 'job.started', 'job.completed'])
    for (const event of body.events) {
      expect(event).toMatchObject({ specversion: '1.0', subject: id, data: { job_id: id, queue: 'life' } })
      expect(event.id).toMatch(/^evt_[0-9a-f]{8}-[0-9a-f]{4}-7/)
      expect(Date.parse(event.time)).toBeGreaterThan(0)
    }
    expect(body).toMatchObject({ cursor: expect.any(String), has_more: false })
  })

  it('pages by cursor without gaps or repetitions, and by event id', async () => {
    for (let i = 0; i < 7; i++) await enqueue(s, 'pages')
    const all = (await s.get('/ojs/v1/events?queues=pages')).body.events.map((e: any) => e.id)
    expect(all).toHaveLength(7)
    const seen: string[] = []
    let cursor = ''
    for (;;) {
      const { body } = await s.get(`/ojs/v1/events?queues=pages&limit=3${cursor === '' ? '' : `&after=${cursor}`}`)
      seen.push(...body.events.map((e: any) => e.id))
      cursor = body.cursor
      if (!body.has_more) break
    }
    expect(seen).toEqual(all)
    const rest = await s.get(`/ojs/v1/events?queues=pages&after=${all[4]}`)
    expect(rest.body.events.map((e: any) => e.id)).toEqual(all.slice(5))
    await enqueue(s, 'pages')
    expect((await s.get(`/ojs/v1/events?queues=pages&after=${cursor}`)).body.events).toHaveLength(1)
  })

  it('filters by types, with *, and by job types', async () => {
    await enqueue(s, 'filter', 'test.one')
    await enqueue(s, 'filter', 'test.two')
    await work(s, 'filter')
    const types = async (query: string) =>
      (await s.get(`/ojs/v1/events?queues=filter&${query}`)).body.events.map((e: any) => e.type)
    expect(await types('types=job.completed')).toEqual(['job.completed'])
    expect(await types('types=job.started,job.completed')).toEqual(['job.started', 'job.completed'])
    expect(await types('event_types=job.*&job_types=test.two')).toEqual(['job.enqueued'])
    expect(await types('types=workflow.*')).toEqual([])
  })

  it.each([
    ['limit=0', 'limit must be a whole number from 1 to 1000'],
    ['limit=1001', 'limit must be a whole number from 1 to 1000'],
    ['after=nonsense', 'neither an event id nor a cursor'],
    ['after=evt_1', 'neither an event id nor a cursor'],
    ['types=JOB!', 'is no type of event'],
    ['channel=nobody', 'there is no channel'],
  ])('%s: 400', async (query, message) => {
    const { status, body } = await s.get(`/ojs/v1/events?${query}`)
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining(message) })
  })
})

onBothStores('server-sent events', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  it('the same path streams new events, and no earlier ones', async () => {
    await enqueue(s, 'stream')
    const stream = await listen(s, '/ojs/v1/events?queues=stream')
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.response.headers.get('ojs-version')).toBe('1.0')
    expect(stream.response.headers.get('x-request-id')).toMatch(/^req_/)
    await work(s, 'stream')
    await stream.has((frames) => frames.length >= 2)
    expect(stream.types()).toEqual(['job.started', 'job.completed'])
    expect(stream.raw()).toMatch(/^retry: 3000\n\n/)
    expect(stream.frames[0]?.data).toMatchObject({ id: stream.frames[0]?.id, type: 'job.started' })
  })

  it('continues after Last-Event-ID, on another server too', async () => {
    const first = await listen(s, '/ojs/v1/events/stream?channel=queue:resume')
    await enqueue(s, 'resume')
    await first.has((frames) => frames.length >= 1)
    first.abort()
    await work(s, 'resume')
    const other = await stage.serve()
    const again = await listen(other, '/ojs/v1/events/stream?channel=queue:resume', {
      'last-event-id': first.frames[0]?.id as string,
    })
    await again.has((frames) => frames.length >= 2)
    expect(again.types()).toEqual(['job.started', 'job.completed'])
  })

  it('listeners of one channel all receive everything, in the same order', async () => {
    const listeners = await Promise.all(
      Array.from({ length: 10 }, () => listen(s, '/ojs/v1/events/stream?channel=queue:many')),
    )
    const ids: string[] = []
    for (let i = 0; i < 20; i++) ids.push(await enqueue(s, 'many'))
    for (const one of listeners) {
      await one.has((frames) => frames.length >= 20)
      expect(one.frames.map(({ data }) => data.data.job_id)).toEqual(ids)
    }
  })

  it('a job’s stream ends with the job; that of an ended job lists everything and ends', async () => {
    const id = await enqueue(s, 'job')
    const stream = await listen(s, `/ojs/v1/jobs/${id}/events`)
    await enqueue(s, 'job')
    await work(s, 'job')
    await stream.reading
    expect(stream.types()).toEqual(['job.started', 'job.completed'])
    const late = await listen(s, `/ojs/v1/jobs/${id}/events`)
    await late.reading
    expect(late.types()).toEqual(['job.enqueued', 'job.started', 'job.completed'])
    const resumed = await listen(s, `/ojs/v1/jobs/${id}/events`, { 'last-event-id': late.frames[1]?.id as string })
    await resumed.reading
    expect(resumed.types()).toEqual(['job.completed'])
  })

  it.each([
    '/ojs/v1/jobs/01900000-0000-7000-8000-000000000000/events',
    '/ojs/v1/jobs/nonsense/events',
    '/ojs/v1/events/stream?channel=job:01900000-0000-7000-8000-000000000000',
    '/ojs/v1/events/stream?channel=workflow:nope',
  ])('%s: 404 as JSON', async (path) => {
    const { status, headers, body } = await s.get(path, { accept: 'text/event-stream' })
    expect([status, body.error.code]).toEqual([404, 'not_found'])
    expect(headers.get('content-type')).toBe('application/openjobspec+json')
  })

  it('a pruned position is reported as a gap', async () => {
    const other = await stage.serve()
    // As if retention had removed the earlier events.
    other.store.read.feedStart = async () => 50
    const stream = await listen(other, '/ojs/v1/events/stream?channel=queue:gap', {
      'last-event-id': eventId({ feedId: 1, part: 0, at: Date.now() }),
    })
    await stream.has((frames) => frames.length >= 1)
    expect(stream.frames[0]).toMatchObject({
      event: 'system.gap',
      data: { channel: 'queue:gap', estimated_missed_count: 48 },
    })
  })

  it('a reader that stops reading delays no other, and loses nothing', async () => {
    const slow = connect(s.server.port, '127.0.0.1')
    await new Promise((resolve) => slow.once('connect', resolve))
    slow.write(
      'GET /ojs/v1/events/stream?channel=queue:slow HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n',
    )
    slow.pause()
    const quick = await listen(s, '/ojs/v1/events/stream?channel=queue:slow')
    const text = 'x'.repeat(20_000)
    for (let round = 0; round < 10; round++) {
      const jobs = Array.from({ length: 20 }, () => ({
        type: 'test.echo',
        args: [text],
        meta: { text },
        options: { queue: 'slow' },
      }))
      expect((await s.post('/ojs/v1/jobs/batch', { jobs })).status).toBe(201)
    }
    await quick.has((frames) => frames.length >= 200)
    expect(quick.frames).toHaveLength(200)
    let heard = ''
    slow.setEncoding('utf8')
    slow.on('data', (chunk) => {
      heard += chunk
    })
    slow.resume()
    await until(
      async () => (heard.match(/^id: evt_/gm) ?? []).length,
      (n) => n >= 200,
    )
    expect(heard.match(/^id: evt_/gm)).toHaveLength(200)
    slow.destroy()
  })

  it('closes with a message when the server shuts down', async () => {
    const other = await stage.serve()
    const stream = await listen(other, '/ojs/v1/events/stream?channel=all')
    await other.server.close()
    await stream.reading
    expect(stream.types().at(-1)).toBe('server.shutdown')
  })
})

describe('ids of events', () => {
  it('contain their position, in the order of the feed', () => {
    const ids = [
      eventId({ feedId: 1, part: 0, at: 1_700_000_000_000 }),
      eventId({ feedId: 1, part: 1, at: 1_700_000_000_000 }),
      eventId({ feedId: 2 ** 50, part: 4095, at: 1_700_000_000_001 }),
    ]
    expect(ids.map(eventPlace)).toEqual([
      { feedId: 1, part: 0 },
      { feedId: 1, part: 1 },
      { feedId: 2 ** 50, part: 4095 },
    ])
    expect([...ids].sort()).toEqual(ids)
    for (const id of ids)
      expect(id).toMatch(/^evt_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(eventPlace('evt_nonsense')).toBe(null)
    expect(eventPlace('evt_01900000-0000-4000-8000-000000000000')).toBe(null)
  })
})

/** A socket, the messages it received, and its end. */
async function dial(
  s: Serving,
  options: { readonly protocol?: string; readonly headers?: Record<string, string> } = {},
) {
  const socket = new WebSocket(
    `${s.server.url.replace('http', 'ws')}/ojs/v1/ws`,
    options.protocol === undefined ? [] : [options.protocol],
    { headers: options.headers ?? {} },
  )
  const heard: any[] = []
  let closed: { code: number; reason: string } | null = null
  socket.on('message', (data) => heard.push(JSON.parse(String(data))))
  socket.on('close', (code, reason) => {
    closed = { code, reason: String(reason) }
  })
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  const say = (message: unknown): void => socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  const hears = (wanted: (all: readonly any[]) => boolean) =>
    until(
      async () => heard,
      (all) => wanted(all),
    )
  return { socket, heard, say, hears, closed: () => closed }
}

onBothStores('the WebSocket', (stage) => {
  let s: Serving
  const open: WebSocket[] = []
  beforeAll(async () => {
    s = await stage.serve()
  })
  afterEach(() => {
    for (const socket of open.splice(0)) socket.terminate()
  })
  const talk = async (options?: Parameters<typeof dial>[1]) => {
    const one = await dial(s, options)
    open.push(one.socket)
    return one
  }

  it('subscribes, receives events, unsubscribes', async () => {
    const one = await talk({ protocol: 'ojs.v1' })
    expect(one.socket.protocol).toBe('ojs.v1')
    one.say({ action: 'subscribe', channel: 'queue:ws', event_types: ['job.enqueued', 'job.completed'] })
    await one.hears((all) => all.length === 1)
    expect(one.heard[0]).toEqual({
      type: 'subscribed',
      channel: 'queue:ws',
      event_types: ['job.enqueued', 'job.completed'],
    })
    const id = await enqueue(s, 'ws')
    await enqueue(s, 'elsewhere')
    await work(s, 'ws')
    await one.hears((all) => all.length === 3)
    expect(one.heard.slice(1)).toMatchObject([
      { type: 'event', channel: 'queue:ws', event: 'job.enqueued', data: { job_id: id }, id: expect.any(String) },
      { type: 'event', channel: 'queue:ws', event: 'job.completed', timestamp: expect.any(String) },
    ])
    one.say({ action: 'unsubscribe', channel: 'queue:ws' })
    await one.hears((all) => all.length === 4)
    expect(one.heard[3]).toEqual({ type: 'unsubscribed', channel: 'queue:ws' })
    await enqueue(s, 'ws')
    one.say({ action: 'unsubscribe', channel: 'queue:ws' })
    await one.hears((all) => all.length === 5)
    expect(one.heard).toHaveLength(5)
  })

  it('resumes after an event id', async () => {
    const first = await talk()
    first.say({ action: 'subscribe', channel: 'queue:again' })
    await first.hears((all) => all.length === 1)
    await enqueue(s, 'again')
    await first.hears((all) => all.length === 2)
    first.socket.terminate()
    await enqueue(s, 'again')
    await enqueue(s, 'again')
    const second = await talk()
    second.say({ action: 'subscribe', channel: 'queue:again' })
    second.say({ action: 'resume', last_event_id: first.heard[1].id })
    await second.hears((all) => all.filter(({ type }) => type === 'event').length === 2)
    expect(second.heard.map(({ type }) => type)).toEqual(['subscribed', 'resumed', 'event', 'event'])
  })

  it.each([
    ['nonsense', 'invalid_payload'],
    [[1], 'invalid_payload'],
    [{ action: 'dance' }, 'invalid_request'],
    [{ action: 'subscribe' }, 'invalid_request'],
    [{ action: 'subscribe', channel: 'nobody' }, 'invalid_request'],
    [{ action: 'subscribe', channel: 'job:01900000-0000-7000-8000-000000000000' }, 'not_found'],
    [{ action: 'subscribe', channel: 'all', event_types: 'x' }, 'invalid_request'],
    [{ action: 'resume', last_event_id: 'x' }, 'invalid_request'],
  ])('%j is answered with an error, and the socket stays open', async (message, code) => {
    const one = await talk()
    one.say(message)
    await one.hears((all) => all.length === 1)
    expect(one.heard[0]).toMatchObject({ type: 'error', code, message: expect.any(String) })
    one.say({ action: 'subscribe', channel: 'all' })
    await one.hears((all) => all.length === 2)
    expect(one.heard[1]).toMatchObject({ type: 'subscribed' })
  })

  it('a plain GET is answered with the protocol that the path requires', async () => {
    const { status, body } = await s.get('/ojs/v1/ws')
    expect([status, body.error.code]).toEqual([400, 'invalid_request'])
    expect(body.error.hint).toContain('WebSocket')
  })

  it('is closed with a reason when the server shuts down', async () => {
    const other = await stage.serve()
    const one = await dial(other)
    one.say({ action: 'subscribe', channel: 'all' })
    await one.hears((all) => all.length === 1)
    await other.server.close()
    await until(
      async () => one.closed(),
      (closed) => closed !== null,
    )
    expect(one.closed()).toMatchObject({ code: 1001, reason: expect.stringContaining('going down') })
  })

  it('a page of another site cannot connect without a key', async () => {
    await expect(dial(s, { headers: { origin: 'https://evil.example' } })).rejects.toThrow('403')
  })
})
