/** /v1/instances. */
import type { Operation, Paths } from './operation.ts'
import { LAST_EVENT_ID } from './parameters.ts'
import { anything, object, ref, text, whole } from './schema.ts'

const PAGE_LIMIT = {
  name: 'limit',
  description: 'On a page.',
  schema: whole(undefined, { minimum: 1, maximum: 200, default: 50 }),
}

function changing(summary: string, more: Partial<Operation> = {}): Operation {
  return {
    tag: 'Instances',
    summary,
    answers: { '200': { description: 'As it is now.', schema: ref('InstanceReply') } },
    errors: ['not_found', 'conflict'],
    ...more,
  }
}

export const INSTANCE_PATHS: Paths = {
  '/v1/instances': {
    post: {
      tag: 'Instances',
      summary: 'Start a deployed definition',
      description:
        'Written when this is answered. Its initiator is the subject of the key. A start key that is taken answers with the ' +
        'instance that has it, and 200.',
      body: {
        schema: ref('StartRequest'),
        example: { workflow: 'order', input: { order: 17 }, start_key: 'order:17' },
      },
      answers: {
        '201': { description: 'It has begun, or waits.', schema: ref('StartReply'), headers: ['Location'] },
        '200': { description: 'The key was taken.', schema: ref('StartReply'), headers: ['Location'] },
      },
      errors: ['not_found', 'conflict'],
    },
    get: {
      tag: 'Instances',
      summary: 'List instances of all notations',
      description: 'A filter that few instances match reads on until the page is full.',
      query: [
        { name: 'state', description: 'Only in these states: `running,waiting`.' },
        { name: 'name', description: 'Only of this name.' },
        { name: 'dialect', description: 'Only of this notation.' },
        { name: 'start_key', description: 'The one with this start key.' },
        { name: 'retry_of', description: 'Only retries of this instance.' },
        { name: 'created_after', description: 'Created then or later: RFC 3339 with a time zone.' },
        { name: 'created_before', description: 'Created earlier than this.' },
        { name: 'all', description: 'true: nested ones too.' },
        PAGE_LIMIT,
        { name: 'before', description: '`next_before` of the page before.' },
      ],
      answers: { '200': { description: 'Newest first.', schema: ref('InstanceList') } },
      errors: ['invalid_request'],
    },
  },
  '/v1/instances/{id}': {
    get: {
      tag: 'Instances',
      summary: 'Look at an instance',
      answers: {
        '200': {
          description: 'With its runs, gates, children, input, context and results.',
          schema: ref('InstanceView'),
        },
      },
      errors: ['not_found'],
    },
  },
  '/v1/instances/{id}/events': {
    get: {
      tag: 'Instances',
      summary: 'The history of an instance, page by page or as a stream',
      query: [
        { name: 'after', description: 'Go on behind this seq.', schema: whole(undefined, { minimum: 0 }) },
        {
          name: 'limit',
          description: 'On a page.',
          schema: whole(undefined, { minimum: 1, maximum: 1000, default: 100 }),
        },
      ],
      headers: [LAST_EVENT_ID],
      answers: { '200': { description: 'Oldest first.', schema: ref('InstanceEvents') } },
      errors: ['not_found'],
    },
  },
  '/v1/instances/{id}/net': {
    get: {
      tag: 'Instances',
      summary: 'The net an instance executes',
      answers: { '200': { description: 'As it was compiled.', schema: ref('NetReply') } },
      errors: ['not_found'],
    },
  },
  '/v1/instances/{id}/start': {
    post: changing('Start an idle instance', {
      description:
        'It begins at once, or waits (`queued`) until its workflow has a free slot. Its deadline runs from now.',
    }),
  },
  '/v1/instances/{id}/cancel': {
    post: changing('Cancel an instance', {
      description:
        'What has not begun never will; what is being worked on may end and is recorded. An instance that is undoing its ' +
        'work is not cancelled: it is never left half undone.',
    }),
  },
  '/v1/instances/{id}/retry': {
    post: changing('Try an instance again', {
      description:
        'Starts a new instance that takes over the results of what had succeeded and begins at what had not. The old one ' +
        'stays as it is.',
      body: {
        schema: object({
          input: anything('Instead of the input of the old one. Left out: the same.'),
          start_key: text('Sent again under the same key, it is answered with the same retry.'),
        }),
        optional: true,
        example: { input: { order: 17, address: 'Bahnhofstrasse 1' } },
      },
      answers: {
        '200': { description: 'The key had started it before.', schema: ref('RetryReply'), headers: ['Location'] },
        '201': { description: 'The new one.', schema: ref('RetryReply'), headers: ['Location'] },
      },
    }),
  },
  '/v1/instances/{id}/context': {
    patch: changing('Write into the context of an instance', {
      description: 'Steps that were held back are looked at again. What is not named stays; null removes a name.',
      body: {
        schema: object({ set: { type: 'object', description: 'Values by name.' } }, { required: ['set'] }),
        example: { set: { approved: true } },
      },
      answers: { '200': { description: 'The whole context.', schema: ref('ContextReply') } },
    }),
  },
}
