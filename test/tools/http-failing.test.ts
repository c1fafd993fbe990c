/** Servers that do not answer, do not finish, or answer with something invalid: http ends, and names the cause. */
import { createServer as createSecureServer } from 'node:https'
import { createServer, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CallOptions, errorOf, resultOf } from './calling.ts'
import { SELF_SIGNED } from './self-signed.ts'
import { type Serving, sendJson, serving } from './serving.ts'

const local: CallOptions = { tools: { allowPrivate: ['127.0.0.0/8', 'localhost'] } }
let server: Serving

beforeAll(async () => {
  server = await serving()
})
afterAll(() => server.close())

describe('a reply that does not come, or does not end', () => {
  let mute: Server
  beforeAll(async () => {
    mute = createServer((socket) => socket.on('error', () => {}))
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    server.on('/endless', (_request, response) => {
      const drip = setInterval(() => response.write('x'), 5)
      response.on('close', () => clearInterval(drip))
    })
    server.on('/huge', (_request, response) => {
      const chunk = Buffer.alloc(64 * 1024)
      const pump = (): void => {
        while (response.write(chunk));
      }
      response.on('drain', pump)
      pump()
    })
  })
  afterAll(() => mute.close())

  it('ends by the timeout of the task, of its field, or by the default of 60 s', async () => {
    const { port } = mute.address() as { port: number }
    const url = `http://127.0.0.1:${port}/items?key=secret`
    const place = `http://127.0.0.1:${port}/items`
    expect(await errorOf('http', { url, timeout: 0.1 }, local)).toEqual({
      kind: 'timeout',
      code: 'TIMEOUT',
      retryable: true,
      message: `${place} did not answer within 100 ms`,
    })
    const message = `${place} did not answer within 50 ms`
    expect(await errorOf('http', { url }, { ...local, timeoutMs: 50 })).toMatchObject({ message })
    expect(await errorOf('http', { url, timeout_seconds: 9 }, { ...local, timeoutMs: 50 })).toMatchObject({ message })
    const split = { connect: 0.01, read: 0.04 }
    expect(await errorOf('http', { url, timeout: split }, local)).toMatchObject({ message })
  })

  it('ends if a reply trickles without end', async () => {
    const error = await errorOf('http', { url: `${server.url}/endless`, timeout: { read: 0.1 } }, local)
    expect(error).toMatchObject({ kind: 'timeout', code: 'TIMEOUT' })
  })

  it('ends if headers trickle without end, or exceed the limit', async () => {
    const dripping = await speaking((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const drip = setInterval(() => socket.write('x-more: 1\r\n'), 5)
      socket.on('close', () => clearInterval(drip))
    })
    expect(await errorOf('http', { url: dripping.url, timeout: 0.2 }, local)).toMatchObject({ code: 'TIMEOUT' })
    await dripping.close()
    const endless = await speaking((socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x-more: 1\r\n'.repeat(10_000)}`))
    expect(await errorOf('http', { url: endless.url }, local)).toMatchObject({
      kind: 'parse',
      code: 'MALFORMED_ANSWER',
    })
    await endless.close()
  })

  it('ends if the name is never resolved', async () => {
    const tools = { resolve: () => new Promise<never>(() => {}) }
    const url = 'http://nowhere.test/'
    expect(await errorOf('http', { url, timeout: 0.1 }, { tools })).toMatchObject({ code: 'TIMEOUT' })
    expect(await errorOf('http', { url, timeout: { connect: 0.1, read: 60 } }, { tools })).toMatchObject({
      kind: 'timeout',
      code: 'CONN_TIMEOUT',
      message: 'no connection to nowhere.test within 100 ms',
    })
  })

  it('ends when the run is cancelled', async () => {
    const cancelled = new AbortController()
    const asked = errorOf('http', { url: `${server.url}/endless` }, { ...local, signal: cancelled.signal })
    cancelled.abort()
    expect(await asked).toMatchObject({ kind: 'cancelled', code: 'ABORTED', retryable: false })
  })

  it('reads no more than the operator allows, whatever max_bytes is', async () => {
    const bounded = { tools: { ...local.tools, maxResponseBytes: 100_000 } }
    for (const max_bytes of [1_000_000_000, 100_001]) {
      const error = await errorOf('http', { url: `${server.url}/huge`, max_bytes }, bounded)
      expect(error).toMatchObject({ code: 'RESPONSE_TOO_LARGE', message: expect.stringContaining('100000 bytes') })
    }
  })

  it('reads no more than max_bytes', async () => {
    const config = { url: `${server.url}/huge`, max_bytes: 1_000_000 }
    const error = { kind: 'client_error', code: 'RESPONSE_TOO_LARGE', retryable: false }
    expect(await errorOf('http', config, local)).toMatchObject(error)
    const bounded = { tools: { ...local.tools, maxResponseBytes: 100_000 } }
    expect(await errorOf('http', { url: `${server.url}/huge` }, bounded)).toMatchObject(error)
  })

  it('counts the bytes of a compressed reply after decompression', async () => {
    server.on('/bomb', (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50_000_000)))
    })
    const config = { url: `${server.url}/bomb`, max_bytes: 1_000_000 }
    expect(await errorOf('http', config, local)).toMatchObject({ code: 'RESPONSE_TOO_LARGE' })
  })

  it.each([
    ['cut off', gzipSync('{"a":1}').subarray(0, 15)],
    ['none at all', Buffer.from('{"a":1}')],
  ])('is a parse error if the declared encoding is %s', async (_what, bytes) => {
    server.on('/mispacked', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bytes)
    })
    expect(await errorOf('http', { url: `${server.url}/mispacked` }, local)).toMatchObject({
      kind: 'parse',
      code: 'MALFORMED_ANSWER',
    })
  })

  it('is a connection error if no server listens, and if the name is unknown', async () => {
    const closed = await serving()
    await closed.close()
    const error = await errorOf('http', { url: closed.url }, local)
    expect(error).toMatchObject({ kind: 'connection', code: 'CONN_REFUSED', retryable: true })
    const nowhere = { resolve: () => Promise.reject(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })) }
    expect(await errorOf('http', { url: 'http://nowhere.test' }, { tools: nowhere })).toMatchObject({
      kind: 'connection',
      code: 'DNS_ERROR',
    })
  })

  it('is a connection error if the connection breaks in the middle', async () => {
    server.on('/cut', (_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half', () => response.destroy())
    })
    const error = { kind: 'connection', code: 'CONN_ERROR', retryable: true }
    expect(await errorOf('http', { url: `${server.url}/cut` }, local)).toMatchObject(error)
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhal'
    for (const reply of ['', 'HTTP/1.1 200', chunked]) {
      const leaving = await speaking((socket) => socket.end(reply))
      expect(await errorOf('http', { url: leaving.url }, local)).toMatchObject(error)
      await leaving.close()
    }
  })

  it('is a parse error if the reply is not HTTP', async () => {
    const liar = await speaking((socket) => socket.end('SMTP ready\r\n\r\n'))
    const error = await errorOf('http', { url: liar.url }, local)
    expect(error).toMatchObject({ kind: 'parse', code: 'MALFORMED_ANSWER', retryable: false })
    await liar.close()
  })
})

describe('https', () => {
  it('is refused from a server without a trusted certificate, unless verify_ssl is false', async () => {
    const secure = createSecureServer(SELF_SIGNED, (_request, response) => sendJson(response, { safe: true }))
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
    const url = `https://127.0.0.1:${(secure.address() as { port: number }).port}/`
    expect(await errorOf('http', { url }, local)).toMatchObject({
      kind: 'connection',
      code: 'TLS_ERROR',
      retryable: false,
    })
    expect((await resultOf('http', { url, verify_ssl: false }, local)).data).toEqual({ safe: true })
    secure.close()
  })
})

/** A server that sends something no HTTP server would. */
async function speaking(greet: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    // Not before the request.
    socket.once('data', () => greet(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
