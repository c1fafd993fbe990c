/** A real HTTP server of one test file; handlers by path. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Handler = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void

export interface Serving {
  readonly url: string
  readonly port: number
  on(path: string, handler: Handler): void
  /** Requests seen, by path. */
  readonly seen: Map<string, { readonly method: string; readonly headers: IncomingMessage['headers'] }[]>
  close(): Promise<void>
}

export async function serving(): Promise<Serving> {
  const handlers = new Map<string, Handler>()
  const seen: Serving['seen'] = new Map()
  const server = createServer((request, response) => {
    const path = new URL(request.url!, 'http://any').pathname
    seen.set(path, [...(seen.get(path) ?? []), { method: request.method!, headers: request.headers }])
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const handler = handlers.get(path)
      if (handler === undefined) response.writeHead(404).end('nothing here')
      else handler(request, response, Buffer.concat(chunks))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    on: (path, handler) => handlers.set(path, handler),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
