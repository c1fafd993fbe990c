/**
 * Clients that open event streams and never read them: little is buffered for each, then it is disconnected with a
 * reason.
 */
import { createServer, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { EngineApi } from '../../src/engine/api.ts'
import { streamEvents } from '../../src/http/stream.ts'
import { newId } from '../../src/kernel/ids.ts'
import type { StoredEvent } from '../../src/model/rows.ts'
import { operator } from '../../src/operations/caller.ts'
import { followInstance } from '../../src/operations/instances/history.ts'
import { Operations } from '../../src/operations/operation.ts'
import { onBothStores, type Serving, until } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

const SILENT = 40

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

describe('the events of one instance, to a client that never reads', () => {
  test('are read from the store only as far as the client reads them, and the stream ends', async () => {
    let portions = 0
    const engine = endless(() => portions++)
    let response: ServerResponse | undefined
    const ended = new Promise<void>((resolve, reject) => {
      const server = createServer((_, reply) => {
        response = reply
        const closing = new AbortController().signal
        new Operations({ engine, logger: null })
          .perform(operator(null), followInstance, { id: newId() })
          .then((followed) =>
            streamEvents({ followed, faults: { note: () => {} }, after: 0, reply, closing, patienceMs: 300 }),
          )
          .then(resolve, reject)
          .finally(() => server.close())
      })
      server.listen(0, '127.0.0.1', () => {
        silent((server.address() as { port: number }).port, '/')
      })
    })
    await ended
    // One batch has 500 kB; the kernel buffers some megabytes on both sides.
    expect(portions).toBeLessThan(40)
    await until(async () => response?.destroyed, Boolean)
    expect(response?.destroyed).toBe(true)
  }, 30_000)
})

onBothStores('event streams that are never read', (stage) => {
  test('delay no other work, and end with their clients', async () => {
    const s = await stage.serve()
    const neighbour = await Neighbour.of(s)
    await neighbour.calm(3)
    const { body } = await s.post('/ojs/v1/workflows', { type: 'chain', steps: [{ type: 'never', args: [] }] })
    const paths = ['/ojs/v1/events', '/ojs/v1/queues/noise/events', `/v1/instances/${body.workflow.id}/events`]
    for (let i = 0; i < SILENT; i++) silent(s.server.port, paths[i % paths.length] as string)
    await until(
      () => streams(s),
      (open) => open >= SILENT / 2,
    )
    await neighbour.beside(async () => {
      const jobs = Array.from({ length: 100 }, (_, i) => ({
        type: 'noise',
        args: [i, 'x'.repeat(2_000)],
        queue: 'noise',
      }))
      for (let i = 0; i < 3; i++) expect((await s.post('/ojs/v1/jobs/batch', { jobs })).status).toBe(201)
    }, 5)
    await neighbour.expectUnaffected()
    for (const socket of sockets.splice(0)) socket.destroy()
    expect(
      await until(
        () => streams(s),
        (open) => open === 0,
      ),
    ).toBe(0)
  }, 180_000)
})

/** Requests a stream and reads nothing of it. */
function silent(port: number, path: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n`)
  sockets.push(socket)
  return socket
}

async function streams(s: Serving): Promise<number> {
  const { text } = await s.get('/metrics')
  return Number(/^petrel_event_streams\{kind="sse"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

/** An instance with as many events as a stream can contain, a kilobyte each. */
function endless(read: () => void): EngineApi {
  const instance = async () => ({ id: 'i', state: 'running', eventSeq: 1_000_000_000 })
  const instanceEvents = async ({ afterSeq }: { readonly afterSeq: number }): Promise<StoredEvent[]> => {
    read()
    return Array.from({ length: 500 }, (_, i) => ({
      id: afterSeq + i + 1,
      seq: afterSeq + i + 1,
      runId: null,
      instanceId: 'i',
      type: 'noise',
      node: null,
      actor: null,
      tenant: null,
      data: JSON.stringify('x'.repeat(1_000)),
      at: 0,
    }))
  }
  return { queries: { instance, instanceEvents } } as unknown as EngineApi
}
