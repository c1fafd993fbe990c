/** Which addresses http may connect to, directly and by redirects, and what it sends there. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CallOptions, call, errorOf, resultOf } from './calling.ts'
import { type Serving, sendJson, serving } from './serving.ts'

const local: CallOptions = { tools: { allowPrivate: ['127.0.0.0/8', 'localhost'] } }
let server: Serving
let other: Serving

beforeAll(async () => {
  server = await serving()
  other = await serving()
  server.on('/echo', (request, response, body) => {
    const { searchParams } = new URL(request.url!, 'http://any')
    sendJson(response, {
      method: request.method,
      query: [...searchParams],
      headers: request.headers,
      body: body.toString(),
    })
  })
})
afterAll(async () => {
  await server.close()
  await other.close()
})

describe('redirects', () => {
  it('are followed five times, with the method that each status requires', async () => {
    server.on('/see', (request, response) => {
      const { searchParams } = new URL(request.url!, 'http://any')
      response.writeHead(Number(searchParams.get('code')), { location: '/echo?from=see' }).end()
    })
    const via = async (code: number, method: string) => {
      const config = { url: `${server.url}/see?code=${code}`, method, json: { a: 1 } }
      const { data, url } = await resultOf('http', config, local)
      expect(url).toBe(`${server.url}/echo?from=see`)
      return [data.method, data.body]
    }
    expect(await via(302, 'POST')).toEqual(['GET', ''])
    expect(await via(303, 'PUT')).toEqual(['GET', ''])
    expect(await via(302, 'PUT')).toEqual(['PUT', '{"a":1}'])
    expect(await via(307, 'POST')).toEqual(['POST', '{"a":1}'])
  })

  it('are an error if they loop', async () => {
    server.on('/loop', (_request, response) => response.writeHead(302, { location: '/loop' }).end())
    const error = await errorOf('http', { url: `${server.url}/loop` }, local)
    expect(error).toMatchObject({ kind: 'client_error', code: 'TOO_MANY_REDIRECTS', retryable: false })
    expect(server.seen.get('/loop')).toHaveLength(6)
  })

  it('are returned as the reply if they are not to be followed', async () => {
    for (const off of [{ follow_redirects: false }, { max_redirects: 0 }]) {
      const result = await resultOf('http', { url: `${server.url}/loop`, ...off }, local)
      expect(result).toMatchObject({ status_code: 302, headers: { location: '/loop' } })
    }
  })

  it.each(['file:///etc/passwd', 'ftp://example.com/', 'http://'])('never lead to %s', async (location) => {
    server.on('/away', (_request, response) => response.writeHead(302, { location }).end())
    const error = await errorOf('http', { url: `${server.url}/away` }, local)
    expect(error).toMatchObject({ kind: 'client_error', code: 'REDIRECT_REFUSED' })
  })

  it('send no credentials to another origin', async () => {
    server.on('/leave', (_request, response) => response.writeHead(307, { location: `${other.url}/take` }).end())
    other.on('/take', (request, response) => sendJson(response, request.headers))
    const config = {
      url: `${server.url}/leave`,
      auth: { token: 'secret' },
      headers: { Cookie: 'secret', 'X-Api-Key': 'secret', Accept: 'application/json' },
    }
    const { data } = await resultOf('http', config, local)
    expect(JSON.stringify(data)).not.toContain('secret')
    expect(data).toMatchObject({ accept: 'application/json', 'user-agent': 'petrel', host: `127.0.0.1:${other.port}` })
  })

  it('to a private address are refused even from an allowed host, also by a name', async () => {
    const resolve = async (host: string) => [{ address: host === 'inner.test' ? '10.0.0.1' : '127.0.0.1', family: 4 }]
    for (const location of ['http://10.0.0.1/', 'http://[::ffff:10.0.0.1]/', 'http://inner.test/']) {
      server.on('/inward', (_request, response) => response.writeHead(302, { location }).end())
      const error = await errorOf('http', { url: `${server.url}/inward` }, { tools: { ...local.tools, resolve } })
      expect(error).toMatchObject({
        code: 'SSRF_BLOCKED',
        details: { address: expect.stringMatching(/10\.0\.0\.1|a00:1/) },
      })
    }
  })
})

describe('addresses that are not public', () => {
  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://100.64.0.1/',
    'http://172.16.0.1/',
    'http://224.0.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://192.168.0.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::]/',
    'http://[::127.0.0.1]/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://[64:ff9b::10.0.0.1]/',
    'http://[2002:7f00:1::]/',
    'http://localhost/',
  ])('%s is refused, with a hint how to allow it', async (url) => {
    const error = await errorOf('http', { url }, { tools: { allowPrivate: [] } })
    expect(error).toMatchObject({ kind: 'client_error', code: 'SSRF_BLOCKED', retryable: false })
    expect(error.message).toContain('PETREL_HTTP_ALLOW')
  })

  it('are refused if any address of a name is one', async () => {
    const resolve = async () => [
      { address: '93.184.216.34', family: 4 },
      { address: '10.0.0.7', family: 4 },
    ]
    const error = await errorOf('http', { url: 'http://mixed.test/' }, { tools: { allowPrivate: [], resolve } })
    expect(error).toMatchObject({ code: 'SSRF_BLOCKED', details: { host: 'mixed.test', address: '10.0.0.7' } })
  })

  it('are not reached by a name that changes its address: it is resolved once, and that address is used', async () => {
    const answers = ['127.0.0.1', '10.0.0.1', '10.0.0.1']
    let asked = 0
    const resolve = async () => [{ address: answers[asked++]!, family: 4 }]
    const tools = { allowPrivate: ['127.0.0.1'], resolve }
    const { data } = await resultOf('http', { url: `http://turns.test:${server.port}/echo` }, { tools })
    expect(data.headers.host).toBe(`turns.test:${server.port}`)
    expect(asked).toBe(1)
    // The next request resolves the name again and checks it again.
    const error = await errorOf('http', { url: `http://turns.test:${server.port}/echo` }, { tools })
    expect(error).toMatchObject({ code: 'SSRF_BLOCKED', details: { address: '10.0.0.1' } })
  })

  it.each([[['127.0.0.1']], [['127.0.0.0/8']], [['all']]])('are reached if %j allows it', async (allowPrivate) => {
    expect(await resultOf('http', { url: `${server.url}/echo` }, { tools: { allowPrivate } })).toBeTruthy()
  })

  it('are reached by an allowed name', async () => {
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const tools = { allowPrivate: ['*.internal'], resolve }
    const port = server.port
    expect(await resultOf('http', { url: `http://api.internal:${port}/echo` }, { tools })).toBeTruthy()
    expect(await errorOf('http', { url: `http://internal.test:${port}/echo` }, { tools })).toMatchObject({
      code: 'SSRF_BLOCKED',
    })
  })

  it('are allowed by PETREL_HTTP_ALLOW, whose mistakes are reported', async () => {
    process.env['PETREL_HTTP_ALLOW'] = 'localhost, 127.0.0.1'
    try {
      expect(await resultOf('http', { url: `${server.url}/echo` })).toBeTruthy()
      process.env['PETREL_HTTP_ALLOW'] = '10.0.0.0/99'
      expect(() => call('http', { url: server.url })).toThrow('"10.0.0.0/99" is not a host name, address or network')
    } finally {
      delete process.env['PETREL_HTTP_ALLOW']
    }
  })
})
