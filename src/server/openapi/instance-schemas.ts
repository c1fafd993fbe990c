/** Instances of all notations as /v1 shows them. */
import { projectionOf } from '../../notations/notations.ts'
import { STATES } from '../../wire/instance.ts'
import { anything, flag, list, nullable, object, ref, type Schema, text, time, uuid, whole, word } from './schema.ts'

const MADE: { readonly [name: string]: Schema } = {
  id: uuid(),
  created: flag('false: the start key was taken, and this is the instance that has it.'),
  instance: ref('Instance'),
}

export const INSTANCE_SCHEMAS: { readonly [name: string]: Schema } = {
  Instance: object(
    {
      id: uuid(),
      name: text('Of its workflow.'),
      dialect: text('The notation it was written in.'),
      state: word(STATES),
      outcome: nullable(text('What became of it: success, partial, failed, timed_out, cancelled, rolled_back …')),
      phase: text('forward, drain, undo, final or ended.'),
      reason: nullable(text('Why it left the forward phase.')),
      root_id: uuid(),
      parent_id: nullable(uuid()),
      parent_node: nullable(text()),
      retry_of: nullable(uuid('The instance whose results it took over.')),
      tenant: nullable(text()),
      start_key: nullable(text()),
      net: text('Hash of the net it executes.'),
      open: whole('Runs that have not ended.'),
      waiting_gates: whole(),
      held_tokens: whole(),
      succeeded: whole(),
      failed: whole(),
      created_at: time(),
      started_at: nullable(time()),
      ended_at: nullable(time()),
      deadline_at: nullable(time()),
    },
    { required: ['id', 'name', 'dialect', 'state'] },
  ),
  Run: object(
    {
      id: uuid(),
      type: text(),
      queue: text(),
      status: word(['pending', 'leased', 'succeeded', 'failed', 'cancelled']),
      instance_id: nullable(uuid()),
      node: nullable(text()),
      attempt: whole('Failed executions so far.'),
      max_attempts: whole(),
      result: anything('What it returned.'),
      error: anything('Why it failed.'),
    },
    { required: ['id', 'type', 'queue', 'status'] },
  ),
  InstanceList: object(
    { instances: list(ref('Instance')), next_before: nullable(text('Send it as `before`.')) },
    { required: ['instances', 'next_before'] },
  ),
  InstanceView: object(
    {
      instance: ref('Instance'),
      error: anything('Why it failed; null: it did not.'),
      undo_error: anything('Why its undo failed, too.'),
      runs: list(ref('Run'), 'The first 1,000.'),
      gates: list(ref('Gate'), 'Those that are open.'),
      children: list(ref('Instance')),
      initiator: nullable(text('Who started it.')),
      meta: anything('What they added.'),
      input: anything('What it was started with.'),
      context: { type: 'object', description: 'By name; what steps and patches have set.' },
      results: { type: 'object', description: 'By node.' },
      status: { type: 'object', description: 'Of a workflow of steps: docs/dag.md.' },
      execution: ref('Execution'),
    },
    { required: ['instance', 'runs', 'results'] },
  ),
  Execution: object(
    {
      execution_id: uuid(),
      playbook: text('Its name.'),
      status: word(projectionOf({ dialect: 'playbook' }).terms.states ?? []),
      entry_step: nullable(text()),
      final_step: nullable(
        object({ step: text(), state: word(['pending', 'running', 'completed', 'failed', 'skipped']) }),
      ),
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
        object({ step: text(), code: text(), message: text(), handled: flag('An arc with a condition took it.') }),
        'The first hundred.',
      ),
      error: anything('Why it failed; null: it did not.'),
    },
    { required: ['execution_id', 'status', 'counts', 'blocked_tokens', 'failures'], description: 'Of a playbook.' },
  ),
  InstanceEvents: object(
    { events: list({ type: 'object' }), next_after: whole('Send it as `after`.'), has_more: flag() },
    { required: ['events', 'next_after', 'has_more'] },
  ),
  StartRequest: object(
    {
      workflow: text('Name of a deployed definition.'),
      version: text('Which of its versions. Default: the latest.'),
      input: anything('What it starts with; must fit its schema, if it has one.'),
      start_key: text('At most one instance ever has it: a second start answers with the first.'),
      start: flag('false: it stays idle until it is started or an event or its schedule starts it. Default: true.'),
      meta: { type: 'object', description: 'Kept with it.' },
      correlation_id: text('What its events are told under. Default: its id.'),
    },
    { required: ['workflow'] },
  ),
  StartReply: object(
    { ...MADE, definition: anything('Id, name and version of the definition it is of.') },
    { required: ['id', 'created', 'instance'] },
  ),
  InstanceReply: object({ instance: ref('Instance') }, { required: ['instance'] }),
  RetryReply: object(
    { ...MADE, retry_of: uuid(), not_undone: list(ref('OpenEffect')) },
    { required: ['id', 'created', 'retry_of', 'instance'] },
  ),
  ContextReply: object(
    { instance: ref('Instance'), context: { type: 'object', description: 'All of it, as it is now.' } },
    { required: ['instance', 'context'] },
  ),
  NetReply: object(
    { hash: text(), net: { type: 'object', description: 'Nodes and arcs, without data: docs/net.md.' } },
    { required: ['hash', 'net'] },
  ),
}
