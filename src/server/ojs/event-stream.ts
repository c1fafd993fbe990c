/**
 * Server-sent events. Each frame has the event's id, so a client that reconnects with Last-Event-ID goes on where it
 * stopped, on this server or another; if that place has been pruned it is told so by `system.gap`.
 */
import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EventPlace } from '../../dialects/ojs/event-id.ts'
import { type Query, textParam } from '../query.ts'
import type { OjsContext } from './context.ts'
import { type EventFilter, matches } from './event-filter.ts'
import type { EventHub, HubEvent } from './event-hub.ts'
import { type Ending, pump } from './event-listener.ts'
import { readPlace, START, WHOLE } from './event-place.ts'

export interface Streaming {
  readonly context: OjsContext
  readonly hub: EventHub
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly filter: EventFilter
  readonly from: EventPlace
  /** Given: these and then the end, instead of what comes. */
  readonly only?: readonly HubEvent[] | null
  readonly last?: (event: HubEvent) => boolean
}

/** Proxies close what is silent. */
const HEARTBEAT_MS = 15_000
const RETRY_MS = 3_000
/** A client that was told goodbye and does not hang up. */
const LINGER_MS = 1_000

export function wantsStream(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/event-stream')
}

/** Last-Event-ID counts more than where the client once began; without either, what comes from now on. */
export async function resumePlace(request: FastifyRequest, hub: EventHub): Promise<EventPlace> {
  const header = request.headers['last-event-id']
  if (typeof header === 'string' && header !== '') return readPlace(header)
  const query = request.query as Query
  const after = textParam(query, 'after') ?? textParam(query, 'last_event_id')
  if (after !== null) return after === '0' ? START : readPlace(after)
  return { feedId: await hub.end(), part: WHOLE }
}

export async function stream(streaming: Streaming): Promise<void> {
  const { context, hub, reply, filter, from, only = null } = streaming
  const { raw } = reply
  const gap = await gapBefore(context, filter, from)
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
  // Hung up while we were getting ready: there will be no event to tell.
  if (raw.destroyed || raw.closed) gone.abort()
  const heartbeat = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(':heartbeat\n\n')
  }, HEARTBEAT_MS)
  context.metrics.streams.inc({ kind: 'sse' })
  try {
    raw.write(`retry: ${RETRY_MS}\n\n`)
    if (gap !== null) raw.write(frame({ type: 'system.gap', text: JSON.stringify(gap) }))
    if (only !== null) {
      for (const event of only) raw.write(frame({ id: event.wire.id, type: event.wire.type, text: event.text }))
      return
    }
    const ending = await pump({
      hub,
      from,
      wants: (event) => matches(filter, event),
      outlet: {
        send: (event) => raw.write(frame({ id: event.wire.id, type: event.wire.type, text: event.text })),
        drained: async (signal) => void (await once(raw, 'drain', { signal })),
      },
      gone: gone.signal,
      closing: context.closing,
      ...(streaming.last === undefined ? {} : { last: streaming.last }),
    })
    const goodbye = goodbyeTo(ending, filter.channel)
    if (goodbye !== null) raw.write(goodbye)
  } catch (error) {
    context.logger?.error({ err: error, request: streaming.request.id }, 'event stream broke off')
  } finally {
    context.metrics.streams.dec({ kind: 'sse' })
    clearInterval(heartbeat)
    raw.end()
    setTimeout(() => raw.destroy(), LINGER_MS).unref()
  }
}

/** What a listener missed because it was pruned; null: nothing. */
export async function gapBefore(
  { engine }: OjsContext,
  { channel }: EventFilter,
  from: EventPlace,
): Promise<{ readonly [key: string]: unknown } | null> {
  if (from.feedId === 0) return null
  const oldest = await engine.store.read.feedStart()
  if (oldest === 0 || from.feedId >= oldest - 1) return null
  const now = new Date(await engine.store.now()).toISOString()
  return { channel, gap_end: now, estimated_missed_count: oldest - 1 - from.feedId, timestamp: now }
}

function goodbyeTo({ why }: Ending, channel: string): string | null {
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

function frame({ id, type, text }: { readonly id?: string; readonly type: string; readonly text: string }): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${text}\n\n`
}
