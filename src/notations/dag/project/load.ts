/** Loads the rows for the status of an instance in a few statements. */
import type { EngineApi } from '../../../engine/api.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import { indexNet } from '../../../net/compile.ts'
import type { Net, Node } from '../../../net/net.ts'
import { SLOT, slotValue } from '../../../net/slots.ts'
import { loadSteps } from '../../../views/steps.ts'
import { type DagStatus, dagStatus } from './status.ts'

/** The most nested workflows whose costs are added. */
export const MOST_NESTED = 2_000
const MOST_EVENTS = 10_000
const EVERY_ITEM = { from: 0, count: 1_000_000_000 }

/** null: of another notation. */
export async function loadStatus(engine: EngineApi, instance: InstanceRow): Promise<DagStatus | null> {
  if (instance.dialect !== 'dag') return null
  const net = await engine.net(instance.netHash)
  if (net === null) return null
  const { store } = engine
  const { id } = instance
  const compiled = indexNet(net)
  const [steps, slots, events, tree, now] = await Promise.all([
    loadSteps(store.read, compiled, instance, dagNodes(net)),
    store.read.trees.slotsOf({ instanceIds: [id], prefixes: [SLOT.error.prefix, SLOT.cancelledAt.prefix] }),
    store.read.steps.stateEvents({ instanceId: id, limit: MOST_EVENTS }),
    nestedIds(engine, id, MOST_NESTED),
    store.now(),
  ])
  const usages = await store.read.steps.usages({ instanceIds: tree })
  return dagStatus({
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
}

/** The ids of an instance and everything nested in it. */
export async function nestedIds(engine: EngineApi, instanceId: string, limit: number): Promise<readonly string[]> {
  const rows = await engine.queries.trees.below({ windows: [{ instanceId, ...EVERY_ITEM }], limit })
  return rows.map(({ id }) => id)
}

/** The nodes of the steps. Joins that the compiler inserts between them do no work and have no name in the file. */
export function dagNodes(net: Net): readonly Node[] {
  return net.nodes.filter(({ work }) => work.kind !== 'pass')
}
