/** The inbox: /v1/runs, /v1/registry, /v1/schedules. */
import type { Operation, Paths } from './operation.ts'
import { object, ref, type Schema, text, whole, word } from './schema.ts'

const run = (
  tag: string,
  summary: string,
  answer: { readonly description: string; readonly schema: Schema },
  more: Partial<Operation> = {},
): Operation => ({ tag, summary, answers: { '200': answer }, errors: ['not_found', 'conflict'], ...more })

const AS_IT_IS = { description: 'As it is now.', schema: ref('InboxRunReply') }

const RUNS: Paths = {
  '/v1/runs': {
    post: {
      tag: 'Inbox',
      summary: 'Submit a run',
      description: 'Written when this is answered. A key that is taken answers with the run that has it, and 200.',
      body: {
        schema: ref('SubmitRequest'),
        example: { type: 'billing.invoice.v1', payload: { order: 7 }, idempotency_key: 'invoice:7' },
      },
      answers: {
        '201': { description: 'It is written.', schema: ref('SubmitReply'), headers: ['Location'] },
        '200': { description: 'The key was taken.', schema: ref('SubmitReply') },
      },
      errors: ['QUEUE_FULL'],
    },
    get: {
      tag: 'Inbox',
      summary: 'List runs of the inbox',
      description:
        'Those submitted here, by a client of the table or by plain SQL. Jobs and steps are listed elsewhere.',
      query: [
        { name: 'type', description: 'Only of this type, or with this prefix: `billing.%`.' },
        { name: 'status', description: 'Only in these: `pending,leased`.' },
        { name: 'idempotency_key', description: 'The one with this key.' },
        { name: 'queue', description: 'Only of this queue.' },
        { name: 'deleted', description: 'true: only deleted ones.', schema: word(['false', 'true', 'all']) },
        {
          name: 'limit',
          description: 'On a page.',
          schema: whole(undefined, { minimum: 1, maximum: 200, default: 50 }),
        },
        { name: 'before', description: '`next_before` of the page before.' },
      ],
      answers: { '200': { description: 'Newest first.', schema: ref('InboxRunList') } },
      errors: ['invalid_request'],
    },
  },
  '/v1/runs/{id}': {
    get: run('Inbox', 'Look at a run', AS_IT_IS, {
      description: 'Any run: of the inbox, a job, a step of a workflow.',
      errors: ['not_found'],
    }),
    delete: run('Inbox', 'Delete a run', AS_IT_IS, {
      description:
        'It stays in the table, marked: nobody takes it any more, lists leave it out, its key stays taken. A step of a ' +
        'workflow is cancelled. What a worker holds is cancelled first, then deleted.',
    }),
  },
  '/v1/runs/{id}/events': {
    get: run(
      'Inbox',
      'The history of a run',
      { description: 'Oldest first. Data beyond 1 MiB in all is left out.', schema: ref('RunEvents') },
      {
        query: [
          {
            name: 'after',
            description: 'How many to pass over.',
            schema: whole(undefined, { minimum: 0, default: 0 }),
          },
          {
            name: 'limit',
            description: 'At most so many.',
            schema: whole(undefined, { minimum: 1, maximum: 10_000, default: 10_000 }),
          },
        ],
        errors: ['not_found'],
      },
    ),
  },
  '/v1/runs/{id}/cancel': {
    post: run('Inbox', 'Cancel a run', AS_IT_IS, {
      description: 'At once, also while a worker holds it: its next heartbeat or report is answered with 409.',
    }),
  },
}

const REPORTS =
  'Needs the worker_id and epoch it was claimed with; under others 409, with its status, and nothing is changed. Sent ' +
  'again after its answer was lost, it is answered as it was.'

const WORK: Paths = {
  '/v1/runs/claim': {
    post: {
      tag: 'Inbox',
      summary: 'Claim runs',
      description:
        'By priority, then age. Paused queues, limits, the registry and the tenant of the key are minded. Arguments that a ' +
        'workflow keeps aside (`{ "$ref": "x:7" }` in the table) come whole. Fewer than `limit` if more would be beyond 8 MiB.',
      body: {
        schema: ref('ClaimRequest'),
        example: { worker_id: 'billing-1', types: ['billing.%'], lease_seconds: 30, wait_seconds: 20 },
      },
      answers: { '200': { description: 'Leased to the worker; none: nothing is due.', schema: ref('ClaimReply') } },
    },
  },
  '/v1/runs/claim/stop': {
    post: {
      tag: 'Inbox',
      summary: 'End the waiting claims of a worker',
      description:
        'For a worker that goes down: its claims that wait on this server are answered at once, with nothing. Hanging up ' +
        'instead may lose a run that is just being answered until its lease ends.',
      body: { schema: object({ worker_id: text() }, { required: ['worker_id'] }) },
      answers: {
        '200': { description: 'How many there were.', schema: object({ stopped: whole() }, { required: ['stopped'] }) },
      },
    },
  },
  '/v1/runs/{id}/heartbeat': {
    post: run(
      'Inbox',
      'Renew a lease',
      { description: 'It lasts from now on for lease_seconds.', schema: ref('LeaseHeartbeatReply') },
      { body: { schema: ref('LeaseHeartbeat') } },
    ),
  },
  '/v1/runs/{id}/complete': {
    post: run('Inbox', 'Report a success', AS_IT_IS, {
      description: REPORTS,
      body: { schema: ref('CompleteRequest') },
    }),
  },
  '/v1/runs/{id}/fail': {
    post: run(
      'Inbox',
      'Report a failure',
      { description: 'Failed, or to be tried again.', schema: ref('FailReply') },
      { description: REPORTS, body: { schema: ref('FailRequest') } },
    ),
  },
  '/v1/runs/{id}/later': {
    post: run('Inbox', 'Go on with a run at another time', AS_IT_IS, {
      description:
        'Claimable again after delay_seconds, on the same attempt: nothing counts as failed, and what it holds under limits ' +
        `is free meanwhile. In a workflow that is ending it is cancelled. ${REPORTS}`,
      body: { schema: ref('LaterRequest') },
    }),
  },
  '/v1/runs/{id}/release': {
    post: run('Inbox', 'Give a run back', AS_IT_IS, {
      description: `Claimable again at once; no attempt is spent. ${REPORTS}`,
      body: { schema: ref('ReleaseRequest') },
    }),
  },
}

const ENTRY = { description: 'As it is now.', schema: ref('RegistryReply') }

const REGISTRY: Paths = {
  '/v1/registry': {
    get: run('Registry', 'List which runtime executes which type', {
      description: 'By name. What is not listed is open to all.',
      schema: ref('RegistryList'),
    }),
  },
  '/v1/registry/{name}': {
    get: run('Registry', 'Look at an entry', ENTRY, { errors: ['not_found'] }),
    put: run('Registry', 'Say which runtime executes a type, and whether it is enabled', ENTRY, {
      body: { schema: ref('RegistryRequest'), example: { runtime: 'python', is_enabled: true } },
      errors: [],
    }),
    delete: run('Registry', 'Open a type to all', ENTRY, { errors: ['not_found'] }),
  },
}

const SCHEDULE = { description: 'As it is now.', schema: ref('InboxScheduleReply') }

const SCHEDULES: Paths = {
  '/v1/schedules': {
    post: {
      tag: 'Schedules',
      summary: 'Submit a run again and again, by the clock',
      description: 'A row of workflow_schedule. What was missed while nobody ran fires once.',
      body: {
        schema: ref('InboxScheduleRequest'),
        example: { type: 'report.daily.v1', schedule: '0 6 * * *', timezone: 'Europe/Zurich' },
      },
      answers: { '201': { description: 'It is written.', schema: ref('InboxScheduleReply'), headers: ['Location'] } },
    },
    get: run('Schedules', 'List schedules', { description: 'Oldest first.', schema: ref('InboxScheduleList') }),
  },
  '/v1/schedules/{id}': {
    get: run('Schedules', 'Look at a schedule', SCHEDULE, { errors: ['not_found'] }),
    delete: run('Schedules', 'Remove a schedule', SCHEDULE, {
      description: 'The runs it has made stay.',
      errors: ['not_found'],
    }),
  },
  '/v1/schedules/{id}/pause': { post: run('Schedules', 'Pause a schedule', SCHEDULE, { errors: ['not_found'] }) },
  '/v1/schedules/{id}/resume': {
    post: run('Schedules', 'Resume a schedule', SCHEDULE, {
      description: 'It fires next when it would have; what it missed while paused it does not make up for.',
      errors: ['not_found'],
    }),
  },
}

export const INBOX_PATHS: Paths = { ...RUNS, ...WORK, ...REGISTRY, ...SCHEDULES }
