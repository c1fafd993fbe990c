/** GET /v1/instances/:id/telemetry of one instance, GET /v1/telemetry of all: the same events, in another order. */

import { allTelemetry, type EventPage, instanceTelemetry } from '../../operations/instances/history.ts'
import { pageSize, placeOf } from '../../wire/requests/params.ts'
import { flag, list, named, object, text, time, uuid, type Value, whole } from '../../wire/schema.ts'
import { route } from '../context.ts'

const TelemetryEvent = named(
  'TelemetryEvent',
  object({
    id: text('Seq of the history line it comes from.'),
    type: text('`<domain>.workflow_started` and so on; docs/dag.md lists them.'),
    time: time(),
    correlationId: text('Shared by an execution and everything nested in it.'),
    instanceId: uuid(),
    payload: object({ workflowName: text(), correlationId: text() }),
  }),
)

const Telemetry = named(
  'Telemetry',
  object({ events: list(TelemetryEvent), next_after: whole('Send it as `after`.'), has_more: flag() }),
)

const DERIVED =
  'Derived from the history, so reading again gives the same. A page may have fewer events than requested, or none, ' +
  'while `has_more` is true: not every line of the history is an event.'

const limit = pageSize(1000, 100)

export const TELEMETRY_ROUTES = [
  route(
    'GET /v1/instances/:id/telemetry',
    {
      tag: 'Events',
      summary: 'Telemetry of one workflow of steps',
      description: `${DERIVED} Nested workflows have their own, under the same correlationId.`,
      does: instanceTelemetry,
      query: { after: placeOf('Continue after this seq.'), limit },
      answers: { '200': { description: 'Oldest first.', schema: Telemetry } },
      errors: ['not_found', 'unsupported', 'invalid_request'],
    },
    async ({ params, query, perform }) => telemetryWire(await perform(instanceTelemetry, { ...params, ...query })),
  ),

  route(
    'GET /v1/telemetry',
    {
      tag: 'Events',
      summary: 'Telemetry of all workflows of steps',
      description: DERIVED,
      does: allTelemetry,
      query: { after: placeOf('Continue after this cursor.'), limit },
      answers: { '200': { description: 'Oldest first.', schema: Telemetry } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }) => telemetryWire(await perform(allTelemetry, query)),
  ),
]

function telemetryWire({ events, next, more }: EventPage<object>): Value<typeof Telemetry> {
  return { events: events as Value<typeof Telemetry>['events'], next_after: next, has_more: more }
}
