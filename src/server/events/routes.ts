/** POST /v1/events: something happened outside; whatever waits for it starts. */

import type { FastifyInstance } from 'fastify'
import { type Body, bodyObject } from '../../http/body.ts'
import { actorOf } from '../../http/caller.ts'
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../kernel/limits.ts'
import type { Json } from '../../net/net.ts'
import type { Events, Published } from '../../operations/definitions/events.ts'
import type { Wire } from '../../wire/value.ts'
import { needName, readBody, readLine } from '../body-fields.ts'

export function eventRoutes(app: FastifyInstance, events: Events): void {
  app.post('/v1/events', async (request) => {
    const asked = readEvent(bodyObject(request, { empty: 'refused' }))
    const { caller } = request
    return publishedWire(await events.publish({ ...asked, tenant: caller.tenant, actor: actorOf(caller) }))
  })
}

export interface EventAsked {
  readonly type: string
  readonly payload: Json
  readonly id: string | null
}

export function readEvent(body: Body): EventAsked {
  return readBody(body, ['type', 'payload', 'id'], 'an event', (part) => ({
    type: needName(part.get('type'), 'type', 'what happened, such as order.placed'),
    payload: (part.get('payload').value ?? {}) as Json,
    id: readLine(part.get('id'), 'id', MAX_IDEMPOTENCY_KEY_LENGTH),
  }))
}

export function publishedWire({ id, started, passed }: Published): Wire {
  return {
    id,
    started: started.map(({ name, version, instanceId, created }) => ({
      name,
      version,
      instance_id: instanceId,
      created,
    })),
    passed,
  }
}
