/** Results recorded in one transaction, before they are stored: those of every firing of a node. */
import type { RunRow } from '../../model/rows.ts'
import type { WorkingSet } from './working-set.ts'

type Items = Map<number, string | null>

export class RecordedResults {
  readonly #latest = new Map<string, string | null>()
  /** By `${key}/${fire}`. */
  readonly #at = new Map<string, string | null>()
  readonly #items = new Map<string, Items>()
  readonly #latestItems = new Map<string, number>()

  /** Results of the work of an instance, as JSON text. */
  record({ instanceId, node, fire, item, role, result }: RunRow): void {
    if (instanceId === null || role !== 'work') return
    const key = `${instanceId}/${node}`
    const at = `${key}/${fire}`
    if (item < 0) {
      this.#at.set(at, result)
      this.#latest.set(key, result)
      return
    }
    const items = this.#items.get(at) ?? new Map<number, string | null>()
    items.set(item, result)
    this.#items.set(at, items)
    if (fire >= (this.#latestItems.get(key) ?? 0)) this.#latestItems.set(key, fire)
  }

  /** Records that the result of a firing is that of a nested workflow. */
  putChild(key: string, fire: number, id: string): void {
    this.#at.set(`${key}/${fire}`, JSON.stringify({ $child: id }))
  }

  /**
   * The result of the firing that ended last in this transaction: what follows from it refers to this firing, even if a later
   * one ended before.
   * `key`: `${instance}/${node}`; undefined: none did.
   */
  get(key: string): string | null | undefined {
    return this.#latest.get(key)
  }

  at(key: string, fire: number): string | null | undefined {
    return this.#at.get(`${key}/${fire}`)
  }

  items(key: string, fire: number): ReadonlyMap<number, string | null> | undefined {
    return this.#items.get(`${key}/${fire}`)
  }

  /** The latest firing of a list of which an item ended in this transaction. */
  latestItems(key: string): number | undefined {
    return this.#latestItems.get(key)
  }
}

/** Results of plain nodes recorded in this transaction. */
export function plainResults(
  change: Pick<WorkingSet, 'members' | 'results'>,
  instanceId: string,
): ReadonlyMap<string, string | null> {
  const found = new Map<string, string | null>()
  for (const node of change.members.get(instanceId)?.net.byKey.keys() ?? []) {
    const result = change.results.get(`${instanceId}/${node}`)
    if (result !== undefined) found.set(node, result)
  }
  return found
}
