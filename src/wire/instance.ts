/** Instances. */
import { unscopedName } from '../kernel/scoped-names.ts'
import type { InstanceRow } from '../model/rows.ts'
import type { InstanceState } from '../net/marking.ts'
import type { InstanceView } from '../views/view.ts'
import { Gate, gateWire } from './gate.ts'
import { COMPLETE } from './requests/search.ts'
import { Run, runWire } from './run.ts'
import {
  anything,
  flag,
  list,
  time as moment,
  named,
  nullable,
  object,
  text,
  uuid,
  type Value,
  whole,
  word,
} from './schema.ts'
import { rows, time } from './value.ts'

export const STATES: readonly InstanceState[] = [
  'idle',
  'queued',
  'running',
  'waiting',
  'cancelling',
  'compensating',
  'completed',
  'failed',
  'cancelled',
  'compensated',
]

export const Instance = named(
  'Instance',
  object({
    id: uuid(),
    name: text('Of its workflow.'),
    dialect: text('The notation it was written in.'),
    state: word(STATES),
    outcome: nullable(text('The outcome: success, partial, failed, timed_out, cancelled, rolled_back …')),
    phase: text('forward, drain, undo, final or ended.'),
    reason: nullable(text('Why it left the forward phase.')),
    root_id: uuid(),
    parent_id: nullable(uuid()),
    parent_node: nullable(text()),
    retry_of: nullable(uuid('The instance whose results it carried over.')),
    tenant: nullable(text()),
    start_key: nullable(text()),
    fair_key: nullable(text('The key under which its runs share their queues.')),
    net: text('Hash of the net it executes.'),
    open: whole('Runs that have not ended.'),
    waiting_gates: whole(),
    held_tokens: whole(),
    succeeded: whole(),
    failed: whole(),
    created_at: moment(),
    started_at: nullable(moment()),
    ended_at: nullable(moment()),
    deadline_at: nullable(moment('null: none, or it stands still during a pause.')),
    paused: flag('Of a root: nothing of its tree begins until it is resumed.'),
  }),
)

export function instanceWire(row: InstanceRow): Value<typeof Instance> {
  return {
    id: row.id,
    name: row.name,
    dialect: row.dialect,
    state: row.state,
    outcome: row.outcome,
    phase: row.phase,
    reason: row.reason,
    root_id: row.rootId,
    parent_id: row.parentId,
    parent_node: row.parentNode,
    retry_of: row.retryOf,
    tenant: row.tenant,
    start_key: unscopedName(row.startKey),
    fair_key: unscopedName(row.fairKey),
    net: row.netHash,
    open: row.open,
    waiting_gates: row.gates,
    held_tokens: row.held,
    succeeded: row.succeeded,
    failed: row.failed,
    created_at: time(row.createdAt),
    started_at: time(row.startedAt),
    ended_at: time(row.endedAt),
    deadline_at: time(row.deadlineAt),
    paused: row.paused !== null,
  }
}

/** Written by viewWire(); the view of an instance has further fields, by its notation. */
export const VIEW = {
  instance: Instance,
  error: anything('Why it failed; null: it did not.'),
  undo_error: anything('Why its undo failed, too.'),
  runs: list(Run, 'The first 1,000, or a page.'),
  gates: list(Gate, 'Open gates.'),
  children: list(Instance, 'The first 1,000, or a page.'),
  next_after: nullable(text('More runs or children: send it as `after`.')),
}

const View = object(VIEW)

export function viewWire(view: InstanceView): Value<typeof View> {
  return {
    instance: instanceWire(view.instance),
    error: view.error,
    undo_error: view.undoError,
    runs: view.runs.map(runWire),
    gates: view.gates.map(gateWire),
    children: view.children.map(instanceWire),
    next_after: view.next,
  }
}

export const InstanceList = named(
  'InstanceList',
  object({ instances: rows(Instance), next_before: nullable(text('Send it as `before`.')), complete: COMPLETE }),
)

export const InstanceReply = named('InstanceReply', object({ instance: Instance }))
