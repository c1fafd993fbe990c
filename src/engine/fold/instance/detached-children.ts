/**
 * Children that are let go. A net tells their ids before they are born, so an id is chosen when it is first asked for.
 * Slot `k:<node>` counts the children of a node and `k:<node>/<n>` has the id of each: an instance that repeats this one
 * lets go of none a second time.
 */
import type { Change, Member } from '../change.ts'
import { slotOf } from '../facts.ts'

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
    const n = this.#counts.get(`${id}/${node}`) ?? ((slotOf(this.#change, id, `k:${node}`) ?? 0) as number)
    const earlier = retryOf === null ? null : slotOf(this.#change, retryOf, `k:${node}/${n}`)
    const chosen = { id: (earlier as string | null) ?? this.#change.deps.newId(), n, before: earlier !== null }
    this.#counts.set(`${id}/${node}`, n + 1)
    this.#chosen.set(place, chosen)
    return chosen
  }

  /** Notes it; false: it lives already. */
  letGo(parent: Member, node: string, fire: number): boolean {
    const { id, n, before } = this.at(parent, node, fire)
    parent.slots.set(`k:${node}`, n + 1)
    parent.slots.set(`k:${node}/${n}`, id)
    return !before
  }
}
