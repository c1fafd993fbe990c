/** Workflows, events, and the server itself. */
import type { Operation, Paths } from './operation.ts'
import { EVENT_FILTERS, LAST_EVENT_ID } from './parameters.ts'
import { ref, text, whole } from './schema.ts'

const STREAM = { description: 'Events as they happen.', schema: text(), type: 'text/event-stream' }

function events(summary: string, more: Partial<Operation> = {}): Operation {
  return {
    tag: 'Events',
    summary,
    query: [
      ...EVENT_FILTERS,
      {
        name: 'limit',
        description: 'For a page.',
        schema: whole(undefined, { minimum: 1, maximum: 1000, default: 100 }),
      },
    ],
    headers: [LAST_EVENT_ID],
    answers: {
      '200': {
        description: 'A page of events; with `Accept: text/event-stream`, events as they happen.',
        schema: ref('EventPage'),
      },
    },
    ...more,
  }
}

const EVENTS: Paths = {
  '/ojs/v1/events': { get: events('Past events page by page, or live events as a stream') },
  '/ojs/v1/events/stream': {
    get: events('Live events', {
      description: 'Server-sent events. A client that reconnects with Last-Event-ID loses nothing.',
      query: [{ name: 'channel', description: '`all`, `job:ID`, `queue:NAME` or `workflow:ID`.' }, ...EVENT_FILTERS],
      answers: { '200': STREAM },
      errors: ['not_found'],
    }),
  },
  '/ojs/v1/jobs/{id}/events': { get: events('Events of one job; a stream ends with it', { errors: ['not_found'] }) },
  '/ojs/v1/queues/{name}/events': { get: events('Events of the jobs of one queue') },
  '/ojs/v1/admin/stats/stream': {
    get: {
      tag: 'Administration',
      summary: 'Numbers of the server, and jobs, live',
      answers: { '200': STREAM },
    },
  },
  '/ojs/v1/ws': {
    get: {
      tag: 'Events',
      summary: 'Events over a WebSocket',
      description:
        'Subprotocol `ojs.v1`. Send `{"action": "subscribe", "channel": "all"}`; receive `{"type": "event", …}`. ' +
        '`unsubscribe` and `resume` (with `last_event_id`) are the other actions.',
      answers: { '101': { description: 'The connection is now a WebSocket.' } },
      errors: ['invalid_request'],
    },
  },
}

export const SERVER_PATHS: Paths = EVENTS
