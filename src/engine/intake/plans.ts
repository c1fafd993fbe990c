/**
 * The plan of a deployed definition, which contains everything that a start needs: written when it is deployed, with nets by
 * their hashes, and read when it is started. Plans are cached by weight: a definition of ten thousand steps must not be read
 * for every start, and must not displace a thousand small ones.
 */

import { PetrelError } from '../../kernel/errors.ts'
import type { DefinitionHead, DefinitionRow } from '../../model/definitions.ts'
import type { NetRow } from '../../model/rows.ts'
import type { Planned, Startable, StartLimits } from '../../model/start.ts'
import type { Net } from '../../net/net.ts'
import type { Store } from '../../store/store.ts'
import type { Nets } from '../transaction/nets.ts'
import { checkStart } from './start-check.ts'

interface Plan extends Omit<Startable, 'net' | 'nets'> {
  readonly net: string
  readonly nets: readonly string[]
}

interface Kept {
  readonly row: DefinitionRow
  readonly start: Startable
  readonly weight: number
}

/** In characters of JSON; the objects take several times as much. */
const MOST_WEIGHT = 32 * 1024 * 1024
/** Average length in the text of a net. */
const CHARACTERS_PER_NODE = 700

/** Refuses what a start would refuse. */
export function planStart(start: Startable, known: Nets, limits: StartLimits): Planned {
  const { hashes } = checkStart(start, known, limits)
  const { net, nets = [], ...rest } = start
  const [netHash, ...nested] = hashes as readonly [string, ...string[]]
  const rows = [net, ...nets].map(
    (n, i): NetRow => ({ hash: hashes[i] as string, name: n.name, dialect: n.dialect, net: JSON.stringify(n) }),
  )
  const plan: Plan = { ...rest, net: netHash, nets: nested }
  return { plan: JSON.stringify(plan), netHash, nets: rows }
}

export class Plans {
  readonly #store: Store
  readonly #nets: Nets
  readonly #kept = new Map<string, Kept>()
  #weight = 0

  constructor(store: Store, nets: Nets) {
    this.#store = store
    this.#nets = nets
  }

  /** null: the definition has another text by now. */
  async of({ id, sourceHash }: DefinitionHead): Promise<Pick<Kept, 'row' | 'start'> | null> {
    const known = this.#kept.get(id)
    if (known !== undefined && known.row.sourceHash === sourceHash) {
      // The most recently used one is removed last.
      this.#kept.delete(id)
      this.#kept.set(id, known)
      return known
    }
    const row = await this.#store.definitions.byId(id)
    if (row === null || row.sourceHash !== sourceHash) return null
    const kept = await this.#read(row)
    this.#keep(kept)
    return kept
  }

  async #read(row: DefinitionRow): Promise<Kept> {
    const { net, nets, ...rest } = JSON.parse(row.plan) as Plan
    const hashes = [net, ...nets]
    // Nets that were deployed by this process are in memory; the text of others, which may be megabytes, is read.
    const recalled = new Map(hashes.map((hash) => [hash, this.#nets.recall(hash)]))
    const unknown = [...recalled].flatMap(([hash, known]) => (known === null ? hash : []))
    const texts = unknown.length === 0 ? [] : await this.#store.read.trees.nets(unknown)
    const found = new Map(texts.map((n) => [n.hash, n]))
    let weight = row.source.length + row.plan.length
    const loaded = hashes.map((hash): Net => {
      const known = recalled.get(hash) ?? null
      if (known !== null) {
        weight += known.nodes.length * CHARACTERS_PER_NODE
        return known
      }
      const stored = found.get(hash)
      if (stored === undefined) {
        const which = `${row.name} ${row.version}`
        throw new PetrelError('engine_error', `the net of definition '${which}' is missing; deploy it again`)
      }
      weight += stored.net.length
      return this.#nets.adopt(stored)
    })
    const [own, ...nested] = loaded as [Net, ...Net[]]
    return { row, start: { ...rest, net: own, nets: nested }, weight }
  }

  #keep(kept: Kept): void {
    const { id } = kept.row
    this.#weight += kept.weight - (this.#kept.get(id)?.weight ?? 0)
    this.#kept.delete(id)
    this.#kept.set(id, kept)
    for (const [oldest, { weight }] of this.#kept) {
      if (this.#weight <= MOST_WEIGHT || oldest === id) return
      this.#kept.delete(oldest)
      this.#weight -= weight
    }
  }
}
