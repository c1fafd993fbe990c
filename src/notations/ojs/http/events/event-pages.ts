/** Events by polling: oldest first from a cursor, or the newest first page by page. */
import type { Feed } from '../../../../operations/events/feed.ts'
import {
  anything,
  flag,
  list,
  named,
  nullable,
  object,
  optional,
  text,
  time,
  type Value,
} from '../../../../wire/schema.ts'
import type { Noting } from '../../../interface/projection.ts'
import type { EventPlace } from '../../project/event-id.ts'
import { OffsetPagination, type Page, pageWire } from '../paging.ts'
import { type EventFilter, matches } from './event-filter.ts'
import { type HubEvent, mapEvents } from './event-hub.ts'
import { isAfter, placeCursor, readPlace, START, WHOLE } from './event-place.ts'

export const MAX_LIMIT = 1000
const PORTION = 200
/** Of one answer; the last event may exceed it. */
const MOST_BYTES = 1024 * 1024
const SHORT = 2_000
/** Stored events that one poll reads; if the filter finds few, the answer has the cursor that was reached. */
const LOOK_THROUGH = 5_000

const Event = named(
  'Event',
  object({
    specversion: text(),
    id: text('evt_ and a UUIDv7; send it as `after` or Last-Event-ID to continue behind it.'),
    type: text('job.enqueued, job.started, job.completed, workflow.completed …'),
    source: text(),
    time: time(),
    subject: text('Id of the job or workflow, name of the queue.'),
    data: anything({ type: 'object' }),
    timestamp: optional(time('The same as `time`.')),
    event: optional(text('Of workflow events: the type again.')),
    workflow_id: optional(text()),
    workflow_type: optional(text('chain, group or batch.')),
    workflow_name: optional(nullable(text())),
  }),
)

/** Polled, or with `page` or `per_page`: the two have the events in common. */
export const EventPage = named(
  'EventPage',
  object({
    events: list(Event, 'Oldest first; by pages newest first.'),
    cursor: optional(text('Send it as `after` to continue; the last page has one too. Not of numbered pages.')),
    has_more: optional(flag()),
    items: optional(list(Event, 'Of numbered pages: the events again.')),
    pagination: optional(OffsetPagination),
  }),
)

type EventPageWire = Value<typeof EventPage>
type EventWire = Value<typeof Event>

export interface Source {
  readonly feed: Feed
  readonly reading: Noting
  readonly filter: EventFilter
}

export interface Poll {
  readonly after: string | null
  readonly limit: number
  /** null: of all. */
  readonly runId: string | null
}

export async function poll({ feed, reading, filter }: Source, { after, limit, runId }: Poll): Promise<EventPageWire> {
  let place: EventPlace = after === null || after === '0' ? START : readPlace(after)
  const events: HubEvent[] = []
  let more = true
  let bytes = 0
  const isFull = (): boolean => events.length === limit || bytes >= MOST_BYTES
  for (let seen = 0; more && !isFull() && seen < LOOK_THROUGH; ) {
    const afterId = place.part === WHOLE ? place.feedId : Math.max(0, place.feedId - 1)
    const page = await feed.read({ afterId, limit: PORTION, runId })
    seen += Math.max(page.events.length, 1)
    more = page.more
    let end: EventPlace = { feedId: Math.max(page.cursor, place.feedId), part: WHOLE }
    for (const event of await mapEvents(reading, page.events)) {
      if (!isAfter(place, event) || !matches(filter, event)) continue
      if (isFull()) {
        more = true
        break
      }
      events.push(event)
      bytes += event.text.length
      if (isFull()) end = event
    }
    place = end
  }
  return {
    events: events.map(({ text: printed }) => JSON.parse(printed) as EventWire),
    cursor: placeCursor(place),
    has_more: more,
  }
}

/** Pages from the end of the feed, the newest first, as far back as one request reads. `since` null: any time. */
export async function newest(
  source: Source,
  { page, since }: { readonly page: Page; readonly since: number | null },
): Promise<EventPageWire> {
  const end = await source.feed.end()
  const from = Math.max(0, end - LOOK_THROUGH)
  const found: Found[] = []
  for await (const { feedId, part, wire, text: printed } of eventsBetween(source, from, end)) {
    if (since === null || Date.parse(wire.time) >= since) found.push({ feedId, part, bytes: printed.length })
  }
  const all = found.reverse()
  const events = await shownEvents(source, all.slice(page.offset, page.offset + page.limit))
  const hasMore = page.offset + events.length < all.length
  const pagination = pageWire({ page, total: all.length, hasMore, last: null })
  return { events, items: events, pagination: { ...pagination, ...(from > 0 ? { total_is_at_least: true } : {}) } }
}

/** Events of a job that has ended: no more will follow. */
export async function historyOf(
  { feed, reading, filter }: Source,
  runId: string,
  from: EventPlace,
): Promise<readonly HubEvent[]> {
  const found: HubEvent[] = []
  for (let afterId = 0, more = true; more; ) {
    const page = await feed.read({ afterId, limit: MAX_LIMIT, runId })
    found.push(...(await mapEvents(reading, page.events)))
    more = page.more
    afterId = page.cursor
  }
  return found.filter((event) => isAfter(from, event) && matches(filter, event))
}

/** Where an event is that fits; its data is read again for those that are shown. */
interface Found extends EventPlace {
  readonly bytes: number
}

/** A portion at a time: all together they may be more than there is memory for. */
async function* eventsBetween(
  { feed, reading, filter }: Source,
  after: number,
  end: number,
): AsyncGenerator<HubEvent, void, undefined> {
  for (let afterId = after, more = true; more; ) {
    const portion = await feed.read({ afterId, limit: PORTION, runId: null })
    for (const event of await mapEvents(reading, portion.events)) if (matches(filter, event)) yield event
    more = portion.more && portion.cursor < end
    afterId = portion.cursor
  }
}

/**
 * The newest first. Beyond the bytes of one answer their data is left out: pages by number cannot be shorter. The admin
 * pages read the time as `timestamp`.
 */
async function shownEvents(source: Source, page: readonly Found[]): Promise<readonly EventWire[]> {
  const [newestOne, oldest] = [page[0], page.at(-1)]
  if (newestOne === undefined || oldest === undefined) return []
  let bytes = 0
  const fits = new Map(
    page.map((found) => {
      bytes += found.bytes
      return [placeCursor(found), bytes <= MOST_BYTES || found.bytes <= SHORT]
    }),
  )
  const shown: EventWire[] = []
  for await (const event of eventsBetween(source, oldest.feedId - 1, newestOne.feedId)) {
    const isWhole = fits.get(placeCursor(event))
    if (isWhole === undefined) continue
    const { text: printed, wire } = event
    const whole = isWhole
      ? (JSON.parse(printed) as EventWire)
      : { ...wire, data: { $omitted: { bytes: printed.length } } }
    shown.push({ timestamp: wire.time, ...whole })
  }
  return shown.reverse()
}
