/** Loads the rows for the status of an instance in a few statements. */

import type { InstanceRow } from '../../../model/rows.ts'
import { indexNet } from '../../../net/compile.ts'
import { SLOT, slotValue } from '../../../net/slots.ts'
import { loadSteps, nodesBefore } from '../../../views/steps.ts'
import type { Reading } from '../../interface/projection.ts'
import type { Shown } from './sheet.ts'
import { dagStatus } from './status.ts'
import { dagNodes } from './words.ts'

/** The most nested workflows whose costs are added. */
export const MOST_NESTED = 2_000
const MOST_EVENTS = 10_000
const STATUS_SLOTS = [SLOT.error.key, SLOT.undoError.key, SLOT.cancelledAt.key]
const EVERY_ITEM = { from: 0, count: 1_000_000_000 }

/** null: its net is gone. */
export async function loadShown(reading: Reading, instance: InstanceRow): Promise<Shown | null> {
  const net = await reading.net(instance.netHash)
  if (net === null) return null
  const { queries } = reading
  const { id } = instance
  const compiled = indexNet(net)
  const [steps, slots, events, tree, now] = await Promise.all([
    loadSteps(queries, compiled, instance, dagNodes(net)),
    queries.trees.slotsAt({ instanceIds: [id], keys: STATUS_SLOTS }),
    queries.steps.stateEvents({ instanceId: id, limit: MOST_EVENTS }),
    nestedIds(reading, id, MOST_NESTED),
    queries.now(),
  ])
  const usages = await queries.steps.usages({ instanceIds: tree })
  const status = dagStatus({
    instance,
    steps,
    error: slotValue(slots, SLOT.error.key),
    undoError: slotValue(slots, SLOT.undoError.key),
    cancelledAt: slotValue(slots, SLOT.cancelledAt.key),
    compensates: net.onFailure === 'compensate',
    events,
    usages,
    now,
  })
  return { status, steps, before: (step) => nodesBefore(compiled, step) }
}

/** The ids of an instance and everything nested in it. */
export async function nestedIds(reading: Reading, instanceId: string, limit: number): Promise<readonly string[]> {
  const rows = await reading.queries.trees.below({ windows: [{ instanceId, ...EVERY_ITEM }], limit })
  return rows.map(({ id }) => id)
}
