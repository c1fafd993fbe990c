/** An external event, as a request body, and its answer. */
import type { Json } from '../../net/net.ts'
import { type Body, checked } from '../mistaken.ts'
import { anything, asked, flag, list, named, nullable, object, optional, text, uuid, type Value } from '../schema.ts'
import { key, name } from './fields.ts'

export const EventRequest = named(
  'EventRequest',
  asked('an event', {
    type: name({ description: 'What happened.', hint: 'the name of the event, such as order.placed' }),
    payload: optional(anything('Default: {}.')),
    id: optional(key('Its unique id, so that sending it twice starts nothing twice. Default: a new one.')),
  }),
)

export const EventReply = named(
  'EventReply',
  object({
    id: text(),
    started: list(
      object({
        name: text(),
        version: text(),
        instance_id: uuid(),
        created: flag('false: it had already been started.'),
      }),
    ),
    passed: list(object({ name: text(), condition: nullable(text()), why: text('Why it did not start.') })),
  }),
)

export interface EventAsked {
  readonly type: string
  readonly payload: Json
  readonly id: string | null
}

/** For a body that has not been checked. */
export function readEvent(body: Body): EventAsked {
  return eventAsked(checked(EventRequest, body))
}

export function eventAsked({ type, payload, id }: Value<typeof EventRequest>): EventAsked {
  return { type, payload: (payload ?? {}) as Json, id: id ?? null }
}

interface Published {
  readonly id: string
  readonly started: readonly {
    readonly name: string
    readonly version: string
    readonly instanceId: string
    readonly created: boolean
  }[]
  readonly passed: readonly { readonly name: string; readonly condition: string | null; readonly why: string }[]
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
