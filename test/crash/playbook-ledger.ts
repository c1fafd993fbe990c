/**
 * An external service that survives every crash. A request under a key takes effect once, however often it is sent.
 *
 *   /effects                  done
 *   /pages done, with ten rows for the first page, twenty for the second …; every second one is busy at first
 *   /busy-once, /busy-twice   done, after answering busy that many times
 *   /refused                  never
 */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

const PAGES = 4

export interface Effect {
  readonly execution: string
  readonly task: string
}

type Posted = Effect & { readonly page?: number | null }

export class Ledger {
  /** By key. */
  readonly effects = new Map<string, Effect>()
  readonly #calls = new Map<string, number>()
  readonly #server: Server

  private constructor() {
    this.#server = createServer(async (request, response) => {
      try {
        const [status, body] = this.#answer(request, JSON.parse(await textOf(request)))
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      } catch {
        // The sender was killed during the request.
        response.destroy()
      }
    })
  }

  static async open(): Promise<Ledger> {
    const ledger = new Ledger()
    await new Promise<void>((resolve) => ledger.#server.listen(0, '127.0.0.1', resolve))
    return ledger
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Total number of requests. */
  get calls(): number {
    return [...this.#calls.values()].reduce((sum, calls) => sum + calls, 0)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #answer({ url, headers }: IncomingMessage, { execution, task, page }: Posted): readonly [number, object] {
    const key = headers['idempotency-key'] as string
    const calls = (this.#calls.get(key) ?? 0) + 1
    this.#calls.set(key, calls)
    if (url === '/refused') return [422, { refused: true }]
    const number = page ?? 1
    const busy = url === '/busy-twice' ? 2 : url === '/busy-once' || (url === '/pages' && number % 2 === 0) ? 1 : 0
    if (calls <= busy) return [503, { busy: true }]
    // A step with one task has given it its own name.
    this.effects.set(key, { execution, task: task.replace(/_task$/, '') })
    return [200, url === '/pages' ? { rows: 10 * number, next: number < PAGES ? number + 1 : null } : { done: true }]
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
