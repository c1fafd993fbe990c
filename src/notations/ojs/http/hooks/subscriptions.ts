/**
 * /ojs/v1/webhooks/subscriptions: subscribe, list, look, change, remove, rotate the secret, try out.
 * ../../webhooks/dispatcher.ts makes the deliveries.
 */
import { newId } from '../../../../kernel/ids.ts'
import type { WebhookRow } from '../../../../model/webhooks.ts'
import {
  changeSubscription,
  listSubscriptions,
  rotateSecret,
  showSubscription,
  subscribe,
  unsubscribe,
} from '../../../../operations/webhooks/subscriptions.ts'
import { asked, flag, list, object, optional, text, type Value, whole } from '../../../../wire/schema.ts'
import { timeText } from '../../project/time.ts'
import { route } from '../context.ts'
import { PAGE, Pagination, pageAsked, pageByName } from '../paging.ts'
import { ChangeRequest, SECRET, SubscribeRequest, settingsOf } from './settings.ts'
import { Webhook, WebhookReply, webhookWire } from './webhook-wire.ts'

const BASE = '/ojs/v1/webhooks/subscriptions'
const GRACE_SECONDS = 24 * 60 * 60
const LONGEST_GRACE_SECONDS = 7 * 24 * 60 * 60

const THE_SUBSCRIPTION = { '200': { description: 'The subscription.', schema: WebhookReply } }

const RotateRequest = asked('a change of the secret', {
  secret: optional(SECRET),
  grace_seconds: optional(
    whole({
      description: 'How long the old secret is valid.',
      minimum: 0,
      maximum: LONGEST_GRACE_SECONDS,
      default: GRACE_SECONDS,
    }),
  ),
})

const CHANGING = {
  tag: 'Webhooks',
  does: changeSubscription,
  description: 'Once active again, it receives events from then on.',
  body: { schema: ChangeRequest, example: { active: false } },
  answers: THE_SUBSCRIPTION,
  errors: ['not_found'],
} as const

export const SUBSCRIPTION_ROUTES = [
  route(
    `POST ${BASE}`,
    {
      tag: 'Webhooks',
      summary: 'Subscribe to events',
      description:
        'From now on. Each event is sent at least once, as POST with `X-OJS-Signature: sha256=…` (HMAC-SHA256 with the ' +
        'secret over `timestamp.body`, the timestamp from X-OJS-Timestamp) and a stable X-OJS-Delivery-ID. The secret is ' +
        'shown in this answer only.',
      does: subscribe,
      body: {
        schema: SubscribeRequest,
        example: { url: 'https://example.com/hooks', events: ['job.completed', 'job.discarded'] },
      },
      answers: { '201': { description: 'Subscribed.', schema: WebhookReply, headers: ['Location'] } },
      errors: ['conflict'],
    },
    async ({ body, perform, reply }, { deliveries, options }) => {
      const settings = settingsOf(body, { allowPrivate: options.allowPrivateWebhooks })
      const { url, events, secret = null } = body
      const row = await perform(subscribe, { url, events, ...settings, secret })
      deliveries.look()
      reply.code(201).header('location', `${BASE}/${row.id}`)
      const subscription = { ...webhookWire(row), secret: row.secret }
      return { ...subscription, subscription }
    },
  ),

  route(
    `GET ${BASE}`,
    {
      tag: 'Webhooks',
      summary: 'List subscriptions',
      does: listSubscriptions,
      query: PAGE,
      answers: {
        '200': {
          description: 'Oldest first, without secrets.',
          schema: object({ subscriptions: list(Webhook), items: list(Webhook), pagination: Pagination }),
        },
      },
    },
    async ({ query, perform }) => {
      const all = await perform(listSubscriptions, null)
      const { shown, pagination } = pageByName(all, pageAsked(query), ({ id }) => id)
      const subscriptions = shown.map(webhookWire)
      return { subscriptions, items: subscriptions, pagination }
    },
  ),

  route(
    `GET ${BASE}/:id`,
    {
      tag: 'Webhooks',
      summary: 'Get a subscription',
      does: showSubscription,
      otherQuery: 'ignored',
      answers: THE_SUBSCRIPTION,
      errors: ['not_found'],
    },
    async ({ params, perform }) => replyWire(await perform(showSubscription, params)),
  ),

  ...(
    [
      ['PATCH', 'Change a subscription'],
      ['PUT', 'Change a subscription (admin page)'],
    ] as const
  ).map(([method, summary]) =>
    route(
      `${method} ${BASE}/:id`,
      { ...CHANGING, summary },
      async ({ params, body, perform }, { deliveries, options }) => {
        const set = settingsOf(body, { allowPrivate: options.allowPrivateWebhooks })
        const row = await perform(changeSubscription, { ...params, set })
        deliveries.look()
        return replyWire(row)
      },
    ),
  ),

  route(
    `DELETE ${BASE}/:id`,
    {
      tag: 'Webhooks',
      summary: 'Delete a subscription',
      description: 'Its deliveries are deleted with it, including pending ones.',
      does: unsubscribe,
      answers: { '200': { description: 'It is deleted.', schema: object({ deleted: flag(), id: text() }) } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ deleted: true, ...(await perform(unsubscribe, params)) }),
  ),

  route(
    `POST ${BASE}/:id/rotate-secret`,
    {
      tag: 'Webhooks',
      summary: 'Change the secret',
      description:
        'During the grace period, deliveries carry one signature with each of the two, separated by a comma.',
      does: rotateSecret,
      body: { schema: RotateRequest, optional: true },
      answers: THE_SUBSCRIPTION,
      errors: ['not_found'],
    },
    async ({ params, body: { secret, grace_seconds: grace }, perform }) => {
      const graceMs = (grace ?? GRACE_SECONDS) * 1000
      const { row, oldUntil } = await perform(rotateSecret, { ...params, secret: secret ?? null, graceMs })
      return { ...replyWire(row), secret: row.secret, old_secret_valid_until: timeText(oldUntil) }
    },
  ),

  route(
    `POST ${BASE}/:id/test`,
    {
      tag: 'Webhooks',
      summary: 'Send a test event now',
      description: 'Of type `webhook.test`. Not stored, and not retried.',
      does: showSubscription,
      answers: {
        '200': {
          description: 'The result.',
          schema: object({
            success: flag(),
            status_code: optional(whole()),
            error: optional(text()),
            response_time_ms: whole(),
          }),
        },
      },
      errors: ['not_found'],
    },
    async ({ params, perform }, { deliveries }) => {
      const row = await perform(showSubscription, params)
      const { status, error, ms } = await deliveries.tryOut(row, testEvent(row))
      return {
        success: status !== null && status >= 200 && status < 300,
        ...(status === null ? {} : { status_code: status }),
        ...(error === null ? {} : { error }),
        response_time_ms: ms,
      }
    },
  ),
]

function testEvent(row: WebhookRow): { readonly id: string; readonly type: string; readonly body: string } {
  const wire = {
    specversion: '1.0',
    id: `evt_${newId()}`,
    type: 'webhook.test',
    source: 'ojs://petrel/webhooks/test',
    time: timeText(Date.now()),
    subject: row.id,
    data: { subscription_id: row.id },
  }
  return { id: `del_${newId()}`, type: wire.type, body: JSON.stringify(wire) }
}

function replyWire(row: WebhookRow): Value<typeof WebhookReply> {
  const subscription = webhookWire(row)
  return { ...subscription, subscription }
}
