/** /v1/instances/{id}/steps, why, telemetry, and /v1/telemetry: where a workflow stands, and what holds it up. */
import { OWN_EVENT_TYPES } from '../instances/execution.ts'
import type { Parameter, Paths } from './operation.ts'
import { anything, flag, list, nullable, object, ref, type Schema, text, time, uuid, whole, word } from './schema.ts'

function page(after: string, most: number, usual: number): readonly Parameter[] {
  return [
    { name: 'after', description: after },
    {
      name: 'limit',
      description: 'On a page.',
      schema: whole(undefined, { minimum: 1, maximum: most, default: usual }),
    },
  ]
}

const TOLD =
  'Derived from the history, so reading again gives the same. A page may have fewer events than asked for, or none, ' +
  'while `has_more` is true: not every line of the history is one.'

export const STEP_PATHS: Paths = {
  '/v1/instances/{id}/steps': {
    get: {
      tag: 'Instances',
      summary: 'Where each step stands',
      description: 'Of every notation, in the order of the definition.',
      query: page('`next_after` of the page before: the name of its last step.', 1000, 100),
      answers: { '200': { description: 'A page of steps.', schema: ref('StepList') } },
      errors: ['not_found', 'invalid_request'],
    },
  },
  '/v1/instances/{id}/why': {
    get: {
      tag: 'Instances',
      summary: 'What an instance waits for',
      description:
        'As a whole (`about`), and each node that has not ended (`waits`): first those at which something is, then those ' +
        'that have not been reached. Every reason has a `kind`, its facts and a sentence.',
      query: page('`next_after` of the page before.', 200, 50),
      answers: { '200': { description: 'The reasons, as of `now`.', schema: ref('Why') } },
      errors: ['not_found', 'invalid_request'],
    },
  },
  '/v1/instances/{id}/telemetry': {
    get: {
      tag: 'Events',
      summary: 'Telemetry of one workflow of steps',
      description: `${TOLD} Nested workflows have their own, under the same correlationId.`,
      query: page('Go on behind this seq.', 1000, 100),
      answers: { '200': { description: 'Oldest first.', schema: ref('Telemetry') } },
      errors: ['not_found', 'unsupported', 'invalid_request'],
    },
  },
  '/v1/instances/{id}/execution-events': {
    get: {
      tag: 'Events',
      summary: 'The event log of a playbook',
      description:
        'In the words of playbooks: step.scheduled, task.attempt.failed, loop.done, next.evaluated and so on. Derived from ' +
        'the history, so reading again gives the same events under the same ids. What is under way (`in_flight`) is told on ' +
        'the last page, and again in the log, under the same id, when it has ended. With `types` a page may have fewer ' +
        'events than asked for, or none, while `has_more` is true.',
      query: [
        ...page('`next_after` of the page before.', 1000, 100),
        { name: 'types', description: 'Only these: `step.failed,task.failed`.' },
      ],
      answers: { '200': { description: 'Oldest first.', schema: ref('ExecutionEvents') } },
      errors: ['not_found', 'unsupported', 'invalid_request'],
    },
  },
  '/v1/instances/{id}/results/{node}': {
    get: {
      tag: 'Instances',
      summary: 'The result of one step',
      description: 'What a reference `petrel://instances/ID/results/STEP` leads to. null until it has one.',
      answers: { '200': { description: 'All of it.', schema: ref('ResultReply') } },
      errors: ['not_found'],
    },
  },
  '/v1/instances/{id}/refs/{ref}': {
    get: {
      tag: 'Instances',
      summary: 'Arguments that were kept aside',
      description: 'What `{"$ref": "x:7"}` in the arguments of a run of this instance stands for.',
      answers: { '200': { description: 'The value.', schema: ref('ReferenceReply') } },
      errors: ['not_found'],
    },
  },
  '/v1/telemetry': {
    get: {
      tag: 'Events',
      summary: 'Telemetry of all workflows of steps',
      description: TOLD,
      query: page('Go on behind this place.', 1000, 100),
      answers: { '200': { description: 'Oldest first.', schema: ref('Telemetry') } },
      errors: ['invalid_request'],
    },
  },
}

const FAILURE = nullable({ type: 'object', description: '{ code, message, category, … }' })

export const STEP_SCHEMAS: { readonly [name: string]: Schema } = {
  Step: object(
    {
      name: text(),
      kind: word(['run', 'gate', 'child', 'each', 'pass']),
      state: word(['pending', 'running', 'completed', 'failed', 'skipped']),
      depends_on: list(text()),
      on_failure: word(['abort', 'skip', 'compensate', 'retry', 'route']),
      type: nullable(text('What workers ask for.')),
      queue: nullable(text()),
      agent: anything('As the definition says.'),
      action: anything('As the definition says; may be a template.'),
      attempts: whole('Executions so far, the current one too.'),
      retries: whole('Failed executions that were tried again.'),
      started_at: nullable(time()),
      ended_at: nullable(time()),
      duration_ms: nullable(whole()),
      error: FAILURE,
      run_id: nullable(uuid()),
      gate_id: nullable(uuid()),
      child_id: nullable(uuid('The nested workflow.')),
      items: object({}, { description: 'Of a list: how many of its items stand in which status.' }),
      loop: nullable(
        object(
          { total: whole(), success: whole(), failed: whole(), open: whole('Begun or due, not ended.') },
          { description: 'Of a loop of a playbook.' },
        ),
      ),
      held_tokens: whole('Of a playbook: tokens that its admission rules hold back.'),
      undo: nullable(
        object({
          state: word(['pending', 'leased', 'succeeded', 'failed', 'cancelled']),
          run_id: uuid(),
          attempts: whole(),
          started_at: nullable(time()),
          ended_at: nullable(time()),
          error: FAILURE,
        }),
      ),
    },
    { required: ['name', 'kind', 'state'] },
  ),
  StepList: object(
    {
      instance_id: uuid(),
      total: whole('Steps of the definition.'),
      steps: list(ref('Step')),
      next_after: nullable(text('Send it as `after`.')),
    },
    { required: ['steps', 'next_after'] },
  ),
  WhyReason: object(
    { kind: text('Stable; docs/why.md lists them.'), text: text('The same as a sentence.') },
    { required: ['kind', 'text'], description: 'Further fields by kind: ids, names, counts, times.' },
  ),
  Why: object(
    {
      instance: ref('Instance'),
      now: time('The clock it is told by.'),
      about: list(ref('WhyReason'), 'Of the instance as a whole.'),
      waits: list(
        object({
          node: nullable(text()),
          item: nullable(whole('In a list.')),
          role: word(['work', 'undo', 'final']),
          run: nullable(uuid()),
          state: word(['pending', 'running', 'completed', 'failed', 'skipped']),
          reasons: list(ref('WhyReason')),
        }),
      ),
      next_after: nullable(text('Send it as `after`.')),
    },
    { required: ['instance', 'about', 'waits', 'next_after'] },
  ),
  TelemetryEvent: object(
    {
      id: text('Of the line of the history it comes from.'),
      type: text('`<domain>.workflow_started` and so on; docs/dag.md lists them.'),
      time: time(),
      correlationId: text('One for an execution and all that is nested in it.'),
      instanceId: uuid(),
      payload: object({ workflowName: text(), correlationId: text() }),
    },
    { required: ['id', 'type', 'time', 'correlationId', 'payload'] },
  ),
  Telemetry: object(
    { events: list(ref('TelemetryEvent')), next_after: whole('Send it as `after`.'), has_more: flag() },
    { required: ['events', 'next_after', 'has_more'] },
  ),
  ExecutionEvent: object(
    {
      event_id: text('Unique in its execution.'),
      event_type: word(OWN_EVENT_TYPES),
      timestamp: time(),
      execution_id: uuid(),
      source: word(['server', 'worker']),
      entity_type: word(['playbook', 'workflow', 'step', 'loop', 'iteration', 'task']),
      entity_id: text(),
      parent_id: nullable(text()),
      seq: whole('Of the line of the history it comes from; several events may share one.'),
      step: nullable(text()),
      step_run_id: nullable(text('One firing of a step: all its iterations and attempts.')),
      task_run_id: nullable(text()),
      run_id: nullable(uuid('The run that a worker held.')),
      iteration: nullable(whole('Index in a loop.')),
      attempt: nullable(whole('From 1.')),
      status: word(['in_progress', 'success', 'error', 'skipped', 'paused']),
      payload: { type: 'object', description: 'By type: error, stats, selected arcs, the rule that decided …' },
    },
    { required: ['event_id', 'event_type', 'timestamp', 'execution_id', 'source', 'status', 'payload'] },
  ),
  ExecutionEvents: object(
    {
      events: list(ref('ExecutionEvent')),
      next_after: text('Send it as `after`.'),
      has_more: flag(),
      in_flight: list(ref('ExecutionEvent'), 'On the last page: begun, not ended, not in the log yet.'),
    },
    { required: ['events', 'next_after', 'has_more', 'in_flight'] },
  ),
  ResultReply: object(
    {
      instance_id: uuid(),
      node: text(),
      state: word(['pending', 'running', 'completed', 'failed', 'skipped']),
      result: anything('null: none, or it returned none.'),
    },
    { required: ['instance_id', 'node', 'state', 'result'] },
  ),
  ReferenceReply: object(
    { instance_id: uuid(), ref: text(), value: anything('As it was rendered.') },
    { required: ['instance_id', 'ref', 'value'] },
  ),
}
