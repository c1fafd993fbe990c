/**
 * Children that are let go. A net tells their ids before they are born, so an id is chosen when it is first asked for.
 * Slots count the children of a node and have the id of each: an instance that repeats this one lets go of none a second
 * time.
 */

import { SLOT } from '../../../net/slots.ts'
import type { Change, Member } from '../change.ts'
import { putSlot, slotOf } from '../facts.ts'

interface Detached {
  readonly id: string
  /** The nth of its node. */
  readonly n: number
  /** The instance that is being repeated let it go already. */
  readonly before: boolean
}

export class DetachedChildren {
  readonly #change: Change
  readonly #chosen = new Map<string, Detached>()
  /** By node: how many there are, with those of this transaction. */
  readonly #counts = new Map<string, number>()

  constructor(change: Change) {
    this.#change = change
  }

  /** Always the same for a place. */
  at(parent: Member, node: string, fire: number): Detached {
    const { id, retryOf } = parent.row
    const place = `${id}/${node}/${fire}`
    const known = this.#chosen.get(place)
    if (known !== undefined) return known
    const n = this.#counts.get(`${id}/${node}`) ?? slotOf(this.#change, id, SLOT.detachedCount.key(node)) ?? 0
    const earlier = retryOf === null ? null : slotOf(this.#change, retryOf, SLOT.detachedChild.key(node, n))
    const chosen = { id: earlier ?? this.#change.deps.newId(), n, before: earlier !== null }
    this.#counts.set(`${id}/${node}`, n + 1)
    this.#chosen.set(place, chosen)
    return chosen
  }

  /** Notes it; false: it lives already. */
  letGo(parent: Member, node: string, fire: number): boolean {
    const { id, n, before } = this.at(parent, node, fire)
    putSlot(parent, SLOT.detachedCount.key(node), n + 1)
    putSlot(parent, SLOT.detachedChild.key(node, n), id)
    return !before
  }
}
