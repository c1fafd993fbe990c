/** Programs of runs: part of the net, so that payloads need not repeat what never changes. */

import { inputPlace } from '../../model/retried-runs.ts'
import type { CompiledNet } from '../../net/compile.ts'
import type { Json, Work } from '../../net/net.ts'
import type { Store } from '../../store/store.ts'
import type { Delivery } from '../../worker/port.ts'
import type { Nets } from '../transaction/nets.ts'

type Place = Pick<Delivery, 'instanceId' | 'node' | 'item' | 'role' | 'meta'>

export class Programs {
  readonly #store: Store
  readonly #nets: Nets

  constructor(store: Store, nets: Nets) {
    this.#store = store
    this.#nets = nets
  }

  /** null: a bare run, or its node has no program. All runs of a node share the object, which must not be changed. */
  async of(run: Place): Promise<Json | null> {
    const { instanceId, node, role } = inputPlace(run)
    if (instanceId === null || node === null) return null
    const found = (await this.#net(instanceId))?.byKey.get(node)
    if (found === undefined) return null
    return programOf(role === 'undo' ? (found.undo?.work ?? null) : found.work)
  }

  /** Whether arguments of its runs may be stored separately; true if the instance no longer exists. */
  async storesArguments(instanceId: string): Promise<boolean> {
    return (await this.#net(instanceId))?.keepsAside ?? true
  }

  /** null: the instance no longer exists. */
  async #net(instanceId: string): Promise<CompiledNet | null> {
    const remembered = this.#nets.ofInstance(instanceId)
    if (remembered !== undefined) return remembered
    const row = await this.#store.read.instance(instanceId)
    if (row === null) return null
    const known = this.#nets.get(row.netHash)
    const stored = known === undefined ? await this.#store.read.net(row.netHash) : null
    if (known === undefined && stored === null) return null
    this.#nets.remember(instanceId, row.netHash)
    return known ?? (stored === null ? null : this.#nets.load(stored))
  }
}

function programOf(work: Work | null): Json | null {
  if (work?.kind === 'each') return programOf(work.body)
  return work?.kind === 'run' ? (work.program ?? null) : null
}
