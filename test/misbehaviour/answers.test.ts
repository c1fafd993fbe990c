/**
 * The number of replies prepared at a time for one caller is limited; further requests wait. No header or method avoids
 * the limit, and clients that disconnect leave nothing behind: neither an occupied place nor one that is freed too
 * early.
 */
import { connect, type Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { type As, keyOf } from '../server/keys.ts'
import { onBothStores, type Serving, until } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

const AT_A_TIME = 8
const ASKED = 60

onBothStores('more requests than are answered at a time for one caller', (stage) => {
  test.each([
    ['GET', {}],
    ['GET', { accept: 'text/event-stream' }],
    ['HEAD', {}],
  ])(
    '%s %o: the others wait, and their places are free again when all have disconnected',
    async (method, headers) => {
      const s = await stage.serve()
      const greedy = await keyOf(s, `greedy ${method} ${Object.keys(headers)}`, null)
      const neighbour = await Neighbour.of(s)
      await neighbour.calm(3)
      const lists = holdLists(s)
      await neighbour.beside(async () => {
        const sockets = Array.from({ length: ASKED }, () => ask(s, method, { ...greedy, ...headers }))
        await until(
          () => inFlight(s),
          (requests) => requests === ASKED,
        )
        for (const socket of sockets) socket.destroy()
        await until(
          () => inFlight(s),
          (requests) => requests === 0,
        )
      })
      expect(lists.asked()).toBe(AT_A_TIME)
      lists.release()
      expect((await s.get('/v1/runs', greedy)).status).toBe(200)
      expect(lists.asked()).toBe(AT_A_TIME + 1)
      await neighbour.expectUnaffected()
    },
    120_000,
  )

  test('long replies to a disconnected client occupy no place', async () => {
    const s = await stage.serve()
    const greedy = await keyOf(s, 'greedy for long answers', null)
    const text = 'x'.repeat(100_000)
    await s.post('/v1/runs', { type: 'long.one.v1', payload: { text } })
    const lists = holdLists(s)
    const sockets = Array.from({ length: 2 * AT_A_TIME }, () => ask(s, 'GET', greedy))
    await until(
      () => inFlight(s),
      (requests) => requests === sockets.length,
    )
    for (const socket of sockets) socket.destroy()
    await until(
      () => inFlight(s),
      (requests) => requests === 0,
    )
    lists.release()
    expect((await s.get('/v1/runs', greedy)).status).toBe(200)
  }, 60_000)

  test('streams occupy none of these places, whatever their Accept header', async () => {
    const s = await stage.serve()
    const gone = new AbortController()
    const { signal } = gone
    const streams = await Promise.all(
      Array.from({ length: AT_A_TIME + 1 }, () => fetch(`${s.server.url}/ojs/v1/events/stream`, { signal })),
    )
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await s.get('/v1/runs')).status).toBe(200)
    gone.abort()
  }, 60_000)
})

/** Lists of runs do not return until they are released. */
function holdLists({ store }: Serving): { asked(): number; release(): void } {
  const list = store.read.listInbox.bind(store.read)
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const spy = vi.spyOn(store.read, 'listInbox').mockImplementation(async (query) => {
    await released
    return list(query)
  })
  return { asked: () => spy.mock.calls.length, release }
}

function ask({ server }: Serving, method: string, headers: As): Socket {
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => {})
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${method} /v1/runs HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}\r\n`)
  return socket
}

/** Lists of runs in progress. */
async function inFlight(s: Serving): Promise<number> {
  const { text } = await s.get('/metrics')
  const counts = [...text.matchAll(/petrel_http_requests_in_flight\{.*route="\/v1\/runs"\} (\d+)/g)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}
