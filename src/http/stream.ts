/**
 * The events of one instance as server-sent events: its history, then new events, then `end` when it has its verdict.
 * The id of each event is its seq, so a client that reconnects continues where it stopped. The server waits for a slow
 * reader, and disconnects one that reads nothing for too long, with the reason.
 */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
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

export interface Streaming {
  readonly followed: Followed
  readonly faults: UnreadableRows
  readonly after: number
  readonly reply: ServerResponse
  readonly closing: AbortSignal
  /** Default 30,000. */
  readonly patienceMs?: number
}

class SlowReader extends Error {}

export async function streamEvents(streaming: Streaming): Promise<void> {
  const { followed, faults, after, reply, closing, patienceMs = PATIENCE_MS } = streaming
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
    let seq = after
    while (!signal.aborted) {
      const { row, events, workers, more, ended } = await followed.read(seq, PORTION)
      for (const event of events) {
        const text = jsonText(eventWire(event, workers.get(event.id)), (_, error) => {
          faults.note('unreadable_event', String(event.id), error)
        })
        await send(`id: ${event.seq}\nevent: ${event.type}\ndata: ${text}\n\n`)
      }
      seq = events.at(-1)?.seq ?? seq
      if (more) continue
      if (ended) {
        await send(`event: end\ndata: ${JSON.stringify(row === null ? null : instanceWire(row))}\n\n`)
        break
      }
      await followed.moved(seq, signal)
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
