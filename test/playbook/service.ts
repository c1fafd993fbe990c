/** A service that playbooks call: forecasts that fail at first, rows in pages, any status. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

const TEMPERATURES: Record<string, readonly number[]> = { Lisbon: [18, 27, 21], Oslo: [3, 9, 4], Cairo: [29, 38, 31] }
const PAGES = 5
const PER_PAGE = 4

export interface Service {
  readonly url: string
  /** Requests per path. */
  readonly asked: ReadonlyMap<string, number>
  close(): Promise<void>
}

export async function serve(): Promise<Service> {
  const asked = new Map<string, number>()
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://service')
    const times = (asked.get(request.url ?? '/') ?? 0) + 1
    asked.set(request.url ?? '/', times)
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (url.pathname === '/forecast') {
      // The first request for each city fails, the next succeeds.
      if (times === 1) return answer(503, { error: 'busy' })
      return answer(200, { temperatures: TEMPERATURES[url.searchParams.get('city') ?? ''] ?? [0] })
    }
    if (url.pathname === '/rows') {
      const page = Number(url.searchParams.get('page'))
      if (page === 3 && times === 1) return answer(502, { error: 'bad gateway' })
      const rows = Array.from({ length: PER_PAGE }, (_, i) => ({ n: (page - 1) * PER_PAGE + i + 1 }))
      return answer(200, { rows, next: page < PAGES ? page + 1 : null })
    }
    const status = /^\/status\/(\d{3})$/.exec(url.pathname)?.[1]
    answer(status === undefined ? 404 : Number(status), { status })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
