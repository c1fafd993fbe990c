/**
 * Detached children: roots of their own, which their parent starts and does not wait for. A net names their ids before they
 * are created, so an id is chosen when it is first needed. Slots hold the number of children per node and the id of each: an
 * instance that retries this one starts none of them a second time.
 */
import { partOf } from '../../../net/going-back.ts'
import { SLOT } from '../../../net/slots.ts'
import { NeedMore } from '../need.ts'
import { putSlot, slotOf } from '../slots.ts'
import type { DetachedChild, Member, Slots, WorkingSet } from '../working-set.ts'

type Detaching = Slots & Pick<WorkingSet, 'detached' | 'detachedCounts' | 'deps' | 'asked'>

/** The same id for every call with the same place. */
export function detachedAt(change: Detaching, parent: Member, node: string, fire: number): DetachedChild {
  const { id, retryOf } = parent.row
  const place = `${id}/${node}/${fire}`
  const known = change.detached.get(place)
  if (known !== undefined) return known
  const n = change.detachedCounts.get(`${id}/${node}`) ?? slotOf(change, id, SLOT.detachedCount.key(node)) ?? 0
  const earlier = retryOf === null ? null : startedBefore(change, parent, { node, n, retryOf })
  const chosen = { id: earlier ?? change.deps.newId(), n, before: earlier !== null }
  change.detachedCounts.set(`${id}/${node}`, n + 1)
  change.detached.set(place, chosen)
  return chosen
}

/** The child that the earlier instance started; null: none, or it is started again because its place is repeated. */
function startedBefore(
  change: Detaching,
  parent: Member,
  { node, n, retryOf }: { readonly node: string; readonly n: number; readonly retryOf: string },
): string | null {
  const id = slotOf(change, retryOf, SLOT.detachedChild.key(node, n))
  const back = slotOf(change, parent.row.id, SLOT.goingBack.key)
  if (id === null || back === null) return id
  const known = change.loaded.instances.get(id)
  if (known === undefined && !change.asked.has(id)) {
    change.asked.add(id)
    throw new NeedMore({ instances: [id] })
  }
  // One that retention has removed is old: it is not started again, unless the shape of the net alone says so.
  return partOf(parent.net, back, { node, fire: known?.parentFire ?? 0, item: -1 }) === 'kept' ? id : null
}

/** Records the child in its parent; false: the instance that this one retries has started it already. */
export function recordDetached(change: Detaching, parent: Member, node: string, fire: number): boolean {
  const { id, n, before } = detachedAt(change, parent, node, fire)
  putSlot(parent, SLOT.detachedCount.key(node), n + 1)
  putSlot(parent, SLOT.detachedChild.key(node, n), id)
  return !before
}
