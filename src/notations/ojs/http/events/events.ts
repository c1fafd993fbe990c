/**
 * Events: by polling (GET /ojs/v1/events), as server-sent events on the same path and on those of one job, queue or
 * channel, and over a WebSocket (event-socket.ts).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../../../engine/api.ts'
import { notFound } from '../../../../http/request-error.ts'
import { readId } from '../../../../kernel/ids.ts'
import type { RunRow } from '../../../../model/rows.ts'
import { type Query, textParam, wholeParam } from '../../../../wire/requests/query.ts'
import type { EventPlace } from '../../project/event-id.ts'
import { statsStream } from '../admin/stats-stream.ts'
import type { OjsContext } from '../context.ts'
import { timeOf } from '../jobs/time-param.ts'
import { pageWire, readPage } from '../paging.ts'
import { requireChannel } from './channel.ts'
import { type EventFilter, endsJob, matches, readFilter } from './event-filter.ts'
import { EventHub, type HubEvent, mapEvents } from './event-hub.ts'
import { isAfter, placeCursor, readPlace, START, WHOLE } from './event-place.ts'
import { eventSocket } from './event-socket.ts'
import { resumePlace, stream, wantsStream } from './event-stream.ts'
import { progressStream } from './progress-stream.ts'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000
const PORTION = 200
/** Of one answer; the last event may go beyond it. */
const MOST_BYTES = 1024 * 1024
const SHORT = 2_000
/** Stored events one poll looks through; a filter that finds little answers with the cursor it has come to. */
const LOOK_THROUGH = 5_000

export function eventRoutes(app: FastifyInstance, context: OjsContext): void {
  const hub = new EventHub(context)
  const { streamSeats: seats } = context
  // What this process changes it tells its own listeners at once.
  app.addHook('onResponse', async ({ method }) => {
    if (method !== 'GET') hub.nudge()
  })
  // A HEAD of a stream would never end.
  const noHead = { exposeHeadRoute: false, config: { stream: 'accepted' as const } }

  app.get('/ojs/v1/events', noHead, async (request, reply) => {
    const filter = readFilter(request.query as Query, request.caller.tenant)
    if (!wantsStream(request))
      return isPaged(request) ? newest(context, request, filter) : poll(context, request, filter)
    const from = await resumePlace(request, hub)
    return seats.taken(request, () => stream({ context, hub, request, reply, filter, from }))
  })

  app.get('/ojs/v1/events/stream', { ...noHead, config: { stream: 'always' } }, async (request, reply) => {
    const filter = readFilter(request.query as Query, request.caller.tenant)
    await requireChannel(context, filter.channel, filter.tenant)
    const from = await resumePlace(request, hub)
    return seats.taken(request, () => stream({ context, hub, request, reply, filter, from }))
  })

  app.get<{ Params: { readonly id: string } }>('/ojs/v1/jobs/:id/events', noHead, async (request, reply) => {
    // Before the run is read: what ends it afterwards comes after this place.
    const from = await resumePlace(request, hub)
    const run = await findRun(context, request, request.params.id)
    const filter = readFilter(request.query as Query, request.caller.tenant, `job:${run.id}`)
    if (!wantsStream(request)) return poll(context, request, filter, run.id)
    const ended = run.status !== 'pending' && run.status !== 'leased'
    const only = ended ? await historyOf(context, run.id, filter, resumes(request) ? from : START) : null
    return seats.taken(request, () => stream({ context, hub, request, reply, filter, from, only, last: endsJob }))
  })

  app.get<{ Params: { readonly name: string } }>('/ojs/v1/queues/:name/events', noHead, async (request, reply) => {
    const filter = readFilter(request.query as Query, request.caller.tenant, `queue:${request.params.name}`)
    if (!wantsStream(request)) return poll(context, request, filter)
    const from = await resumePlace(request, hub)
    return seats.taken(request, () => stream({ context, hub, request, reply, filter, from }))
  })

  eventSocket(app, context, hub)
  progressStream(app, context, hub)
  statsStream(app, context, hub)
}

async function poll(context: OjsContext, request: FastifyRequest, filter: EventFilter, runId: string | null = null) {
  const query = request.query as Query
  const limit = wholeParam(query, 'limit', { least: 1, most: MAX_LIMIT, fallback: DEFAULT_LIMIT })
  const after = textParam(query, 'after') ?? textParam(query, 'cursor')
  let place: EventPlace = after === null || after === '0' ? START : readPlace(after)
  const { engine } = context
  const events: HubEvent[] = []
  let more = true
  let bytes = 0
  const isFull = (): boolean => events.length === limit || bytes >= MOST_BYTES
  for (let seen = 0; more && !isFull() && seen < LOOK_THROUGH; ) {
    const afterId = place.part === WHOLE ? place.feedId : Math.max(0, place.feedId - 1)
    const page = await engine.queries.events({ afterId, limit: PORTION, tenant: filter.tenant, runId })
    seen += Math.max(page.events.length, 1)
    more = page.more
    let end: EventPlace = { feedId: Math.max(page.cursor, place.feedId), part: WHOLE }
    for (const event of await mapEvents(engine, page.events)) {
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
  return { events: events.map(({ text }) => JSON.parse(text)), cursor: placeCursor(place), has_more: more }
}

function isPaged(request: FastifyRequest): boolean {
  const query = request.query as Query
  return query['page'] !== undefined || query['per_page'] !== undefined
}

/** Pages from the end of the feed, the newest first, as far back as one request looks. */
async function newest({ engine }: OjsContext, request: FastifyRequest, filter: EventFilter): Promise<object> {
  const query = request.query as Query
  const page = readPage(query)
  const since = timeOf('').read(query, 'since')
  const end = await engine.queries.feedEnd()
  const from = Math.max(0, end - LOOK_THROUGH)
  const found: Found[] = []
  for await (const { feedId, part, wire, text } of eventsBetween(engine, filter, from, end)) {
    if (since === null || Date.parse(wire.time) >= since) found.push({ feedId, part, bytes: text.length })
  }
  const all = found.reverse()
  const events = await shownEvents(engine, filter, all.slice(page.offset, page.offset + page.limit))
  const hasMore = page.offset + events.length < all.length
  const pagination = pageWire({ page, total: all.length, hasMore, last: null })
  return { events, items: events, pagination: { ...pagination, ...(from > 0 ? { total_is_at_least: true } : {}) } }
}

/** Where an event is that fits; what it tells is read again for those that are shown. */
interface Found extends EventPlace {
  readonly bytes: number
}

/** A portion at a time: all together they may be more than there is memory for. */
async function* eventsBetween(
  engine: EngineApi,
  filter: EventFilter,
  after: number,
  end: number,
): AsyncGenerator<HubEvent, void, undefined> {
  for (let afterId = after, more = true; more; ) {
    const portion = await engine.queries.events({ afterId, limit: PORTION, tenant: filter.tenant, runId: null })
    for (const event of await mapEvents(engine, portion.events)) if (matches(filter, event)) yield event
    more = portion.more && portion.cursor < end
    afterId = portion.cursor
  }
}

/**
 * The newest first. Beyond the bytes of one answer their data is left out: pages by number cannot be shorter. The admin
 * pages read the time as `timestamp`.
 */
async function shownEvents(engine: EngineApi, filter: EventFilter, page: readonly Found[]): Promise<readonly object[]> {
  const [newest, oldest] = [page[0], page.at(-1)]
  if (newest === undefined || oldest === undefined) return []
  let bytes = 0
  const fits = new Map(
    page.map((found) => {
      bytes += found.bytes
      return [placeCursor(found), bytes <= MOST_BYTES || found.bytes <= SHORT]
    }),
  )
  const shown: object[] = []
  for await (const event of eventsBetween(engine, filter, oldest.feedId - 1, newest.feedId)) {
    const isWhole = fits.get(placeCursor(event))
    if (isWhole === undefined) continue
    const { text, wire } = event
    const told: object = isWhole ? JSON.parse(text) : { ...wire, data: { $omitted: { bytes: text.length } } }
    shown.push({ timestamp: wire.time, ...told })
  }
  return shown.reverse()
}

/** What happened to a job that has ended: all there will be. */
async function historyOf(
  { engine }: OjsContext,
  runId: string,
  filter: EventFilter,
  from: EventPlace,
): Promise<readonly HubEvent[]> {
  const found: HubEvent[] = []
  for (let afterId = 0, more = true; more; ) {
    const page = await engine.queries.events({ afterId, limit: MAX_LIMIT, runId })
    found.push(...(await mapEvents(engine, page.events)))
    more = page.more
    afterId = page.cursor
  }
  return found.filter((event) => isAfter(from, event) && matches(filter, event))
}

function resumes(request: FastifyRequest): boolean {
  return request.headers['last-event-id'] !== undefined || (request.query as Query)['after'] !== undefined
}

async function findRun({ engine }: OjsContext, request: FastifyRequest, id: string): Promise<RunRow> {
  const run = readId(id) !== null ? await engine.queries.run(id) : null
  const { tenant } = request.caller
  if (run === null || (tenant !== null && run.tenant !== tenant)) throw notFound('job', id)
  return run
}
