/** POST /v1/events: something happened outside; whatever waits for it starts. */

import type { Json } from '../../net/net.ts'
import { actorOf } from '../../operations/caller.ts'
import type { Published } from '../../operations/definitions/events.ts'
import { type Body, checked } from '../../wire/mistaken.ts'
import { key, name } from '../../wire/requests/fields.ts'
import {
  anything,
  asked,
  flag,
  list,
  named,
  nullable,
  object,
  optional,
  text,
  uuid,
  type Value,
} from '../../wire/schema.ts'
import { route } from '../context.ts'

const EventRequest = named(
  'EventRequest',
  asked('an event', {
    type: name({ description: 'What happened.', hint: 'what happened, such as order.placed' }),
    payload: optional(anything('Default: {}.')),
    id: optional(key('Its own id, so that telling it twice starts nothing twice. Default: a new one.')),
  }),
)

const EventReply = named(
  'EventReply',
  object({
    id: text(),
    started: list(
      object({ name: text(), version: text(), instance_id: uuid(), created: flag('false: it had been started.') }),
    ),
    passed: list(object({ name: text(), condition: nullable(text()), why: text('Why it did not start.') })),
  }),
)

export const EVENT_ROUTES = [
  route(
    'POST /v1/events',
    {
      tag: 'Definitions',
      summary: 'Tell an event that workflows wait for',
      description:
        'Starts the latest version of every definition whose trigger names it and whose condition holds: its idle instances, ' +
        'or else a new one with the payload as input. The same id again starts nothing twice.',
      body: {
        schema: EventRequest,
        example: { type: 'order.placed', payload: { order: 17, amount: 120 }, id: 'evt-9001' },
      },
      answers: { '200': { description: 'What it started, and what it did not.', schema: EventReply } },
      errors: ['unknown_event'],
    },
    async ({ body, caller }, { events }) =>
      publishedWire(await events.publish({ ...eventAsked(body), tenant: caller.tenant, actor: actorOf(caller) })),
  ),
]

export interface EventAsked {
  readonly type: string
  readonly payload: Json
  readonly id: string | null
}

/** Of a body that has not been checked. */
export function readEvent(body: Body): EventAsked {
  return eventAsked(checked(EventRequest, body))
}

function eventAsked({ type, payload, id }: Value<typeof EventRequest>): EventAsked {
  return { type, payload: (payload ?? {}) as Json, id: id ?? null }
}

export function publishedWire({ id, started, passed }: Published): Value<typeof EventReply> {
  return {
    id,
    started: started.map(({ instanceId, ...one }) => ({
      name: one.name,
      version: one.version,
      instance_id: instanceId,
      created: one.created,
    })),
    passed,
  }
}
