/**
 * Bodies, arguments and numbers that are too large: refused in such a way that the client can read the reason, with the
 * field.
 */
import { connect } from 'node:net'
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Reply, type Serving } from '../serving.ts'
import { chain, group, job } from './flow.ts'

onBothStores('requests that are too large', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({})
  })

  /**
   * Sends all of it before it reads, as simple clients do; returns everything received before the connection was
   * closed.
   */
  const raw = (head: string, chunks: readonly Buffer[]): Promise<{ text: string; error: string | null }> =>
    new Promise((resolve) => {
      const socket = connect(s.server.port, '127.0.0.1')
      let text = ''
      let error: string | null = null
      socket.setEncoding('utf8')
      socket.on('data', (data) => {
        text += data
      })
      socket.on('error', (problem: NodeJS.ErrnoException) => {
        error = problem.code ?? problem.message
      })
      socket.on('close', () => resolve({ text, error }))
      socket.write(head)
      for (const chunk of chunks) socket.write(chunk)
    })
  const head = (length: string): string =>
    `POST /ojs/v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${length}\r\n\r\n`
  const MiB = 1024 * 1024

  it.each([
    ['a length', (bytes: number) => head(`content-length: ${bytes}`), (chunk: Buffer) => [chunk]],
    [
      'chunks',
      () => head('transfer-encoding: chunked'),
      (chunk: Buffer) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')],
    ],
  ])('a body of 20 MiB with %s gets its 413, and the connection is not reset', async (_, begin, framed) => {
    const part = Buffer.alloc(MiB, 'x')
    const chunks = Array.from({ length: 20 }, () => framed(part)).flat()
    const { text, error } = await raw(begin(20 * MiB), [...chunks, Buffer.from('0\r\n\r\n')])
    expect(error).toBeNull()
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(text).toContain('content-type: application/openjobspec+json')
    expect(text).toContain('"code":"payload_too_large"')
  })

  it('fetch reads the 413, and the next request on its pool is served', async () => {
    for (let round = 0; round < 3; round++) {
      const reply = await s.post('/ojs/v1/jobs', { type: 'a', args: ['x'.repeat(6 * MiB)] })
      expect([reply.status, reply.body.error.code]).toEqual([413, 'payload_too_large'])
      expect((await s.get('/ojs/v1/health')).status).toBe(200)
    }
  })

  it('arguments beyond the limit are named by their path', async () => {
    const half = 'x'.repeat(600_000)
    const field = async (body: object): Promise<unknown> => {
      const reply = await s.post('/ojs/v1/workflows', body)
      expect([reply.status, reply.body.error.code]).toEqual([413, 'payload_too_large'])
      expect(reply.body.error.message).toContain(reply.body.error.details.field)
      return reply.body.error.details.field
    }
    expect(await field(chain(job('a', [half]), job('b', [half])))).toBe('steps')
    expect(await field(chain(job('a'), job('b', [half + half])))).toBe('steps[1].args')
    expect(await field(group(job('a'), job('b', [half + half])))).toBe('jobs[1].args')
    expect((await s.get('/ojs/v1/workflows')).body.workflows).toEqual([])
  })

  it('many small jobs inside a chain are refused by their stored size, not by the size of the request', async () => {
    const many = group(...Array.from({ length: 6_000 }, (_, i) => job('a', [i])))
    const { status, body } = await s.post('/ojs/v1/workflows', chain(job('first'), many))
    expect([status, body.error.details.field]).toEqual([413, 'steps'])
    expect(body.error.message).toMatch(/^steps: .* bytes as sent, and more as stored; at most 1048576 are stored$/)
  })

  it.each([
    ['/ojs/v1/jobs', '{"type":"a","args":[{"n":1e400}]}', 'args[0].n'],
    ['/ojs/v1/jobs', '{"type":"a","args":[9007199254740993]}', 'args[0]'],
    ['/ojs/v1/workflows', '{"type":"group","jobs":[{"type":"a","args":[-18446744073709551615]}]}', 'jobs[0].args[0]'],
    ['/ojs/v1/workers/ack', '{"job_id":"x","result":{"big":12345678901234567891}}', 'result.big'],
    ['/v1/runs', '{"type":"a","payload":{"n":[1,9007199254740995]}}', 'payload.n[1]'],
    ['/v1/events', '{"name":"x","data":1e999}', 'data'],
  ])('%s refuses %s, which a double cannot represent', async (path, body, field) => {
    const reply: Reply = await s.ask('POST', path, { body, headers: { 'content-type': 'application/json' } })
    expect([reply.status, reply.body.error.code, reply.body.error.details.field]).toEqual([
      400,
      'invalid_payload',
      field,
    ])
    expect(reply.body.error.hint).toContain('9007199254740991')
  })

  it('stores every number that it accepts', async () => {
    const text = '[9007199254740991,-9007199254740991,9007199254740992,1e300,0.1,100000000000000000000]'
    const { id } = (await s.ask('POST', '/ojs/v1/jobs', { body: `{"type":"exact","args":${text}}` })).body.job
    expect((await s.get(`/ojs/v1/jobs/${id}`)).body.job.args).toEqual(JSON.parse(text))
  })
})
