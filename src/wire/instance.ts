/** Instances. */
import { unscopedName } from '../kernel/scoped-names.ts'
import type { InstanceRow } from '../model/rows.ts'
import type { InstanceState } from '../net/marking.ts'
import type { InstanceView } from '../views/view.ts'
import { gateWire } from './gate.ts'
import { runWire } from './run.ts'
import { time, type Wire } from './value.ts'

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

export function instanceWire(row: InstanceRow): Wire {
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
  }
}

export function viewWire(view: InstanceView): Wire {
  return {
    instance: instanceWire(view.instance),
    error: view.error,
    undo_error: view.undoError,
    runs: view.runs.map(runWire),
    gates: view.gates.map(gateWire),
    children: view.children.map(instanceWire),
  }
}
