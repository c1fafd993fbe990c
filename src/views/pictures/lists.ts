/**
 * How many items of a list are in which state, without reading the items of a list that is open: its scope counts them. Of
 * a list that has closed the items are counted as far as a limit, unless the net keeps their numbers or none has failed.
 */
import type { HeldItems, ListRows } from '../../model/queries/places.ts'
import type { Queries } from '../../model/queries/queries.ts'
import type { InstanceRow, RunStatus } from '../../model/rows.ts'
import type { ScopeSlot } from '../../net/firing/scopes.ts'
import type { Closed } from '../../net/lists.ts'
import type { Node } from '../../net/net.ts'
import { SLOT, type SlotKey, slotValue } from '../../net/slots.ts'

export interface ItemCounts {
  /** Not started, or not yet issued. */
  readonly pending: number
  readonly running: number
  readonly completed: number
  readonly failed: number
  /** false: at least that many. */
  readonly exact: boolean
}

/** Items, and held runs, that are read for the counts of one page. */
export const MOST_COUNTED_ITEMS = 10_000

/** Lists that have not begun are left out. */
export async function loadLists(
  { places, trees }: Queries,
  instance: InstanceRow,
  nodes: readonly Node[],
): Promise<ReadonlyMap<string, ItemCounts>> {
  const found = new Map<string, ItemCounts>()
  if (nodes.length === 0) return found
  const { id: instanceId } = instance
  const most = MOST_COUNTED_ITEMS
  // The slots are read after the rows: a scope that closes in between leaves its rows ended.
  const held = await places.heldItems({ instanceId, most })
  const rows = await places.lists({ instanceId, nodes: nodes.map(({ key }) => key), most })
  const keys: SlotKey[] = rows.flatMap(({ node, fire }) => [SLOT.scope.key(fire), SLOT.closedList.key(node)])
  const slots = await trees.slotsAt({ instanceIds: [instanceId], keys })
  for (const list of rows) {
    const scope: ScopeSlot | null = slotValue(slots, SLOT.scope.key(list.fire))
    const closed: Closed | null = slotValue(slots, SLOT.closedList.key(list.node))
    found.set(list.node, countsOf({ instance, list, scope, closed, held }))
  }
  return found
}

interface Facts {
  readonly instance: Pick<InstanceRow, 'phase' | 'failed' | 'state'>
  readonly list: ListRows
  readonly scope: ScopeSlot | null
  readonly closed: Closed | null
  readonly held: HeldItems
}

export function countsOf({ instance, list, scope, closed, held }: Facts): ItemCounts {
  const rows = countedRows(list)
  if (rows.exact) return withUnissued(instance, rows, scope)
  // Outside of the forward phase nothing is routed, so the scope no longer counts.
  if (instance.phase === 'forward' && scope?.kind === 'each') return countedScope(list, scope, held)
  if (closed?.fire === list.fire) return ended(closed.success, closed.failed)
  if (instance.state === 'completed' && instance.failed === 0) return ended(list.lastItem + 1, 0)
  return rows
}

function countedRows({ counts }: ListRows): ItemCounts {
  const of = (status: RunStatus): number => counts.get(status) ?? 0
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return {
    pending: of('pending'),
    running: of('leased'),
    completed: of('succeeded'),
    failed: of('failed') + of('cancelled'),
    exact: all < MOST_COUNTED_ITEMS,
  }
}

/** Items that are still to be issued have no rows. */
function withUnissued({ phase }: Facts['instance'], rows: ItemCounts, scope: ScopeSlot | null): ItemCounts {
  if (phase !== 'forward' || scope?.kind !== 'each') return rows
  return { ...rows, pending: rows.pending + Math.max(0, scope.total - scope.next) }
}

function countedScope(
  { node, fire }: ListRows,
  scope: ScopeSlot & { readonly kind: 'each' },
  held: HeldItems,
): ItemCounts {
  const { total, live, failed, inFlight, dropped = 0 } = scope
  const running = Math.min(inFlight, held.counts.get(`${node}/${fire}`) ?? 0)
  return {
    pending: live - running,
    running,
    completed: total - live - failed - dropped,
    failed,
    exact: held.complete,
  }
}

function ended(completed: number, failed: number): ItemCounts {
  return { pending: 0, running: 0, completed, failed, exact: true }
}
