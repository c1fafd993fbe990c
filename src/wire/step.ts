/** Steps: the state of each node of an instance. */
import type { StepRun } from '../model/queries/steps.ts'
import type { Json, Node } from '../net/net.ts'
import { failureOf, type StepView } from '../views/steps.ts'
import {
  anything,
  list,
  time as moment,
  named,
  nullable,
  object,
  optional,
  text,
  uuid,
  type Value,
  whole,
  word,
} from './schema.ts'
import { time } from './value.ts'

export const STEP_STATES = ['pending', 'running', 'completed', 'failed', 'skipped'] as const

const FAILURE = nullable(anything({ type: 'object', description: '{ code, message, category, … }' }))

const Undo = object({
  state: word(['pending', 'leased', 'succeeded', 'failed', 'cancelled']),
  run_id: uuid(),
  attempts: whole(),
  started_at: nullable(moment()),
  ended_at: nullable(moment()),
  error: FAILURE,
})

export const Step = named(
  'Step',
  object({
    name: text(),
    kind: word(['run', 'gate', 'child', 'each', 'pass']),
    state: word(STEP_STATES),
    depends_on: list(text()),
    on_failure: word(['abort', 'skip', 'compensate', 'retry', 'route']),
    type: nullable(text('The type that workers claim.')),
    queue: nullable(text()),
    agent: anything('As in the definition.'),
    action: anything('As in the definition; may be a template.'),
    attempts: whole('Executions so far, including the current one.'),
    retries: whole('Failed executions that were retried.'),
    started_at: nullable(moment()),
    ended_at: nullable(moment()),
    duration_ms: nullable(whole()),
    error: FAILURE,
    run_id: nullable(uuid()),
    worker: nullable(text('The worker of its last execution.')),
    gate_id: nullable(uuid()),
    decided_by: nullable(text('Who decided its gate.')),
    child_id: nullable(uuid('The nested workflow.')),
    items: optional(anything({ type: 'object', description: 'Of a list: the number of its items per status.' })),
    loop: optional(
      nullable(
        object(
          { total: whole(), success: whole(), failed: whole(), open: whole('Begun or due, not ended.') },
          'Of a loop of a playbook.',
        ),
      ),
    ),
    held_tokens: optional(whole('Of a playbook: tokens held by its admission rules.')),
    undo: nullable(Undo),
  }),
)

/** `own`: fields that only its notation has. */
export function stepWire(
  step: StepView & { readonly own?: { readonly [field: string]: unknown } },
  dependsOn: readonly string[],
  worker: string | null = null,
): Value<typeof Step> {
  const { node, run, gate, child, undo, items } = step
  return {
    name: node.key,
    kind: node.work.kind,
    state: step.state,
    depends_on: dependsOn,
    on_failure: step.onFailure,
    ...taskWire(node),
    attempts: attempts(run),
    retries: step.retries,
    started_at: time(step.startedAt),
    ended_at: time(step.endedAt),
    duration_ms: step.startedAt === null || step.endedAt === null ? null : Math.max(0, step.endedAt - step.startedAt),
    error: step.error,
    run_id: run?.id ?? null,
    worker,
    gate_id: gate?.id ?? null,
    decided_by: gate?.answeredBy ?? null,
    child_id: child?.id ?? null,
    ...(items === null ? {} : { items: Object.fromEntries(items) }),
    ...step.own,
    undo: undo === null ? null : undoWire(undo),
  }
}

function taskWire({ work }: Node) {
  if (work.kind !== 'run') return { type: null, queue: null, agent: null, action: null }
  const { agent = null, action = null } = (work.args ?? {}) as { readonly agent?: Json; readonly action?: Json }
  return { type: work.type, queue: work.queue, agent, action }
}

/** Executions so far, including the current one. */
function attempts(run: StepRun | null): number {
  if (run === null) return 0
  const more = run.status === 'leased' || run.status === 'succeeded' ? 1 : 0
  return run.attempt + more
}

function undoWire(undo: StepRun): Value<typeof Undo> {
  return {
    state: undo.status,
    run_id: undo.id,
    attempts: attempts(undo),
    started_at: time(undo.firstStartedAt),
    ended_at: time(undo.finishedAt),
    error: undo.status === 'succeeded' ? null : failureOf(undo),
  }
}
