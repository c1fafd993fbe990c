/** Workflows, events, and the server itself. */
import type { Operation, Paths } from './operation.ts'
import { EVENT_FILTERS, LAST_EVENT_ID, PAGE } from './parameters.ts'
import { flag, object, ref, text, whole } from './schema.ts'

const STREAM = { description: 'Events as they happen.', schema: text(), type: 'text/event-stream' }

const WORKFLOWS: Paths = {
  '/ojs/v1/workflows': {
    post: {
      tag: 'Workflows',
      summary: 'Start a chain, group or batch',
      body: {
        schema: ref('WorkflowRequest'),
        example: {
          type: 'chain',
          name: 'order',
          steps: [
            { type: 'order.check', args: [17] },
            { type: 'order.ship', args: [17] },
          ],
        },
      },
      answers: { '201': { description: 'It has begun.', schema: ref('WorkflowReply'), headers: ['Location'] } },
      errors: ['invalid_workflow', 'duplicate', 'validation_error'],
    },
    get: {
      tag: 'Workflows',
      summary: 'List workflows',
      query: [
        { name: 'name', description: 'Only of this name.' },
        { name: 'type', description: 'Only chain, group or batch.' },
        { name: 'state', description: 'Only in these states.' },
        ...PAGE,
      ],
      answers: { '200': { description: 'Newest first.', schema: ref('WorkflowList') } },
    },
  },
  '/ojs/v1/workflows/{id}': {
    get: {
      tag: 'Workflows',
      summary: 'Look at a workflow',
      description:
        'With every step, job and callback, nested workflows in full. Of long lists of jobs a part is shown.',
      query: [
        {
          name: 'jobs_limit',
          description: 'Jobs shown of each group or batch.',
          schema: whole(undefined, { minimum: 0 }),
        },
        { name: 'jobs_offset', description: 'Jobs passed over.', schema: whole(undefined, { minimum: 0 }) },
      ],
      answers: { '200': { description: 'The workflow as it stands.', schema: ref('WorkflowReply') } },
      errors: ['not_found'],
    },
    delete: cancelling('Cancel a workflow'),
  },
  '/ojs/v1/workflows/{id}/cancel': { post: cancelling('Cancel a workflow, for clients that cannot send DELETE') },
  '/ojs/v1/workflows/{id}/retry': {
    post: {
      tag: 'Workflows',
      summary: 'Try a failed workflow again',
      description:
        'Starts a new workflow that takes over the results of what had succeeded. The old one stays as it is.',
      answers: { '201': { description: 'The new one.', schema: ref('WorkflowReply'), headers: ['Location'] } },
      errors: ['not_found', 'conflict'],
    },
  },
  '/ojs/v1/workflows/{id}/progress': {
    get: {
      tag: 'Workflows',
      summary: 'How far a workflow has come',
      answers: { '200': { description: 'Counts, without steps and jobs.', schema: { type: 'object' } } },
      errors: ['not_found'],
    },
  },
}

function cancelling(summary: string): Operation {
  return {
    tag: 'Workflows',
    summary,
    description: 'What has not begun never will; active jobs may end and be reported, and nothing follows them.',
    answers: { '200': { description: 'It is cancelled.', schema: ref('WorkflowReply') } },
    errors: ['not_found', 'conflict'],
  }
}

function events(summary: string, more: Partial<Operation> = {}): Operation {
  return {
    tag: 'Events',
    summary,
    query: [
      ...EVENT_FILTERS,
      {
        name: 'limit',
        description: 'Of a page.',
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
  '/ojs/v1/events': { get: events('What has happened, page by page or as a stream') },
  '/ojs/v1/events/stream': {
    get: events('Events as they happen', {
      description: 'Server-sent events. Nothing is lost to a client that reconnects with Last-Event-ID.',
      query: [{ name: 'channel', description: '`all`, `job:ID`, `queue:NAME` or `workflow:ID`.' }, ...EVENT_FILTERS],
      answers: { '200': STREAM },
      errors: ['not_found'],
    }),
  },
  '/ojs/v1/jobs/{id}/events': { get: events('Events of one job; a stream ends with it', { errors: ['not_found'] }) },
  '/ojs/v1/queues/{name}/events': { get: events('Events of the jobs of one queue') },
  '/ojs/v1/ws': {
    get: {
      tag: 'Events',
      summary: 'Events over a WebSocket',
      description:
        'Subprotocol `ojs.v1`. Send `{"action": "subscribe", "channel": "all"}`; hear `{"type": "event", …}`. ' +
        '`unsubscribe` and `resume` (with `last_event_id`) are the other actions.',
      answers: { '101': { description: 'The connection is a WebSocket now.' } },
      errors: ['invalid_request'],
    },
  },
}

const SERVER: Paths = {
  '/ojs/v1/admin/reset': {
    post: {
      tag: 'Server',
      summary: 'Forget everything',
      description: 'For tests: refused unless the server was started with --allow-reset.',
      answers: { '200': { description: 'The store is empty; API keys stay.', schema: object({ reset: flag() }) } },
    },
  },
}

export const SERVER_PATHS: Paths = { ...WORKFLOWS, ...EVENTS, ...SERVER }
