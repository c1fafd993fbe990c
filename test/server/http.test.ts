import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { VOCABULARIES } from '../../src/notations/vocabularies.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { type Server, startServer } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { type Handler, Handlers } from '../../src/worker/handlers.ts'
import { Worker } from '../../src/worker/worker.ts'

let store: Store
let engine: Engine
let worker: Worker
let server: Server
let release: () => void = () => {}

beforeAll(async () => {
  store = await openStore('sqlite::memory:')
  await store.migrate()
  engine = await Engine.open({ vocabularies: VOCABULARIES, store })
  const handlers = new Handlers()
  handlers.add('test.echo', ((args: unknown) => args) as Handler)
  handlers.add(
    'test.held',
    (() =>
      new Promise<void>((resolve) => {
        release = resolve
      })) as Handler,
  )
  worker = await Worker.start(engine.workers, { handlers })
  server = await startServer({ engine, version: '1.2.3', port: 0, maxBodyBytes: 1000 })
})

afterAll(async () => {
  await server.close()
  await worker.stop({ graceMs: 0 })
  await engine.close()
  await store.close()
})

async function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: any }> {
  const response = await fetch(server.url + path, { headers })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text,
  }
}

async function start(text: string): Promise<string> {
  const [started] = await engine.start([(await readDefinition('test', text)).start])
  return (started as { readonly id: string }).id
}

async function finished(text: string): Promise<string> {
  const id = await start(text)
  await engine.ended({ id, kind: 'instance' })
  return id
}

const ONE = 'type: chain\nname: one\nsteps: [{ type: test.echo, args: [1] }]\n'

/** The engine with other queries. A spread would lose its methods, which a starting server needs. */
const withQueries = (other: object) => ({
  ...engine,
  queries: { ...engine.queries, ...other },
  observe: () => () => {},
})

describe('GET /ojs/v1/health', () => {
  it('is 200 with version, uptime and the state of the store', async () => {
    const { status, headers, body } = await get('/ojs/v1/health')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/openjobspec+json')
    expect(headers.get('ojs-version')).toBe('1.0')
    expect(body).toEqual({
      status: 'ok',
      version: '1.2.3',
      uptime_seconds: expect.any(Number),
      backend: { type: 'sqlite', status: 'ok', latency_ms: expect.any(Number) },
    })
  })

  it('is 503 when the store does not answer', async () => {
    const broken = withQueries({ now: () => Promise.reject(new Error('gone')) })
    const other = await startServer({ engine: broken as never, version: '1', port: 0 })
    const response = await fetch(`${other.url}/ojs/v1/health`)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ status: 'unhealthy', backend: { status: 'unhealthy' } })
    await other.close()
  })
})

describe('GET /v1/instances', () => {
  it('lists the newest first, filtered and page by page', async () => {
    const ids = [await finished(ONE), await finished(ONE), await finished(ONE.replace('one', 'two'))]
    const all = await get('/v1/instances')
    expect(all.body.instances.map((i: any) => i.id)).toEqual(ids.reverse())
    expect(all.body.next_before).toBe(null)
    const first = await get('/v1/instances?name=one&state=completed,failed&dialect=ojs&limit=1')
    expect(first.body.instances).toMatchObject([{ id: ids[1], name: 'one', state: 'completed', outcome: 'success' }])
    const second = await get(`/v1/instances?name=one&limit=1&before=${first.body.next_before}`)
    expect(second.body).toMatchObject({ instances: [{ id: ids[2] }], next_before: null })
    expect((await get('/v1/instances?state=waiting')).body.instances).toEqual([])
  })

  it.each([
    ['?state=nope', "state cannot be 'nope'"],
    ['?limit=0', 'limit must be a whole number from 1 to 200'],
    ['?limit=x', 'limit must be a whole number from 1 to 200'],
    ['?before=x', "before must be an instance id, not 'x'"],
    ['?nam=x', "there is no query parameter 'nam'"],
    ['?name=a&name=b', 'name is given more than once'],
  ])('%s: 400', async (query, message) => {
    const { status, body } = await get(`/v1/instances${query}`)
    expect(status).toBe(400)
    expect(body.error).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(message),
      request_id: expect.any(String),
    })
  })
})

describe('GET /v1/instances/:id', () => {
  it('shows the instance with its runs, gates, children and results', async () => {
    const id = await finished(
      'type: chain\nname: nested\nsteps:\n  - { type: test.echo, args: [1] }\n  - { type: group, jobs: [{ type: test.echo, args: [2] }] }\n',
    )
    const { status, body } = await get(`/v1/instances/${id}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      instance: { id, state: 'completed' },
      error: null,
      runs: [{ type: 'test.echo', status: 'succeeded', result: [1], item: null }],
      gates: [],
      children: [{ parent_id: id, state: 'completed' }],
      results: { 0: [1], 1: { 0: [2] } },
    })
  })

  it.each(['01900000-0000-7000-8000-000000000000', 'nonsense', '%27%3B--'])('404 for %s', async (id) => {
    const { status, body } = await get(`/v1/instances/${id}`)
    expect(status).toBe(404)
    expect(body.error).toMatchObject({ code: 'not_found', details: { resource_type: 'instance' } })
    expect((await get(`/v1/instances/${id}/events`)).status).toBe(404)
  })
})

describe('GET /v1/instances/:id/events', () => {
  it('pages by seq', async () => {
    const id = await finished(ONE)
    const first = await get(`/v1/instances/${id}/events?limit=2`)
    expect(first.body).toMatchObject({
      events: [{ seq: 1, type: 'instance.created' }, { seq: 2 }],
      next_after: 2,
      has_more: true,
    })
    const rest = await get(`/v1/instances/${id}/events?after=2`)
    expect(rest.body.has_more).toBe(false)
    expect(rest.body.events.at(-1)).toMatchObject({ type: 'instance.completed', data: { outcome: 'success' } })
  })

  it('follows live with text/event-stream, and ends when the instance does', async () => {
    const id = await start('type: chain\nname: held\nsteps: [{ type: test.held }, { type: test.echo }]\n')
    const response = await fetch(`${server.url}/v1/instances/${id}/events`, {
      headers: { accept: 'text/event-stream' },
    })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(response.headers.get('x-request-id')).toBeTruthy()
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk)
      if (text.includes('event: created')) release()
    }
    const types = [...text.matchAll(/^event: (.*)$/gm)].map((m) => m[1])
    expect(types[0]).toBe('instance.created')
    expect(types.slice(-2)).toEqual(['instance.completed', 'end'])
    const seqs = [...text.matchAll(/^id: (\d+)$/gm)].map((m) => Number(m[1]))
    expect(seqs).toEqual(seqs.map((_, i) => i + 1))
  })

  it('continues after Last-Event-ID', async () => {
    const id = await finished(ONE)
    const { body } = await get(`/v1/instances/${id}/events`, { accept: 'text/event-stream', 'last-event-id': '3' })
    expect(body).toContain('id: 4\n')
    expect(body).not.toContain('id: 3\n')
  })
})

describe('every reply', () => {
  it('carries the request id that was sent, or a new one', async () => {
    expect((await get('/v1/instances', { 'x-request-id': 'mine-1' })).headers.get('x-request-id')).toBe('mine-1')
    expect((await get('/v1/instances')).headers.get('x-request-id')).toMatch(/^req_[0-9a-f-]{36}$/)
    const odd = await get('/nope', { 'x-request-id': 'x'.repeat(500) })
    expect(odd.headers.get('x-request-id')).toMatch(/^req_/)
    expect(odd.body.error.request_id).toBe(odd.headers.get('x-request-id'))
  })

  it('that is an error has the same body', async () => {
    const { status, body } = await get('/v1/nothing')
    expect(status).toBe(404)
    expect(body).toEqual({
      error: {
        code: 'not_found',
        message: 'there is no GET /v1/nothing',
        retryable: false,
        details: { resource_type: 'path', resource_id: '/v1/nothing' },
        hint: expect.stringContaining('/openapi.json'),
        docs_url: '/docs/errors#not_found',
        request_id: expect.any(String),
      },
    })
  })

  it('to a body that is too large is 413', async () => {
    const response = await fetch(`${server.url}/v1/nothing`, {
      method: 'POST',
      body: JSON.stringify('x'.repeat(2000)),
      headers: { 'content-type': 'application/json' },
    })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: { code: 'payload_too_large' } })
  })

  it('to an internal failure reveals nothing internal', async () => {
    const broken = withQueries({ search: { instances: () => Promise.reject(new Error('secret table')) } })
    const other = await startServer({ engine: broken as never, version: '1', port: 0 })
    const response = await fetch(`${other.url}/v1/instances`)
    expect(response.status).toBe(500)
    const text = await response.text()
    expect(JSON.parse(text).error.code).toBe('engine_error')
    expect(text).not.toContain('secret')
    await other.close()
  })
})

describe('close', () => {
  it('ends open streams', async () => {
    const other = await startServer({ engine, version: '1', port: 0 })
    const id = await start('kind: Net\nversion: 1\nname: waits\nnodes: { ask: { gate: Sure? } }\n')
    const response = await fetch(`${other.url}/v1/instances/${id}/events`, { headers: { accept: 'text/event-stream' } })
    await other.close()
    expect(await response.text()).toContain('gate.opened')
  })
})
