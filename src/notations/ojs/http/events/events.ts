/**
 * Events: by polling (GET /ojs/v1/events), as server-sent events on the same path and on those of one job, queue or
 * channel. event-socket.ts has the same over a WebSocket.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { openFeed } from '../../../../operations/events/feed.ts'
import { showRun } from '../../../../operations/runs/look.ts'
import { type Given, textOf, wholeOf } from '../../../../wire/requests/params.ts'
import type { Query } from '../../../../wire/requests/query.ts'
import { text } from '../../../../wire/schema.ts'
import { type OjsContext, route } from '../context.ts'
import { ofJob } from '../jobs/job-problem.ts'
import { timeOf } from '../jobs/time-param.ts'
import { NUMBERED, PAGE, pageAsked } from '../paging.ts'
import { requireChannel } from './channel.ts'
import { CHANNEL, EVENT_FILTERS, endsJob, filterOf } from './event-filter.ts'
import { EventPage, historyOf, MAX_LIMIT, newest, poll, type Source } from './event-pages.ts'
import { START } from './event-place.ts'
import { resumePlace, stream, wantsStream } from './event-stream.ts'

const DEFAULT_LIMIT = 100

const AFTER = {
  after: textOf('Continue behind this event id or cursor.'),
  last_event_id: textOf('Another word for after, for a stream.'),
}

const POLL = {
  ...EVENT_FILTERS,
  ...AFTER,
  cursor: textOf('Another word for after.'),
  limit: wholeOf({ least: 1, most: MAX_LIMIT, fallback: DEFAULT_LIMIT }, 'Of a page.'),
}

const COMMON = {
  tag: 'Events',
  otherQuery: 'ignored',
  headers: [
    {
      name: 'Last-Event-ID',
      description: 'Id of the last event received on a stream that broke off; what came since is sent first.',
    },
  ],
} as const

const PAGE_OR_STREAM = {
  '200': {
    description: 'A page of events; with `Accept: text/event-stream`, events as they happen.',
    schema: EventPage,
  },
}

export const STREAM = {
  '200': { description: 'Events as they happen.', schema: text(), type: 'text/event-stream' },
}

export const EVENT_ROUTES = [
  route(
    'GET /ojs/v1/events',
    {
      ...COMMON,
      summary: 'What has happened, page by page or as a stream',
      does: openFeed,
      query: { channel: CHANNEL, ...POLL, since: timeOf('Of numbered pages: then or later.'), ...NUMBERED },
      answers: PAGE_OR_STREAM,
      errors: ['invalid_request'],
      stream: 'accepted',
    },
    async ({ query, perform, request, reply }, context) => {
      const feed = await perform(openFeed, null)
      const source = { feed, reading: context.reading, filter: filterOf(query, query.channel) }
      if (wantsStream(request)) return streamed(source, context, request, reply)
      const numbered = query.page !== null || query.per_page !== null
      if (numbered) return newest(source, { page: pageAsked(numberedPage(query, request)), since: query.since })
      return poll(source, { after: query.after ?? query.cursor, limit: query.limit, runId: null })
    },
  ),

  route(
    'GET /ojs/v1/events/stream',
    {
      ...COMMON,
      summary: 'Events as they happen',
      description: 'Server-sent events. Nothing is lost to a client that reconnects with Last-Event-ID.',
      does: openFeed,
      query: { channel: CHANNEL, ...EVENT_FILTERS, ...AFTER },
      answers: STREAM,
      errors: ['not_found'],
      stream: 'always',
    },
    async (asked, context) => {
      const { query, perform, request, reply } = asked
      const filter = filterOf(query, query.channel)
      await requireChannel(asked, filter.channel)
      const feed = await perform(openFeed, null)
      return streamed({ feed, reading: context.reading, filter }, context, request, reply)
    },
  ),

  route(
    'GET /ojs/v1/jobs/:id/events',
    {
      ...COMMON,
      summary: 'Events of one job; a stream ends with it',
      does: showRun,
      query: POLL,
      answers: PAGE_OR_STREAM,
      errors: ['not_found'],
      stream: 'accepted',
    },
    async ({ params, query, perform, request, reply }, context) => {
      const feed = await perform(openFeed, null)
      // Before the run is read: what ends it afterwards comes after this place.
      const from = await resumePlace(request, feed)
      const run = await ofJob(params.id, '', perform(showRun, params))
      const source = { feed, reading: context.reading, filter: filterOf(query, `job:${run.id}`) }
      if (!wantsStream(request)) {
        return poll(source, { after: query.after ?? query.cursor, limit: query.limit, runId: run.id })
      }
      const ended = run.status !== 'pending' && run.status !== 'leased'
      const only = ended ? await historyOf(source, run.id, resumes(request) ? from : START) : null
      await stream({ context, request, reply, ...source, from, only, last: endsJob })
      return reply
    },
  ),

  route(
    'GET /ojs/v1/queues/:name/events',
    {
      ...COMMON,
      summary: 'Events of the jobs of one queue',
      does: openFeed,
      query: POLL,
      answers: PAGE_OR_STREAM,
      stream: 'accepted',
    },
    async ({ params: { name }, query, perform, request, reply }, context) => {
      const feed = await perform(openFeed, null)
      const source = { feed, reading: context.reading, filter: filterOf(query, `queue:${name}`) }
      if (wantsStream(request)) return streamed(source, context, request, reply)
      return poll(source, { after: query.after ?? query.cursor, limit: query.limit, runId: null })
    },
  ),
]

async function streamed(
  { feed, filter }: Source,
  context: OjsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const from = await resumePlace(request, feed)
  await stream({ context, request, reply, feed, filter, from })
  return reply
}

/** Shorter than a poll may be, and without its cursor. */
function numberedPage(query: Given<typeof NUMBERED>, request: FastifyRequest): Parameters<typeof pageAsked>[0] {
  return { ...query, limit: PAGE.limit.read(request.query as Query, 'limit'), cursor: null }
}

function resumes(request: FastifyRequest): boolean {
  return request.headers['last-event-id'] !== undefined || (request.query as Query)['after'] !== undefined
}
