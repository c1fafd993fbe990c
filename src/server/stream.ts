/**
 * The events of one instance as server-sent events: what was, then what comes, then `end` when it has its verdict.
 * The id of each is its seq, so a client that reconnects goes on where it stopped. A slow reader is waited for.
 */
import { once } from 'node:events'
import type { EngineApi } from '../engine/api.ts'
import { TERMINAL } from '../net/marking.ts'
import { eventWire, instanceWire } from './wire.ts'

const PORTION = 500
const LOOK_MS = 200
/** Proxies close what is silent. */
const HEARTBEAT_MS = 15_000

export interface Streaming {
  readonly engine: EngineApi
  readonly instanceId: string
  readonly after: number
  readonly reply: NodeJS.WritableStream & { readonly destroyed: boolean }
  readonly closing: AbortSignal
}

export async function streamEvents({ engine, instanceId, after, reply, closing }: Streaming): Promise<void> {
  const gone = new AbortController()
  reply.once('close', () => gone.abort())
  const signal = AbortSignal.any([gone.signal, closing])
  const heartbeat = setInterval(() => reply.write(': heartbeat\n\n'), HEARTBEAT_MS)
  const send = async (text: string): Promise<void> => {
    if (!reply.write(text) && !reply.destroyed) await once(reply, 'drain', { signal })
  }
  try {
    await send('retry: 3000\n\n')
    let seq = after
    while (!signal.aborted) {
      // Read before the events: an end seen here has all its events already.
      const row = await engine.store.read.instance(instanceId)
      const events = await engine.store.read.instanceEvents({ instanceId, afterSeq: seq, limit: PORTION })
      for (const event of events)
        await send(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(eventWire(event))}\n\n`)
      seq = events.at(-1)?.seq ?? seq
      if (events.length === PORTION) continue
      if (row === null || TERMINAL.has(row.state)) {
        await send(`event: end\ndata: ${JSON.stringify(row === null ? null : instanceWire(row))}\n\n`)
        break
      }
      await pause(LOOK_MS, signal)
    }
  } catch (error) {
    if (!signal.aborted)
      await send(`event: error\ndata: ${JSON.stringify({ message: 'the stream broke off; connect again' })}\n\n`).catch(
        () => {},
      )
    if (!signal.aborted) throw error
  } finally {
    clearInterval(heartbeat)
    reply.end()
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
