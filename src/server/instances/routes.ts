/** /v1/instances: list, get, history, start, change. */
import { projectionOf } from '../../notations/notations.ts'
import { instanceNet, listInstances, showInstance } from '../../operations/instances/look.ts'
import { countFoundInstances, findInstances } from '../../operations/search/search.ts'
import { MOST_VIEWED, viewPlaces } from '../../views/view.ts'
import { GIVEN, givenWire } from '../../wire/given.ts'
import { InstanceList, instanceWire, VIEW, viewWire } from '../../wire/instance.ts'
import { pageSize, parsed } from '../../wire/requests/params.ts'
import { Counts, countsWire, QUERY, refuseBeside } from '../../wire/requests/search.ts'
import {
  anything,
  entries,
  flag,
  list,
  named,
  nullable,
  object,
  optional,
  text,
  time,
  uuid,
  type Value,
  whole,
  word,
} from '../../wire/schema.ts'
import { STEP_STATES } from '../../wire/step.ts'
import { shown, wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'
import { NetReply, sendNet, UNCHANGED } from '../nets/reply.ts'
import { CHANGE_ROUTES } from './change.ts'
import { HISTORY_ROUTES } from './history.ts'
import { INSTANCE_PARAMS, instanceQuery, REPLACED } from './list.ts'
import { PICTURE_ROUTES } from './pictures.ts'
import { REPEAT_ROUTES } from './repeat.ts'
import { RESULT_ROUTES } from './results.ts'
import { STEP_ROUTES } from './steps.ts'
import { TELEMETRY_ROUTES } from './telemetry.ts'
import { WHY_ROUTES } from './why.ts'

const Execution = named(
  'Execution',
  object(
    {
      execution_id: uuid(),
      playbook: text('Its name.'),
      status: word(projectionOf({ dialect: 'playbook' }).terms.states ?? []),
      entry_step: nullable(text()),
      final_step: nullable(object({ step: text(), state: word(STEP_STATES) })),
      current_steps: list(text(), 'Currently active.'),
      started_at: nullable(time()),
      ended_at: nullable(time()),
      duration_ms: nullable(whole()),
      counts: object({
        steps: whole('Steps that began at least once.'),
        succeeded: whole('Steps, and iterations of loops.'),
        failed: whole(),
        unhandled: whole('Failures that no arc with a condition handled.'),
        branches: nullable(whole('Steps that ended.')),
        open: whole(),
        held: whole(),
      }),
      blocked_tokens: list(
        object({
          step: text(),
          tokens: whole(),
          state: word(['held', 'discarded']),
          rules: list(object({ when: nullable(text()), allow: flag() }), 'The first matching rule decides.'),
        }),
        'Tokens denied by admission: held, or left over when it completed without them.',
      ),
      failures: list(
        object({
          step: nullable(text('null: of the instance as a whole.')),
          code: text(),
          message: text(),
          handled: flag('An arc with a condition handled it.'),
        }),
        'The first hundred.',
      ),
      error: anything('Why it failed; null: it did not.'),
    },
    'Of a playbook.',
  ),
)

/** Fields that only one notation has. */
const OWN = {
  status: optional(anything({ type: 'object', description: 'Of a workflow of steps: docs/dag.md.' })),
  execution: optional(Execution),
}

const OwnFields = object(OWN)
type Own = Value<typeof OwnFields>

const InstanceView = named(
  'InstanceView',
  object({
    ...VIEW,
    ...GIVEN,
    ...OWN,
    results: entries(anything(), 'By node.'),
  }),
)

const viewPlace = (given: string): string | null => (viewPlaces(given) === null ? null : given)

const LOOK_ROUTES = [
  route(
    'GET /v1/instances',
    {
      tag: 'Instances',
      summary: 'List instances of all notations',
      does: listInstances,
      description:
        'A filter that matches few instances reads on until the page is full. With `q` a page checks at most 10,000 of them: ' +
        'it may have fewer entries than `limit` although more follow.',
      query: INSTANCE_PARAMS,
      answers: { '200': { description: 'Newest first.', schema: InstanceList } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }, { faults }) => {
      const { q, limit, before } = query
      if (q !== null) {
        refuseBeside(query, REPLACED)
        const found = await perform(findInstances, { q, limit, before, nested: query.all === 'true' })
        const instances = wireEach(faults, found.rows, instanceWire)
        return { instances, next_before: found.next, complete: found.complete }
      }
      const { rows, more } = await perform(listInstances, instanceQuery(query))
      return { instances: wireEach(faults, rows, instanceWire), next_before: more ? (rows.at(-1)?.id ?? null) : null }
    },
  ),

  route(
    'GET /v1/instances/counts',
    {
      tag: 'Instances',
      summary: 'Count the instances that a query finds, by state',
      does: countFoundInstances,
      description: 'Of each state at most 10,000 are checked; `more` then says that there are others.',
      query: { q: QUERY, all: INSTANCE_PARAMS.all },
      answers: { '200': { description: 'States without instances are left out.', schema: Counts } },
      errors: ['invalid_request'],
    },
    async ({ query: { q, all }, perform }) =>
      countsWire(await perform(countFoundInstances, { q: q ?? '', nested: all === 'true' })),
  ),

  route(
    'GET /v1/instances/:id',
    {
      tag: 'Instances',
      summary: 'Get an instance',
      does: showInstance,
      description:
        'With at most `limit` runs and as many children. More of them follow `next_after`; a page then has further runs and ' +
        'children, and everything else again. Within a page they are in the order in which they were created.',
      query: {
        after: parsed('`next_after` of the previous page.', text(), viewPlace, 'the next_after of a page'),
        limit: pageSize(MOST_VIEWED, MOST_VIEWED),
      },
      answers: {
        '200': {
          description: 'With its runs, gates, children, input, context and results.',
          schema: InstanceView,
        },
      },
      errors: ['not_found', 'invalid_request'],
    },
    async ({ params, query, perform }) => {
      const { view, given, results, own } = await perform(showInstance, { ...params, ...query })
      const place = `/v1/instances/${view.instance.id}/results`
      return {
        ...viewWire(view),
        ...givenWire(given),
        ...(own?.json as Own | undefined),
        results: Object.fromEntries(
          [...results].map(([node, text]) => [node, shown(text, `${place}/${encodeURIComponent(node)}`)]),
        ),
      }
    },
  ),

  route(
    'GET /v1/instances/:id/net',
    {
      tag: 'Instances',
      summary: 'The net an instance executes',
      does: instanceNet,
      description: 'Its hash is the ETag.',
      answers: { '200': { description: 'As compiled.', schema: NetReply }, ...UNCHANGED },
      errors: ['not_found'],
      compressed: true,
    },
    async ({ params, perform, request, reply }) =>
      sendNet(request, reply, await perform(instanceNet, params), 'private, no-cache'),
  ),
]

export const INSTANCE_ROUTES = [
  ...LOOK_ROUTES,
  ...HISTORY_ROUTES,
  ...WHY_ROUTES,
  ...CHANGE_ROUTES,
  ...REPEAT_ROUTES,
  ...STEP_ROUTES,
  ...PICTURE_ROUTES,
  ...RESULT_ROUTES,
  ...TELEMETRY_ROUTES,
]
