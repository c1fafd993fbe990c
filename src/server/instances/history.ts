/** GET /v1/instances/:id/events: page by page, or as a stream. */
import type { FastifyRequest } from 'fastify'
import { openStream, streamEvents } from '../../http/stream.ts'
import { followInstance, listEvents } from '../../operations/instances/history.ts'
import { eventWire, InstanceEvent } from '../../wire/event.ts'
import { pageSize, placeOf } from '../../wire/requests/params.ts'
import { flag, named, object, whole } from '../../wire/schema.ts'
import { rows, wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'

const AFTER = placeOf('Continue after this seq.')

const InstanceEvents = named(
  'InstanceEvents',
  object({ events: rows(InstanceEvent), next_after: whole('Send it as `after`.'), has_more: flag() }),
)

export const HISTORY_ROUTES = [
  route(
    'GET /v1/instances/:id/events',
    {
      tag: 'Instances',
      summary: 'The history of an instance, page by page or as a stream',
      does: listEvents,
      query: { after: AFTER, limit: pageSize(1000, 100) },
      headers: [
        {
          name: 'Last-Event-ID',
          description: 'Id of the last event received on an interrupted stream; later events are sent first.',
        },
      ],
      answers: { '200': { description: 'Oldest first.', schema: InstanceEvents } },
      errors: ['not_found'],
      stream: 'accepted',
    },
    async ({ params: { id }, query: { after, limit }, perform, request, reply }, { faults, streamSeats, closing }) => {
      if (wantsStream(request)) {
        const followed = await perform(followInstance, { id })
        const from = resumeAt(request, after)
        await streamSeats.taken(request, () =>
          streamEvents({ followed, faults, after: from, reply: openStream(reply, request), closing }),
        )
        return reply
      }
      const { events, workers, next, more } = await perform(listEvents, { id, after, limit })
      return {
        events: wireEach(faults, events, (event) => eventWire(event, workers.get(event.id))),
        next_after: next,
        has_more: more,
      }
    },
  ),
]

function wantsStream(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/event-stream')
}

/** A client that reconnects sends the last id it received in a header, which overrides its original start. */
function resumeAt(request: FastifyRequest, after: number): number {
  const last = request.headers['last-event-id']
  return typeof last === 'string' && last !== '' ? AFTER.read({ after: last }, 'after') : after
}
