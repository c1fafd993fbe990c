/** One instance as an operator wants to see it. */

import type { Queries } from '../model/queries/queries.ts'
import type { GateRow, InstanceRow, RunRow } from '../model/rows.ts'
import { PAGE_BYTES } from '../model/shown.ts'
import { type NodeFailure, SLOT, slotValue } from '../net/slots.ts'

export interface InstanceView {
  readonly instance: InstanceRow
  readonly error: NodeFailure | null
  readonly undoError: NodeFailure | null
  readonly runs: readonly RunRow[]
  readonly gates: readonly GateRow[]
  readonly children: readonly InstanceRow[]
}

const MOST_RUNS = 1000

export async function viewOf(queries: Queries, instanceId: string): Promise<InstanceView | null> {
  const instance = await queries.instance(instanceId)
  if (instance === null) return null
  const [errors, runs, gates, children] = await Promise.all([
    queries.slots({ instanceId, prefix: SLOT.error.prefix }),
    queries.instanceRuns({ instanceId, limit: MOST_RUNS, after: null, maxBytes: PAGE_BYTES }),
    queries.shownGates({ instanceId, limit: MOST_RUNS }),
    queries.children(instanceId, MOST_RUNS),
  ])
  const error = slotValue(errors, SLOT.error.key)
  const undoError = slotValue(errors, SLOT.undoError.key)
  return { instance, error, undoError, runs, gates, children }
}
