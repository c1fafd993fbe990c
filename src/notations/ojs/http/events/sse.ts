/** One reply as server-sent events: its headers, a heartbeat, and its end. */
import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OjsContext } from '../context.ts'
import type { Ending } from './event-listener.ts'

export interface SseReply {
  readonly context: OjsContext
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export interface Sse {
  /** The client is gone. */
  readonly gone: AbortSignal
  /** false: the buffer is full. */
  write(frame: string): boolean
  /** true: the client has not taken what was written. */
  isFull(): boolean
  drained(signal: AbortSignal): Promise<void>
}

/** Proxies close what is silent. */
export const HEARTBEAT_MS = 15_000
const RETRY_MS = 3_000
/** For a client that does not close the connection after the last event. */
const LINGER_MS = 1_000

/** The reply ends when `body` does. */
export async function overSse({ context, request, reply }: SseReply, body: (sse: Sse) => Promise<void>): Promise<void> {
  const { raw } = reply
  reply.hijack()
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'ojs-version': '1.0',
    'x-accel-buffering': 'no',
  })
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  // Closed before the stream began: no event will report that.
  if (raw.destroyed || raw.closed) gone.abort()
  const heartbeat = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(':heartbeat\n\n')
  }, HEARTBEAT_MS)
  context.openStreams.inc({ kind: 'sse' })
  try {
    raw.write(`retry: ${RETRY_MS}\n\n`)
    await body({
      gone: gone.signal,
      write: (text) => raw.write(text),
      isFull: () => raw.writableNeedDrain,
      drained: async (signal) => void (await once(raw, 'drain', { signal })),
    })
  } catch (error) {
    context.logger?.error({ err: error, request: request.id }, 'event stream broke off')
  } finally {
    context.openStreams.dec({ kind: 'sse' })
    clearInterval(heartbeat)
    raw.end()
    setTimeout(() => raw.destroy(), LINGER_MS).unref()
  }
}

/** Without a type a browser receives it as `message`. */
export function frame({
  id,
  type,
  text,
}: {
  readonly id?: string
  readonly type?: string
  readonly text: string
}): string {
  return `${id === undefined ? '' : `id: ${id}\n`}${type === undefined ? '' : `event: ${type}\n`}data: ${text}\n\n`
}

/** The last frame of a stream; null: the client knows why it ends. */
export function goodbyeTo({ why }: Pick<Ending, 'why'>, channel: string): string | null {
  if (why === 'closing') {
    const text = JSON.stringify({ reason: 'the server is going down', grace_period_ms: LINGER_MS })
    return frame({ type: 'server.shutdown', text })
  }
  if (why !== 'slow') return null
  const text = JSON.stringify({
    channel,
    reason: 'slow_consumer',
    message: 'events were not taken for 30 s; connect again with Last-Event-ID, nothing is lost',
  })
  return frame({ type: 'system.events_dropped', text })
}
