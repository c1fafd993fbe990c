/** /v1/instances: list, look, history, start, change. */
import { notFound } from '../../http/request-error.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import { projectionOf } from '../../notations/notations.ts'
import { InstanceList, instanceWire, VIEW, viewWire } from '../../wire/instance.ts'
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
import { shown, wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'
import { ABOUT, aboutWire } from './about.ts'
import { CHANGE_ROUTES } from './change.ts'
import { findInstance, findRow } from './find.ts'
import { HISTORY_ROUTES } from './history.ts'
import { INSTANCE_PARAMS, instanceQuery } from './list.ts'
import { START_ROUTES } from './start.ts'
import { WHY_ROUTES } from './why.ts'

const STEP_STATES = ['pending', 'running', 'completed', 'failed', 'skipped'] as const

const Execution = named(
  'Execution',
  object(
    {
      execution_id: uuid(),
      playbook: text('Its name.'),
      status: word(projectionOf({ dialect: 'playbook' }).terms.states ?? []),
      entry_step: nullable(text()),
      final_step: nullable(object({ step: text(), state: word(STEP_STATES) })),
      current_steps: list(text(), 'At work now.'),
      started_at: nullable(time()),
      ended_at: nullable(time()),
      duration_ms: nullable(whole()),
      counts: object({
        steps: whole('That began at least once.'),
        succeeded: whole('Steps, and iterations of loops.'),
        failed: whole(),
        unhandled: whole('Failures that no arc with a condition took.'),
        branches: nullable(whole('That came to their end.')),
        open: whole(),
        held: whole(),
      }),
      blocked_tokens: list(
        object({
          step: text(),
          tokens: whole(),
          state: word(['held', 'discarded']),
          rules: list(object({ when: nullable(text()), allow: flag() }), 'The first that holds decides.'),
        }),
        'Tokens that no admission rule let in: held, or left over when it completed without them.',
      ),
      failures: list(
        object({
          step: nullable(text('null: of the instance as a whole.')),
          code: text(),
          message: text(),
          handled: flag('An arc with a condition took it.'),
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
    ...ABOUT,
    ...OWN,
    results: entries(anything(), 'By node.'),
  }),
)

const NetReply = named(
  'NetReply',
  object({
    hash: text(),
    net: anything({ type: 'object', description: 'Nodes and arcs, without data: docs/net.md.' }),
  }),
)

const LOOK_ROUTES = [
  route(
    'GET /v1/instances',
    {
      tag: 'Instances',
      summary: 'List instances of all notations',
      description: 'A filter that few instances match reads on until the page is full.',
      query: INSTANCE_PARAMS,
      answers: { '200': { description: 'Newest first.', schema: InstanceList } },
      errors: ['invalid_request'],
    },
    async ({ query, caller }, { engine }) => {
      const asked = instanceQuery(query, caller.tenant)
      const rows = await engine.queries.listInstances({ ...asked, limit: asked.limit + 1 })
      const page = rows.slice(0, asked.limit)
      const more = rows.length > asked.limit
      return {
        instances: wireEach(engine.faults, page, instanceWire),
        next_before: more ? (page.at(-1)?.id ?? null) : null,
      }
    },
  ),

  route(
    'GET /v1/instances/:id',
    {
      tag: 'Instances',
      summary: 'Look at an instance',
      answers: {
        '200': {
          description: 'With its runs, gates, children, input, context and results.',
          schema: InstanceView,
        },
      },
      errors: ['not_found'],
    },
    async ({ params, caller }, { engine }) => {
      const view = await findInstance(engine, params.id, caller)
      const { id } = view.instance
      const [results, about, own] = await Promise.all([
        engine.shownResults(id, PAGE_BYTES),
        aboutWire(engine, id),
        projectionOf(view.instance).own?.(engine, view.instance),
      ])
      return {
        ...viewWire(view),
        ...about,
        ...(own?.json as Own | undefined),
        results: Object.fromEntries(
          [...results].map(([node, text]) => [
            node,
            shown(text, `/v1/instances/${id}/results/${encodeURIComponent(node)}`),
          ]),
        ),
      }
    },
  ),

  route(
    'GET /v1/instances/:id/net',
    {
      tag: 'Instances',
      summary: 'The net an instance executes',
      answers: { '200': { description: 'As it was compiled.', schema: NetReply } },
      errors: ['not_found'],
    },
    async ({ params, caller }, { engine }) => {
      const { netHash } = await findRow(engine, params.id, caller)
      const net = await engine.net(netHash)
      if (net === null) throw notFound('net', netHash)
      return { hash: netHash, net }
    },
  ),
]

export const INSTANCE_ROUTES = [...LOOK_ROUTES, ...HISTORY_ROUTES, ...WHY_ROUTES, ...START_ROUTES, ...CHANGE_ROUTES]
