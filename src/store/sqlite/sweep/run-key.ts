/** What a sweep passes to settle: a run and the root to lock before it. */
import type { RunKey } from '../../sweeps.ts'
import type { Cells } from '../driver.ts'

export const RUN_KEY_CELLS = 'id, root_id, instance_id'

export function runKeyOf(cells: Cells): RunKey {
  return { id: cells[0] as string, rootId: cells[1] as string | null, instanceId: cells[2] as string | null }
}
