/**
 * Server-sent events: what there is, then what is new, then `end`. Of an instance, its history until its verdict. The id of
 * each event is its place, so a client that reconnects continues where it stopped. The server waits for a slow
 * reader, and disconnects one that reads nothing for too long, with the reason.
 */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Followed } from '../operations/instances/history.ts'
import { eventWire } from '../wire/event.ts'
import { instanceWire } from '../wire/instance.ts'
import { jsonText } from '../wire/json-text.ts'
import type { UnreadableRows } from '../wire/value.ts'

/** Events that are read ahead of the client; fewer if they are long. */
const PORTION = 500
/** Proxies close silent connections. */
const HEARTBEAT_MS = 15_000
const PATIENCE_MS = 30_000
/** The client may still read the last data; then a client that does not close the connection is disconnected. */
const LINGER_MS = 1_000

interface StreamTo {
  readonly reply: ServerResponse
  readonly closing: AbortSignal
  /** Default 30,000. */
  readonly patienceMs?: number
}

export interface Streaming extends StreamTo {
  readonly followed: Followed
  readonly faults: UnreadableRows
  readonly after: number
}

export async function streamEvents({ followed, faults, after, ...to }: Streaming): Promise<void> {
  await streamPortions({
    ...to,
    after,
    read: async (seq) => {
      const { row, events, workers, more, ended } = await followed.read(seq, PORTION)
      const sent = events.map((event) => ({
        id: event.seq,
        type: event.type,
        text: jsonText(eventWire(event, workers.get(event.id)), (_, error) => {
          faults.note('unreadable_event', String(event.id), error)
        }),
      }))
      const end = ended ? JSON.stringify(row === null ? null : instanceWire(row)) : null
      return { events: sent, next: events.at(-1)?.seq ?? seq, more, end }
    },
    moved: (seq, signal) => followed.moved(seq, signal),
  })
}

interface SentEvents {
  readonly events: readonly { readonly id: number | null; readonly type: string; readonly text: string }[]
  readonly next: number
  readonly more: boolean
  /** The data of the last event; null: others may follow. */
  readonly end: string | null
}

class SlowReader extends Error {}

export async function streamPortions(
  streaming: StreamTo & {
    readonly after: number
    readonly read: (after: number) => Promise<SentEvents>
    /** Resolves when there may be more to read, or with the signal. */
    readonly moved: (after: number, signal: AbortSignal) => Promise<unknown>
  },
): Promise<void> {
  const { read, moved, after, reply, closing, patienceMs = PATIENCE_MS } = streaming
  const gone = new AbortController()
  reply.once('close', () => gone.abort())
  if (reply.destroyed) gone.abort()
  const signal = AbortSignal.any([gone.signal, closing])
  const heartbeat = setInterval(() => {
    if (!reply.writableNeedDrain) reply.write(': heartbeat\n\n')
  }, HEARTBEAT_MS)
  const send = async (text: string): Promise<void> => {
    if (!reply.write(text) && !reply.destroyed) await drained(reply, signal, patienceMs)
  }
  let lingerMs = patienceMs
  try {
    await send('retry: 3000\n\n')
    let at = after
    while (!signal.aborted) {
      const { events, next, more, end } = await read(at)
      for (const { id, type, text } of events) await send(`id: ${id}\nevent: ${type}\ndata: ${text}\n\n`)
      at = next
      if (more) continue
      if (end !== null) {
        await send(`event: end\ndata: ${end}\n\n`)
        break
      }
      await moved(at, signal)
    }
  } catch (error) {
    if (signal.aborted) return
    reply.write(`event: error\ndata: ${JSON.stringify(reasonOf(error))}\n\n`)
    if (!(error instanceof SlowReader)) throw error
    lingerMs = LINGER_MS
  } finally {
    clearInterval(heartbeat)
    reply.end()
    setTimeout(() => reply.destroy(), lingerMs).unref()
  }
}

/** Takes over the socket from fastify, with the headers it would have sent. */
export function openStream(reply: FastifyReply, request: FastifyRequest): ServerResponse {
  reply.hijack()
  reply.raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-request-id': request.id,
    'x-accel-buffering': 'no',
  })
  return reply.raw
}

function reasonOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof SlowReader) {
    const message = 'events were not taken for 30 s; connect again with Last-Event-ID, nothing is lost'
    return { code: 'slow_consumer', message }
  }
  return { code: 'engine_error', message: 'the stream broke off; connect again with Last-Event-ID' }
}

async function drained(reply: ServerResponse, signal: AbortSignal, patienceMs: number): Promise<void> {
  const late = AbortSignal.timeout(patienceMs)
  try {
    await once(reply, 'drain', { signal: AbortSignal.any([signal, late]) })
  } catch (error) {
    if (late.aborted && !signal.aborted) throw new SlowReader()
    throw error
  }
}
