/** POST /v1/events: an external event starts the definitions that listen to it. */
import { publishEvent } from '../../operations/definitions/events.ts'
import { EventReply, EventRequest, eventAsked, publishedWire } from '../../wire/requests/event.ts'
import { route } from '../context.ts'

export const EVENT_ROUTES = [
  route(
    'POST /v1/events',
    {
      tag: 'Definitions',
      summary: 'Publish an event that workflows wait for',
      does: publishEvent,
      description:
        'Starts the latest version of every definition whose trigger names it and whose condition holds: its idle instances, ' +
        'or else a new one with the payload as input. The same id again starts nothing twice.',
      body: {
        schema: EventRequest,
        example: { type: 'order.placed', payload: { order: 17, amount: 120 }, id: 'evt-9001' },
      },
      answers: {
        '200': { description: 'The instances it started, and the definitions that did not start.', schema: EventReply },
      },
      errors: ['unknown_event'],
    },
    async ({ body, perform }) => publishedWire(await perform(publishEvent, eventAsked(body))),
  ),
]
