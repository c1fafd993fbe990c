import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CallOptions, call, errorOf, resultOf } from './calling.ts'
import { type Serving, sendJson, serving } from './serving.ts'

const local: CallOptions = { tools: { allowPrivate: ['127.0.0.0/8', 'localhost'] } }
let server: Serving

beforeAll(async () => {
  server = await serving()
  server.on('/echo', (request, response, body) => {
    const { searchParams } = new URL(request.url!, 'http://any')
    sendJson(response, {
      method: request.method,
      query: [...searchParams],
      headers: request.headers,
      body: body.toString(),
    })
  })
  server.on('/status', (request, response) => {
    const code = Number(new URL(request.url!, 'http://any').searchParams.get('code'))
    response.setHeader('retry-after', '7')
    sendJson(response, { said: code }, code)
  })
})
afterAll(() => server.close())

describe('requests of http', () => {
  it('are GETs with the query of params by default', async () => {
    const params = { page: 2, all: true, tag: ['a', 'b'], none: null, deep: { x: 1 } }
    const result = await resultOf('http', { url: `${server.url}/echo?at=1`, params }, local)
    expect(result.data.method).toBe('GET')
    expect(result.data.query).toEqual([
      ['at', '1'],
      ['page', '2'],
      ['all', 'true'],
      ['tag', 'a'],
      ['tag', 'b'],
      ['deep', '{"x":1}'],
    ])
  })

  it.each([['payload'], ['body'], ['json']])('are JSON under %s', async (field) => {
    const config = { url: `${server.url}/echo`, method: 'post', [field]: { a: [1, null] } }
    const { data } = await resultOf('http', config, local)
    expect(data).toMatchObject({ method: 'POST', body: '{"a":[1,null]}' })
    expect(data.headers['content-type']).toBe('application/json')
  })

  it('put data by method, and by its keys query and body', async () => {
    const url = `${server.url}/echo`
    const sent = async (config: object) => (await resultOf('http', { url, ...config }, local)).data
    expect(await sent({ data: { a: 1 } })).toMatchObject({ query: [['a', '1']], body: '' })
    expect(await sent({ method: 'DELETE', data: { a: 1 } })).toMatchObject({ query: [['a', '1']], body: '' })
    expect(await sent({ method: 'PUT', data: { a: 1 } })).toMatchObject({ query: [], body: '{"a":1}' })
    const both = { query: { q: 1 }, body: { b: 2 } }
    expect(await sent({ method: 'POST', data: both })).toMatchObject({ query: [['q', '1']], body: '{"b":2}' })
  })

  it('are a form or multipart if the content type names it', async () => {
    const url = `${server.url}/echo`
    const form = { url, method: 'POST', form: { a: 'x y', b: [1, 2] } }
    expect((await resultOf('http', form, local)).data.body).toBe('a=x+y&b=1&b=2')
    const typed = {
      url,
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      payload: { grant_type: 'client_credentials' },
    }
    expect((await resultOf('http', typed, local)).data.body).toBe('grant_type=client_credentials')
    const parts = {
      url,
      method: 'POST',
      headers: { 'Content-Type': 'multipart/form-data' },
      payload: { note: 'hello', report: { filename: 'r.csv', content_base64: 'YSxi', content_type: 'text/csv' } },
    }
    const { data } = await resultOf('http', parts, local)
    expect(data.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
    expect(data.body).toContain('name="note"\r\n\r\nhello')
    expect(data.body).toContain('filename="r.csv"\r\nContent-Type: text/csv\r\n\r\na,b')
  })

  it.each([
    [{ type: 'bearer', token: 'T' }, 'authorization', 'Bearer T'],
    [{ token: 'T' }, 'authorization', 'Bearer T'],
    [{ type: 'basic', username: 'u', password: 'p:q' }, 'authorization', `Basic ${btoa('u:p:q')}`],
    [{ type: 'header', name: 'X-Api-Key', value: 'K' }, 'x-api-key', 'K'],
  ])('authenticate by %j', async (auth, header, value) => {
    const { data } = await resultOf('http', { url: `${server.url}/echo`, auth }, local)
    expect(data.headers[header]).toBe(value)
  })

  it('use the credentials of an auth that is a name', async () => {
    const tools = { ...local.tools, credentials: (name: string) => (name === 'api' ? { token: 'T' } : undefined) }
    const { data } = await resultOf('http', { url: `${server.url}/echo`, auth: 'api' }, { tools })
    expect(data.headers.authorization).toBe('Bearer T')
    expect(await errorOf('http', { url: `${server.url}/echo`, auth: 'apj' }, { tools })).toMatchObject({
      kind: 'auth',
      code: 'CREDENTIAL_UNKNOWN',
      message: expect.stringContaining('there is no credential called "apj"'),
    })
  })

  it('take user and password out of the URL', async () => {
    const url = server.url.replace('http://', 'http://me:s%20t@')
    const result = await resultOf('http', { url: `${url}/echo` }, local)
    expect(result.data.headers.authorization).toBe(`Basic ${btoa('me:s t')}`)
    expect(result.url).toBe(`${server.url}/echo`)
  })

  it('send the idempotency key of the task on request', async () => {
    const { data } = await resultOf('http', { url: `${server.url}/echo`, idempotency_key: true }, local)
    expect(data.headers['idempotency-key']).toBe('run-1/task')
  })

  it.each([
    [{ url: 'file:///etc/passwd' }, 'url must begin with http:// or https://, not file:'],
    [{ url: 'example.com?key=secret' }, 'url must be a whole URL (https://…), not "example.com"'],
    [{ url: 7 }, 'url must be a whole URL (https://…), not a number'],
    [{ url: 'http://127.0.0.1/', method: 'CONNECT' }, 'method must be GET'],
    [{ url: 'http://127.0.0.1/', headers: { 'X-A': 'a\r\nHost: b' } }, 'header "X-A" has characters'],
    [{ url: 'http://127.0.0.1/', params: [1] }, 'params must be a map, not a list'],
    [{ url: 'http://127.0.0.1/', timeout: 0 }, 'timeout must be a number of seconds above 0'],
  ])('refuse %j', async (config, message) => {
    const error = await errorOf('http', config, local)
    expect(error).toMatchObject({ kind: 'schema', code: 'FIELD_INVALID', retryable: false })
    expect(error.message).toContain(message)
  })
})

describe('results of http', () => {
  it('are status, headers, url, elapsed and the body as data and body', async () => {
    const envelope = await call('http', { url: `${server.url}/status?code=201` }, local)
    expect(envelope).toMatchObject({
      status: 'ok',
      result: { status_code: 201, url: `${server.url}/status?code=201`, data: { said: 201 }, body: { said: 201 } },
      http: { status: 201, headers: { 'content-type': 'application/json' } },
    })
    expect((envelope.result as any).elapsed).toBeGreaterThanOrEqual(0)
  })

  it('follow the content type: JSON, text, bytes', async () => {
    server.on('/as', (request, response, _body) => {
      const { searchParams } = new URL(request.url!, 'http://any')
      response.setHeader('content-type', searchParams.get('type')!)
      response.end(Buffer.from(searchParams.get('hex')!, 'hex'))
    })
    const as = async (type: string, bytes: Buffer) =>
      (await resultOf('http', { url: `${server.url}/as`, params: { type, hex: bytes.toString('hex') } }, local)) as any
    expect((await as('application/problem+json; charset=utf-8', Buffer.from('[1]'))).data).toEqual([1])
    expect((await as('application/json', Buffer.alloc(0))).data).toBe(null)
    expect((await as('text/plain', Buffer.from('[1]'))).data).toBe('[1]')
    expect((await as('text/plain; charset=iso-8859-1', Buffer.from([0xfc]))).data).toBe('ü')
    const bytes = await as('image/png', Buffer.from([0x89, 0x50, 0, 1]))
    expect(bytes).toMatchObject({ data: 'iVAAAQ==', encoding: 'base64' })
  })

  it.each([
    ['gzip', gzipSync('{"a":1}')],
    ['br', brotliCompressSync('{"a":1}')],
  ])('decompress %s', async (encoding, bytes) => {
    server.on('/packed', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding }).end(bytes)
    })
    expect((await resultOf('http', { url: `${server.url}/packed` }, local)).data).toEqual({ a: 1 })
  })

  it.each([
    [400, 'client_error', false],
    [401, 'auth', false],
    [403, 'auth', false],
    [404, 'not_found', false],
    [409, 'client_error', false],
    [429, 'rate_limit', true],
    [500, 'server_error', true],
    [503, 'server_error', true],
  ])('of status %i are an error of kind %s', async (code, kind, retryable) => {
    const envelope = await call('http', { url: `${server.url}/status?code=${code}&key=secret` }, local)
    expect(envelope).toMatchObject({
      status: 'error',
      result: { status_code: code, data: { said: code } },
      error: { kind, retryable, code: `HTTP_${code}`, details: { retry_after: 7 } },
      http: { status: code },
    })
    expect(envelope.error!.message).toMatch(new RegExp(`^GET ${server.url}/status answered ${code}`))
    expect(envelope.error!.message).not.toContain('secret')
  })

  it('are an error if JSON is declared and invalid, and quote nothing of it', async () => {
    server.on('/broken', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"token": secret-value}')
    })
    const message = `GET ${server.url}/broken answered with invalid JSON`
    expect(await call('http', { url: `${server.url}/broken` }, local)).toMatchObject({
      status: 'error',
      result: { data: '{"token": secret-value}' },
      error: { kind: 'parse', code: 'INVALID_JSON', message, retryable: false },
    })
  })
})
