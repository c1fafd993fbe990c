/** Checkpoints, progress and webhooks. */
import type { Operation, Paths } from './operation.ts'
import { PAGE } from './parameters.ts'
import { anything, flag, list, object, ref, text, time, whole, word } from './schema.ts'

const PROGRESS_BODY = {
  progress: { type: 'number', description: 'From 0 to 1; beyond is put to the nearest end.' },
  message: text('What it does at the moment.'),
  data: anything('Whatever the handler likes to tell.'),
  worker_id: text('Must hold the job, if given.'),
}

const SUBSCRIPTION = {
  url: text('https, to a public address, unless the server allows others.'),
  events: list(text(), 'Types of events; `job.*` and `*` stand for many.'),
  filter: object({ queues: list(text()), job_types: list(text()) }),
  active: flag('false: nothing is sent, and what happens meanwhile is not kept.'),
  ordered: flag('One at a time; one that fails holds up those behind it.'),
  timeout_ms: whole(undefined, { minimum: 1000, maximum: 60_000, default: 30_000 }),
  max_attempts: whole('Then a delivery is dead.', { minimum: 1, maximum: 20, default: 8 }),
  metadata: object({}, { description: 'For people.' }),
}

const WEBHOOK_ANSWER = { '200': { description: 'The subscription.', schema: ref('WebhookReply') } }

const webhook = (summary: string, more: Partial<Operation> = {}): Operation => ({
  tag: 'Webhooks',
  summary,
  scope: 'admin',
  answers: WEBHOOK_ANSWER,
  errors: ['not_found'],
  ...more,
})

export const EXTENSION_PATHS: Paths = {
  '/ojs/v1/jobs/{id}/progress': {
    put: {
      tag: 'Checkpoints',
      summary: 'Report progress',
      description:
        'With `progress`, `data` or both. Renews the lease of the job. A report of a job that is not active, or that is lower than the one before, changes nothing: `accepted` is false.',
      scope: 'work',
      body: { schema: object(PROGRESS_BODY), example: { progress: 0.5, message: 'half' } },
      answers: { '200': { description: 'As kept.', schema: ref('Progress') } },
      errors: ['not_found'],
    },
    get: {
      tag: 'Checkpoints',
      summary: 'Read the progress of a job',
      answers: {
        '200': { description: 'The last report; `reported` says whether there was one.', schema: ref('Progress') },
      },
      errors: ['not_found'],
    },
  },
  '/ojs/v1/jobs/{id}/progress/stream': {
    get: {
      tag: 'Checkpoints',
      summary: 'Follow the progress of a job',
      description: 'The present state at once, each later one as a message without a type; it ends with the job.',
      answers: {
        '200': { description: 'Server-sent events.', schema: ref('Progress'), type: 'text/event-stream' },
      },
      errors: ['not_found'],
    },
  },
  '/ojs/v1/workers/progress': {
    post: {
      tag: 'Workers',
      summary: 'Report progress in percent',
      body: {
        schema: object(
          { job_id: text(), percentage: { type: 'number', description: 'From 0 to 100.' }, ...PROGRESS_BODY },
          { required: ['job_id'] },
        ),
      },
      answers: { '200': { description: 'As kept.', schema: ref('Progress') } },
      errors: ['not_found'],
    },
  },
  '/ojs/v1/jobs/{id}/result': {
    get: {
      tag: 'Jobs',
      summary: 'Read what a job came to',
      answers: {
        '200': {
          description: 'Its result or error, if it has ended.',
          schema: object({ job_id: text(), state: text(), result: anything('Its result.'), error: object({}) }),
        },
      },
      errors: ['not_found'],
    },
  },
  '/ojs/v1/webhooks/subscriptions': {
    post: webhook('Subscribe to events', {
      description:
        'From now on. Each event is sent at least once, as POST with `X-OJS-Signature: sha256=…` (HMAC-SHA256 with the ' +
        'secret over `timestamp.body`, the timestamp from X-OJS-Timestamp) and a stable X-OJS-Delivery-ID. The secret is ' +
        'shown in this answer only.',
      body: {
        schema: object(
          { ...SUBSCRIPTION, secret: text('8 to 256 characters; made if left out.') },
          { required: ['url', 'events'] },
        ),
        example: { url: 'https://example.com/hooks', events: ['job.completed', 'job.discarded'] },
      },
      answers: { '201': { description: 'Subscribed.', schema: ref('WebhookReply'), headers: ['Location'] } },
      errors: [],
    }),
    get: webhook('List subscriptions', {
      query: PAGE,
      answers: {
        '200': {
          description: 'Oldest first, without secrets.',
          schema: object({ subscriptions: list(ref('Webhook')), pagination: ref('Pagination') }),
        },
      },
      errors: [],
    }),
  },
  '/ojs/v1/webhooks/subscriptions/{id}': {
    get: webhook('Look at a subscription'),
    patch: webhook('Change a subscription', {
      description: 'Made active again, it hears of what happens from then on.',
      body: { schema: object(SUBSCRIPTION), example: { active: false } },
    }),
    put: webhook('Change a subscription (admin page)', { body: { schema: object(SUBSCRIPTION) } }),
    delete: webhook('Delete a subscription', {
      description: 'Its deliveries go with it, also those on their way.',
      answers: { '200': { description: 'It is gone.', schema: object({ deleted: flag(), id: text() }) } },
    }),
  },
  '/ojs/v1/webhooks/subscriptions/{id}/rotate-secret': {
    post: webhook('Change the secret', {
      description: 'For the time of grace, deliveries carry a signature with each of the two, parted by a comma.',
      body: {
        optional: true,
        schema: object({
          secret: text('Made if left out.'),
          grace_seconds: whole(undefined, { minimum: 0, maximum: 604_800, default: 86_400 }),
        }),
      },
    }),
  },
  '/ojs/v1/webhooks/subscriptions/{id}/test': {
    post: webhook('Send a test event now', {
      description: 'Of type `webhook.test`. Not kept, and not tried again.',
      answers: {
        '200': {
          description: 'What came of it.',
          schema: object({
            success: flag(),
            status_code: whole(),
            error: text(),
            response_time_ms: whole(),
          }),
        },
      },
    }),
  },
  '/ojs/v1/webhooks/subscriptions/{id}/deliveries': {
    get: webhook('List deliveries', {
      query: [
        {
          name: 'state',
          description: 'Only in this state.',
          schema: word(['pending', 'delivered', 'dead']),
        },
        ...PAGE.filter(({ name }) => name !== 'cursor'),
      ],
      answers: {
        '200': { description: 'Newest event first.', schema: object({ deliveries: list(ref('WebhookDelivery')) }) },
      },
    }),
  },
  '/ojs/v1/webhooks/deliveries/{id}': {
    get: webhook('Look at a delivery', {
      answers: { '200': { description: 'With the event.', schema: ref('WebhookDelivery') } },
    }),
  },
  '/ojs/v1/webhooks/deliveries/{id}/retry': {
    post: webhook('Send a delivery once more', {
      description: 'A dead or delivered one, under the same id, with all its attempts before it again.',
      answers: { '200': { description: 'It is pending.', schema: ref('WebhookDelivery') } },
      errors: ['not_found', 'conflict'],
    }),
  },
}

export const EXTENSION_SCHEMAS = {
  Progress: object({
    job_id: text(),
    state: text(),
    progress: { type: ['number', 'null'], minimum: 0, maximum: 1, description: '1 as soon as the job has completed.' },
    percentage: { type: 'number' },
    message: text(),
    data: anything("The handler's own; null: none."),
    reported: { type: 'boolean', description: 'false: nothing was reported in this execution.' },
    accepted: { type: 'boolean', description: 'In the reply to a report: whether it counted.' },
    updated_at: time(),
  }),
  Webhook: object({
    id: text(),
    ...SUBSCRIPTION,
    failure_count: whole('Failed attempts since the last success.'),
    last_delivery_at: time(),
    last_delivery_status: whole(),
    created_at: time(),
    updated_at: time(),
  }),
  WebhookReply: object({ subscription: ref('Webhook') }, { description: 'Its fields are at the top as well.' }),
  WebhookDelivery: object({
    id: text('The same for every attempt: receivers know by it what they have seen.'),
    subscription_id: text(),
    event_id: text(),
    event_type: text(),
    state: word(['pending', 'delivered', 'dead']),
    attempts: whole(),
    next_attempt_at: time(),
    status_code: whole('Of the last answer.'),
    error: text(),
    response_time_ms: whole(),
    created_at: time(),
    event: object({}),
  }),
}
