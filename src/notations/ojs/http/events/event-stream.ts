/**
 * Server-sent events. Each frame has the event's id, so a client that reconnects with Last-Event-ID continues where it
 * stopped, on this server or another; if that place has been pruned, `system.gap` reports it.
 */
import type { FastifyRequest } from 'fastify'
import type { Feed } from '../../../../operations/events/feed.ts'
import { type Query, textParam } from '../../../../wire/requests/query.ts'
import type { EventPlace } from '../../project/event-id.ts'
import { type EventFilter, matches } from './event-filter.ts'
import type { HubEvent } from './event-hub.ts'
import { hasRoom, type Outlet, pump } from './event-listener.ts'
import { readPlace, START, WHOLE } from './event-place.ts'
import { frame, goodbyeTo, overSse, type SseReply } from './sse.ts'

export interface Streaming extends SseReply {
  readonly feed: Feed
  readonly filter: EventFilter
  readonly from: EventPlace
  /** Given: these and then the end, instead of what comes. */
  readonly only?: readonly HubEvent[] | null
  readonly last?: (event: HubEvent) => boolean
}

export function wantsStream(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/event-stream')
}

/** Last-Event-ID has precedence over where the client once began; without either, only new events are sent. */
export async function resumePlace(request: FastifyRequest, feed: Feed): Promise<EventPlace> {
  const header = request.headers['last-event-id']
  if (typeof header === 'string' && header !== '') return readPlace(header)
  const query = request.query as Query
  const after = textParam(query, 'after') ?? textParam(query, 'last_event_id')
  if (after !== null) return after === '0' ? START : readPlace(after)
  return endOf(feed)
}

/** Where a listener begins that wants only new events. */
export async function endOf(feed: Feed): Promise<EventPlace> {
  return { feedId: await feed.end(), part: WHOLE }
}

/** Takes a seat, and lasts as long as the stream. */
export async function stream(streaming: Streaming): Promise<void> {
  const { context, request } = streaming
  await context.streamSeats.taken(request, () => streamFrom(streaming))
}

async function streamFrom(streaming: Streaming): Promise<void> {
  const { context, feed, filter, from, only = null } = streaming
  const gap = await gapBefore(feed, filter, from)
  await overSse(streaming, async ({ write, drained, gone }) => {
    if (gap !== null) write(frame({ type: 'system.gap', text: JSON.stringify(gap) }))
    const outlet: Outlet = {
      send: ({ wire, text }) => write(frame({ id: wire.id, type: wire.type, text })),
      drained,
    }
    if (only !== null) {
      for (const event of only) {
        if (outlet.send(event) || (await hasRoom(outlet, gone))) continue
        write(goodbyeTo({ why: 'slow' }, filter.channel) ?? '')
        return
      }
      return
    }
    const ending = await pump({
      hub: context.hub,
      from,
      wants: (event) => feed.sees(event) && matches(filter, event),
      outlet,
      gone,
      closing: context.closing,
      ...(streaming.last === undefined ? {} : { last: streaming.last }),
    })
    write(goodbyeTo(ending, filter.channel) ?? '')
  })
}

/** What a listener missed because it was pruned; null: nothing. */
export async function gapBefore(
  feed: Feed,
  { channel }: EventFilter,
  from: EventPlace,
): Promise<{ readonly [key: string]: unknown } | null> {
  if (from.feedId === 0) return null
  const oldest = await feed.start()
  if (oldest === 0 || from.feedId >= oldest - 1) return null
  const now = new Date(await feed.now()).toISOString()
  return { channel, gap_end: now, estimated_missed_count: oldest - 1 - from.feedId, timestamp: now }
}
