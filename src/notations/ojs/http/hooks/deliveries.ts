/** /ojs/v1/webhooks: what was delivered, or is to be delivered, to a subscription. */

import type { DeliveryRow } from '../../../../model/webhooks.ts'
import { listDeliveries, retryDelivery, showDelivery } from '../../../../operations/webhooks/deliveries.ts'
import { parsed } from '../../../../wire/requests/params.ts'
import { flag, list, object, whole, word } from '../../../../wire/schema.ts'
import { route } from '../context.ts'
import { OFFSET_PAGE, pageAsked } from '../paging.ts'
import { DELIVERY_STATES, DeliveryReply, deliveryWire, WebhookDelivery } from './webhook-wire.ts'

export const DELIVERY_ROUTES = [
  route(
    'GET /ojs/v1/webhooks/subscriptions/:id/deliveries',
    {
      tag: 'Webhooks',
      summary: 'List deliveries',
      does: listDeliveries,
      query: {
        state: parsed('Only in this state.', word(DELIVERY_STATES), stateIn, `one of ${DELIVERY_STATES.join(', ')}`),
        ...OFFSET_PAGE,
      },
      answers: {
        '200': {
          description: 'Newest event first.',
          schema: object({
            deliveries: list(WebhookDelivery),
            items: list(WebhookDelivery),
            pagination: object({ limit: whole(), offset: whole(), has_more: flag() }),
          }),
        },
      },
      errors: ['not_found'],
    },
    async ({ params, query, perform }) => {
      const { limit, offset } = pageAsked(query)
      const { rows, more } = await perform(listDeliveries, { ...params, state: query.state, limit, offset })
      const deliveries = rows.map(deliveryWire)
      return { deliveries, items: deliveries, pagination: { limit, offset, has_more: more } }
    },
  ),

  route(
    'GET /ojs/v1/webhooks/deliveries/:id',
    {
      tag: 'Webhooks',
      summary: 'Get a delivery',
      does: showDelivery,
      otherQuery: 'ignored',
      answers: { '200': { description: 'With the event.', schema: DeliveryReply } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => {
      const row = await perform(showDelivery, params)
      const delivery = { ...deliveryWire(row), event: JSON.parse(row.body) as unknown }
      return { ...delivery, delivery }
    },
  ),

  route(
    'POST /ojs/v1/webhooks/deliveries/:id/retry',
    {
      tag: 'Webhooks',
      summary: 'Send a delivery again',
      description: 'A dead or delivered one, under the same id, with all its attempts available again.',
      does: retryDelivery,
      answers: { '200': { description: 'It is pending.', schema: DeliveryReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }, { deliveries }) => {
      const delivery = deliveryWire(await perform(retryDelivery, params))
      deliveries.look()
      return { ...delivery, delivery }
    },
  ),
]

function stateIn(given: string): DeliveryRow['state'] | null {
  return DELIVERY_STATES.find((state) => state === given) ?? null
}
