/** Which work of an ended instance a rollback has undone. */
import type { Queries } from '../../../model/queries/queries.ts'
import type { WorkCount } from '../../../model/queries/work.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { EarlierPlace } from '../../../net/going-back.ts'
import type { Node } from '../../../net/net.ts'
import { SLOT, type UndoEntry } from '../../../net/slots.ts'

export class UndoneWork {
  readonly #outcome: InstanceRow['outcome']
  /** After a rollback that stopped: the places that it did not come to, by node. */
  readonly #left = new Map<string, UndoEntry[]>()

  private constructor(outcome: InstanceRow['outcome'], left: readonly UndoEntry[]) {
    this.#outcome = outcome
    for (const place of left) this.#left.set(place.node, [...(this.#left.get(place.node) ?? []), place])
  }

  static async of(queries: Queries, { id, outcome }: InstanceRow): Promise<UndoneWork> {
    if (outcome !== 'rolled_back_partial') return new UndoneWork(outcome, [])
    const slots = await queries.slots({ instanceId: id, prefix: SLOT.undo.prefix })
    return new UndoneWork(
      outcome,
      slots.map(({ value }) => JSON.parse(value) as UndoEntry),
    )
  }

  /** How many of these pieces of work have been undone. `fire`: the firing that `side` refers to. */
  count(node: Node, done: Pick<WorkCount, 'side' | 'count'>, fire: number): number {
    if (node.undo === null) return 0
    if (this.#outcome === 'rolled_back') return done.count
    if (this.#outcome !== 'rolled_back_partial') return 0
    const left = (this.#left.get(node.key) ?? []).filter((place) => Math.sign(place.fire - fire) === done.side)
    return Math.max(0, done.count - left.length)
  }

  /** 1: this piece of work has been undone. */
  countItem(node: Node, { fire, item }: EarlierPlace): number {
    if (node.undo === null) return 0
    if (this.#outcome !== 'rolled_back_partial') return this.#outcome === 'rolled_back' ? 1 : 0
    return (this.#left.get(node.key) ?? []).some((place) => place.fire === fire && place.item === item) ? 0 : 1
  }
}

/** The work of a run or a nested workflow has been done. */
export function hasEffect(status: string): boolean {
  return status === 'succeeded' || status === 'completed'
}
