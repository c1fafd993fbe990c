/** The beginning of every view of a workflow: its id, type, name and state, and its number of places. */

import type { InstanceRow } from '../../../model/rows.ts'
import type { Json, Net } from '../../../net/net.ts'
import { kindOf, nameOf } from '../compile/nets.ts'
import { workflowId } from '../compile/workflow-id.ts'

export type Wire = { readonly [key: string]: Json }
export type WorkflowState = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled'
export type PlaceState = 'waiting' | 'pending' | 'active' | 'completed' | 'failed' | 'cancelled'

export const WORKFLOW_STATES: readonly WorkflowState[] = ['pending', 'running', 'completed', 'failed', 'cancelled']

export function stateOf(row: InstanceRow, begun: boolean): WorkflowState {
  switch (row.state) {
    case 'completed':
    case 'failed':
    case 'cancelled':
      return row.state
    case 'cancelling':
      return 'cancelled'
    case 'compensated':
      return 'failed'
    case 'idle':
    case 'queued':
      return 'pending'
    default:
      return begun ? 'running' : 'pending'
  }
}

export function headWire(row: InstanceRow, net: Net, state: WorkflowState): Wire {
  const name = nameOf(row, net)
  return {
    id: workflowId(row),
    type: kindOf(net),
    ...(name === null ? {} : { name }),
    state,
    ...(row.retryOf === null ? {} : { retry_of: row.retryOf }),
    ...(row.tenant === null ? {} : { tenant: row.tenant }),
  }
}

/** Places of its own: steps, or jobs of its list; callbacks not counted. */
export function placesIn(net: Net, listed: number | null): number {
  return kindOf(net) === 'chain' ? net.nodes.length : (listed ?? 0)
}

export function countsWire(net: Net, done: number, total: number): Wire {
  return kindOf(net) === 'chain'
    ? { steps_total: total, steps_completed: done }
    : { jobs_total: total, jobs_completed: done }
}
