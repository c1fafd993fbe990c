/** GET /v1/changes: what changes, for live pages. */
import type { FastifyRequest } from 'fastify'
import { openStream, streamPortions } from '../../http/stream.ts'
import { followChanges } from '../../operations/events/follow-changes.ts'
import { wholeOrNone } from '../../wire/requests/params.ts'
import { text } from '../../wire/schema.ts'
import { route } from '../context.ts'

const AFTER = wholeOrNone({ least: 0, most: Number.MAX_SAFE_INTEGER }, { description: 'Continue after this position.' })

export const CHANGES_ROUTES = [
  route(
    'GET /v1/changes',
    {
      tag: 'Server',
      summary: 'What changes, as a stream',
      description:
        'Server-sent events `change`, at most four a second, with `{ seq, instances: [[id, state], …], more, areas }`: the newest ' +
        'state of at most 200 instances that changed, and the areas that did: runs, queues, gates, errors, operations, pauses, ' +
        'schedules, workers, definitions, registry. `more`: further ones may have changed. The id of an event is a position, from ' +
        'which `Last-Event-ID` continues; from one that is older than about a minute, everything may have changed.',
      does: followChanges,
      query: { after: AFTER },
      headers: [{ name: 'Last-Event-ID', description: 'Id of the last event received on an interrupted stream.' }],
      answers: { '200': { description: 'Until the client closes it.', schema: text(), type: 'text/event-stream' } },
      errors: ['invalid_request'],
      stream: 'always',
    },
    async ({ query, perform, request, reply }, { streamSeats, closing }) => {
      const after = resumeAt(request, query.after)
      const changes = await perform(followChanges, null)
      await streamSeats.taken(request, () =>
        streamPortions({
          reply: openStream(reply, request),
          closing,
          after: after ?? START,
          read: async (at) => {
            const { change, place } = await changes.since(at === START ? null : at)
            const events = change === null ? [] : [{ id: place, type: 'change', text: JSON.stringify(change) }]
            return { events, next: place, more: false, end: null }
          },
          moved: (at, signal) => changes.moved(at, signal),
        }),
      )
      return reply
    },
  ),
]

/** Before every position: from now on. */
const START = -1

function resumeAt(request: FastifyRequest, after: number | null): number | null {
  const last = request.headers['last-event-id']
  return typeof last === 'string' && last !== '' ? AFTER.read({ after: last }, 'after') : after
}
