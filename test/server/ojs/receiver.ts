/** A receiver of webhooks: records all requests, and answers as configured. */
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'
import { until } from '../serving.ts'

export interface Heard {
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly event: any
}

export class Receiver {
  readonly heard: Heard[] = []
  /** How to answer; may answer later, or never. Default: 200. */
  answer: (heard: Heard, response: ServerResponse) => void = (_, response) => void response.end('OK')
  #url = ''

  static async open(): Promise<Receiver> {
    const receiver = new Receiver()
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const text = Buffer.concat(chunks).toString('utf8')
      const heard = { headers: request.headers, text, event: JSON.parse(text) }
      receiver.heard.push(heard)
      receiver.answer(heard, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    receiver.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    afterAll(() => {
      server.closeAllConnections()
      server.close()
    })
    return receiver
  }

  url(path: string): string {
    return this.#url + path
  }

  /** Waits for this many requests of one subscription. */
  async hears(subscription: string, count: number, withinMs = 15_000): Promise<readonly Heard[]> {
    return until(
      async () => this.of(subscription),
      (found) => found.length >= count,
      withinMs,
    )
  }

  of(subscription: string): readonly Heard[] {
    return this.heard.filter(({ headers }) => headers['x-ojs-subscription-id'] === subscription)
  }
}

/** The signature as a receiver would compute it. */
export function signed({ headers, text }: Heard, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${headers['x-ojs-timestamp']}.${text}`).digest('hex')}`
}
