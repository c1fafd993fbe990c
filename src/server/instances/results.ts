/**
 * /v1/instances/:id: the event log in the terms of its notation, the result of one step, and separately stored
 * arguments.
 */

import { FROM_THE_BEGINNING, parsePlace } from '../../notations/interface/events.ts'
import { NOTATIONS } from '../../notations/notations.ts'
import { listExecutionEvents } from '../../operations/instances/history.ts'
import { nodeResult, storedArguments } from '../../operations/instances/look.ts'
import { pageSize, parsed, wordsOf } from '../../wire/requests/params.ts'
import {
  anything,
  flag,
  list,
  named,
  nullable,
  object,
  text,
  time,
  uuid,
  type Value,
  whole,
  word,
} from '../../wire/schema.ts'
import { STEP_STATES } from '../../wire/step.ts'
import { json } from '../../wire/value.ts'
import { route } from '../context.ts'

const TYPES = NOTATIONS.flatMap(({ project }) => project.events?.types ?? [])

const ExecutionEvent = named(
  'ExecutionEvent',
  object({
    event_id: text('Unique in its execution.'),
    event_type: word(TYPES),
    timestamp: time(),
    execution_id: uuid(),
    source: word(['server', 'worker']),
    entity_type: word(['playbook', 'workflow', 'step', 'loop', 'iteration', 'task']),
    entity_id: text(),
    parent_id: nullable(text()),
    seq: whole('Seq of the history line it comes from; several events may share one.'),
    step: nullable(text()),
    step_run_id: nullable(text('One firing of a step: all its iterations and attempts.')),
    task_run_id: nullable(text()),
    run_id: nullable(uuid('The run held by a worker.')),
    iteration: nullable(whole('Index in a loop.')),
    attempt: nullable(whole('From 1.')),
    status: word(['in_progress', 'success', 'error', 'skipped', 'paused']),
    payload: anything({
      type: 'object',
      description: 'By type: error, stats, selected arcs, the rule that decided …',
    }),
  }),
)

const ExecutionEvents = named(
  'ExecutionEvents',
  object({
    events: list(ExecutionEvent),
    next_after: text('Send it as `after`.'),
    has_more: flag(),
    in_flight: list(ExecutionEvent, 'On the last page: begun, not ended, not in the log yet.'),
  }),
)

const ResultReply = named(
  'ResultReply',
  object({
    instance_id: uuid(),
    node: text(),
    state: word(STEP_STATES),
    result: anything('null: none, or it returned none.'),
  }),
)

const ReferenceReply = named(
  'ReferenceReply',
  object({ instance_id: uuid(), ref: text(), value: anything('As rendered.') }),
)

export const RESULT_ROUTES = [
  route(
    'GET /v1/instances/:id/execution-events',
    {
      tag: 'Events',
      summary: 'The event log of a playbook',
      description:
        'In the words of playbooks: step.scheduled, task.attempt.failed, loop.done, next.evaluated and so on. Derived from ' +
        'the history, so reading again gives the same events under the same ids. What is in progress (`in_flight`) is listed ' +
        'on the last page, and again in the log, under the same id, when it has ended. With `types` a page may have fewer ' +
        'events than requested, or none, while `has_more` is true.',
      does: listExecutionEvents,
      query: {
        after: parsed('`next_after` of the previous page.', text(), parsePlace, 'the next_after of a page'),
        limit: pageSize(1000, 100),
        types: wordsOf(TYPES, 'Only these: `step.failed,task.failed`.'),
      },
      answers: { '200': { description: 'Oldest first.', schema: ExecutionEvents } },
      errors: ['not_found', 'unsupported', 'invalid_request'],
    },
    async ({ params, query: { after, limit, types }, perform }) => {
      const asked = { after: after ?? FROM_THE_BEGINNING, limit, types: types === null ? null : new Set(types) }
      return (await perform(listExecutionEvents, { ...params, ...asked })) as unknown as Value<typeof ExecutionEvents>
    },
  ),

  route(
    'GET /v1/instances/:id/results/:node',
    {
      tag: 'Instances',
      summary: 'The result of one step',
      description: 'The target of a reference `petrel://instances/ID/results/STEP`. null until there is a result.',
      does: nodeResult,
      answers: { '200': { description: 'The complete result.', schema: ResultReply } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => {
      const { instance, node, state, result } = await perform(nodeResult, params)
      return { instance_id: instance.id, node, state, result: json(result) }
    },
  ),

  route(
    'GET /v1/instances/:id/refs/:ref',
    {
      tag: 'Instances',
      summary: 'Separately stored arguments',
      description: 'The value of `{"$ref": "x:7"}` in the arguments of a run of this instance.',
      does: storedArguments,
      answers: { '200': { description: 'The value.', schema: ReferenceReply } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => {
      const { id, value } = await perform(storedArguments, params)
      return { instance_id: id, ref: params.ref, value: json(value) }
    },
  ),
]
