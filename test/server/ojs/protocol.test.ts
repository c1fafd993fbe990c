/** Rules for every reply, on all routes. */
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'

const OJS = 'application/openjobspec+json'

onBothStores('the protocol', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ maxBodyBytes: 100_000 })
  })

  it('every reply under /ojs, including errors, has exactly the media type, the version and a request id', async () => {
    for (const path of ['/ojs/manifest', '/ojs/v1/health', '/ojs/v1/nothing', '/ojs', '/ojs/v1/openapi.json']) {
      const { headers } = await s.get(path)
      expect([path, headers.get('content-type'), headers.get('ojs-version')]).toEqual([path, OJS, '1.0'])
      expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{8}-[0-9a-f]{4}-7/)
    }
  })

  it('the client’s request id is returned, in the error body too', async () => {
    const { headers, body } = await s.get('/ojs/v1/nothing', { 'x-request-id': 'mine' })
    expect(headers.get('x-request-id')).toBe('mine')
    expect(body.error.request_id).toBe('mine')
  })

  it('404 of an unknown path has a hint', async () => {
    const { status, body } = await s.get('/ojs/v1/nothing?x=1')
    expect(status).toBe(404)
    expect(body.error).toEqual({
      code: 'not_found',
      message: 'there is no GET /ojs/v1/nothing',
      retryable: false,
      details: { resource_type: 'path', resource_id: '/ojs/v1/nothing' },
      hint: expect.any(String),
      docs_url: '/docs/errors#not_found',
      request_id: expect.any(String),
    })
    expect((await s.get('/docs/errors')).text).toContain('id="not_found"')
  })

  it('405 with Allow for a wrong method on a known path', async () => {
    const { status, headers, body } = await s.ask('PATCH', '/ojs/v1/health')
    expect(status).toBe(405)
    expect(headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'HEAD'])
    expect(body.error).toMatchObject({ code: 'method_not_allowed', details: { allowed: ['GET', 'HEAD'] } })
    expect((await s.ask('GET', '/ojs/v1/admin/reset')).headers.get('allow')).toBe('POST')
    expect((await s.ask('DELETE', '/nothing')).status).toBe(404)
  })

  it.each(['1.0', '1', '1.0.0', '1.0.0-rc.1'])('OJS-Version %s is accepted', async (version) => {
    expect((await s.get('/ojs/v1/health', { 'ojs-version': version })).status).toBe(200)
  })

  it.each(['2.0', '1.1', '0.9', 'new', '1.0; x'])('OJS-Version %s: 422 unsupported', async (version) => {
    const { status, headers, body } = await s.get('/ojs/v1/health', { 'ojs-version': version })
    expect(status).toBe(422)
    expect(headers.get('ojs-version')).toBe('1.0')
    expect(body.error).toMatchObject({ code: 'unsupported', details: { supported_versions: ['1.0'] } })
  })

  it.each([
    ['text/plain', 400],
    ['application/x-www-form-urlencoded', 400],
    ['application/xml', 400],
    ['nonsense', 400],
  ])('a body of type %s: %i', async (type, status) => {
    const reply = await s.post('/ojs/v1/admin/reset', '{}', { 'content-type': type })
    expect(reply.status).toBe(status)
    expect(reply.body.error).toMatchObject({ code: 'invalid_request', hint: expect.stringContaining('Content-Type') })
  })

  it.each([OJS, 'application/json', 'application/json; charset=utf-8', `${OJS};charset=UTF-8`])(
    'a body of type %s is accepted',
    async (type) => {
      // Reset is disabled here: getting that reply means that the body was read.
      const reply = await s.post('/ojs/v1/admin/reset', '{}', { 'content-type': type })
      expect(reply.body.error.code).toBe('permission_denied')
    },
  )

  it('an empty body with a content type is tolerated', async () => {
    for (const type of [OJS, 'application/json']) {
      const reply = await s.post('/ojs/v1/admin/reset', '', { 'content-type': type })
      expect(reply.body.error.code).toBe('permission_denied')
    }
  })

  it.each([
    ['{"a":', 'not JSON'],
    ['{"a": 1,}', 'not JSON'],
    ['nope', 'not JSON'],
    [`${'['.repeat(5000)}${']'.repeat(5000)}`, 'levels deep'],
  ])('malformed JSON %.10s…: 400 invalid_payload', async (text, message) => {
    const reply = await s.post('/ojs/v1/admin/reset', text)
    expect(reply.status).toBe(400)
    expect(reply.body.error).toMatchObject({ code: 'invalid_payload', message: expect.stringContaining(message) })
  })

  it('bytes that are not UTF-8: 400 invalid_payload', async () => {
    const response = await fetch(`${s.server.url}/ojs/v1/admin/reset`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Uint8Array([0x22, 0xff, 0xfe, 0x22]),
    })
    expect([response.status, ((await response.json()) as any).error.code]).toEqual([400, 'invalid_payload'])
  })

  it('an oversized body: 413 payload_too_large', async () => {
    const reply = await s.post('/ojs/v1/admin/reset', JSON.stringify('x'.repeat(100_001)))
    expect(reply.status).toBe(413)
    expect(reply.body.error).toMatchObject({ code: 'payload_too_large', retryable: false })
    expect(reply.headers.get('content-type')).toBe(OJS)
  })

  it('an unknown HTTP method gets a reply, not a closed socket', async () => {
    const answer = await new Promise<{ status: number; type: string | undefined; text: string }>((resolve, reject) => {
      const call = httpRequest(`${s.server.url}/ojs/v1/health`, { method: 'ASSERT' }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () =>
          resolve({ status: response.statusCode as number, type: response.headers['content-type'], text }),
        )
      })
      call.on('error', reject)
      call.end()
    })
    expect(answer).toMatchObject({ status: 405, type: OJS })
    expect(JSON.parse(answer.text).error.code).toBe('method_not_allowed')
  })

  it('a rare method that HTTP has: 405 or 404 with the same body', async () => {
    const known = await s.ask('PROPFIND', '/ojs/v1/health')
    expect([known.status, known.body.error.code]).toEqual([405, 'method_not_allowed'])
    const unknown = await s.ask('PROPFIND', '/ojs/v1/nothing')
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'not_found'])
  })

  it('bytes that are not HTTP: 400 in the same form', async () => {
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(s.server.port, '127.0.0.1', () => socket.write('HELLO\r\n\r\n'))
      let heard = ''
      socket.setEncoding('utf8')
      socket.on('data', (chunk) => {
        heard += chunk
      })
      socket.on('end', () => resolve(heard))
      socket.on('error', reject)
    })
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).error.request_id).toMatch(/^req_/)
  })

  it('a path that cannot be decoded: 400', async () => {
    const { status, body } = await s.get('/ojs/v1/%zz')
    expect(status).toBe(400)
    expect(body.error.code).toBe('invalid_request')
  })
})

onBothStores('manifest, health and readiness', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  it('GET /ojs/manifest', async () => {
    const { status, body } = await s.get('/ojs/manifest')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      specversion: '1.0',
      ojs_version: '1.0',
      implementation: { name: 'petrel', version: '1.2.3', language: 'typescript' },
      conformance_level: 4,
      backend: stage.kind,
      capabilities: { workflows: true, cron_jobs: true },
      limits: { max_workflow_depth: 10 },
    })
    expect(body.protocols).toContain('http')
  })

  it('GET /health reports that the process is alive, and echoes the request id', async () => {
    const { status, headers, body } = await s.get('/health', { 'x-request-id': 'test-req-obs-12345' })
    expect([status, headers.get('x-request-id'), body.status]).toEqual([200, 'test-req-obs-12345', 'ok'])
  })

  it('GET /ready', async () => {
    expect(await s.get('/ready')).toMatchObject({ status: 200, body: { status: 'ready' } })
  })

  it('503 when the store is unavailable, while the process reports that it is alive', async () => {
    const lost = await stage.serve()
    await lost.store.close()
    expect(await lost.get('/ojs/v1/health')).toMatchObject({
      status: 503,
      body: { status: 'unhealthy', backend: { type: stage.kind, status: 'unhealthy' } },
    })
    expect(await lost.get('/ready')).toMatchObject({ status: 503, body: { status: 'not_ready' } })
    expect((await lost.get('/health')).status).toBe(200)
    const failed = await lost.get('/v1/instances')
    expect(failed).toMatchObject({ status: 503, body: { error: { code: 'unavailable', retryable: true } } })
  })

  it('GET /metrics is plain text for Prometheus', async () => {
    const { status, headers, text } = await s.get('/metrics')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain'])
    expect(text).toContain(`petrel_info{version="1.2.3",store="${stage.kind}"} 1`)
    expect(text).toMatch(/petrel_http_request_duration_seconds_count\{method="GET",route="\/ready",status="200"\} \d/)
    expect(text).toContain('nodejs_eventloop_lag_seconds')
    expect(text).not.toMatch(/route="\/ojs\/v1\/nothing"/)
  })

  it('GET /metrics counts what this process did, and the pending work in the store', async () => {
    const counting = await stage.serve()
    const job = { type: 'test.echo', args: [], options: { queue: 'counted' } }
    for (let n = 0; n < 3; n++) await counting.post('/ojs/v1/jobs', job)
    const { body } = await counting.post('/ojs/v1/workers/fetch', { queues: ['counted'], count: 2 })
    await counting.post('/ojs/v1/workers/ack', { job_id: body.jobs[0].id })
    const { text } = await counting.get('/metrics')
    for (const line of [
      'petrel_runs_total 3',
      'petrel_claims_total 1',
      'petrel_claimed_runs_total 2',
      'petrel_settles_total 1',
      'petrel_settled_runs_total 1',
      'petrel_succeeded_total 1',
      'petrel_failed_total 0',
      'petrel_queue_runs{queue="counted",state="available"} 1',
      'petrel_queue_runs{queue="counted",state="leased"} 1',
      'petrel_event_streams',
    ])
      expect(text).toContain(line)
  })
})
