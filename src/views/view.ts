/** One instance as an operator wants to see it. */

import type { Queries } from '../model/queries.ts'
import type { GateRow, InstanceRow, RunRow } from '../model/rows.ts'
import { PAGE_BYTES } from '../model/shown.ts'
import type { Failure } from '../net/marking.ts'

export interface InstanceView {
  readonly instance: InstanceRow
  readonly error: Failure | null
  readonly undoError: Failure | null
  readonly runs: readonly RunRow[]
  readonly gates: readonly GateRow[]
  readonly children: readonly InstanceRow[]
}

const MOST_RUNS = 1000

export async function viewOf(queries: Queries, instanceId: string): Promise<InstanceView | null> {
  const instance = await queries.instance(instanceId)
  if (instance === null) return null
  const [errors, runs, gates, children] = await Promise.all([
    queries.slots({ instanceId, prefix: 'e' }),
    queries.instanceRuns({ instanceId, limit: MOST_RUNS, after: null, maxBytes: PAGE_BYTES }),
    queries.shownGates({ instanceId, limit: MOST_RUNS }),
    queries.children(instanceId, MOST_RUNS),
  ])
  const failure = (key: string): Failure | null => {
    const slot = errors.find((s) => s.key === key)
    return slot === undefined ? null : (JSON.parse(slot.value) as Failure)
  }
  return { instance, error: failure('e'), undoError: failure('eu'), runs, gates, children }
}
