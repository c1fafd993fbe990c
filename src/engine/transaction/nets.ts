/** Caches of compiled nets by hash, and of the net of each instance. The store has the truth. */

import { netHash } from '../../kernel/hash.ts'
import { schemaProblems } from '../../kernel/json-schema.ts'
import { gateProblems } from '../../model/gates.ts'
import type { NetRow } from '../../model/rows.ts'
import type { CompiledNet } from '../../net/compile.ts'
import { compileNet, indexNet, NetError } from '../../net/compile.ts'
import type { Net } from '../../net/net.ts'
import type { Evaluators } from '../fold/evaluators.ts'

const CACHED_NETS = 1000
/** Most nodes and arcs of all nets together: the largest net has 110,000, which take about 40 MB. */
const CACHED_PARTS = 1_000_000
const REMEMBERED_INSTANCES = 20_000

export class Nets {
  readonly #compiled = new Map<string, CompiledNet>()
  #parts = 0
  readonly #ofInstance = new Map<string, string>()
  readonly #stored = new Set<string>()
  readonly #hashes = new WeakMap<Net, string>()
  readonly #evaluators: Evaluators

  constructor(evaluators: Evaluators) {
    this.#evaluators = evaluators
  }

  /** Checks a net of an author (once per object) and returns its hash. */
  admit(net: Net): string {
    let hash = this.#hashes.get(net)
    if (hash === undefined) {
      hash = netHash(net)
      if (!this.#compiled.has(hash)) this.#keep(hash, this.#check(net))
      this.#hashes.set(net, hash)
    } else if (!this.#compiled.has(hash)) this.#keep(hash, indexNet(net))
    return hash
  }

  #check(net: Net): CompiledNet {
    const compiled = compileNet(net, this.#evaluators.of(net.dialect))
    const problems = [...gateProblems(net), ...schemaProblems(net)]
    if (problems.length > 0) throw new NetError(net.name, problems)
    return compiled
  }

  /** The row to store with the first instance that uses the net; null: it is known to be stored. */
  unstored(hash: string): NetRow | null {
    if (this.#stored.has(hash)) return null
    const { net } = this.#compiled.get(hash) as CompiledNet
    return { hash, name: net.name, dialect: net.dialect, net: JSON.stringify(net) }
  }

  stored(hashes: Iterable<string>): void {
    for (const hash of hashes) this.#stored.add(hash)
  }

  /** The store may have lost its nets: each is stored again with the next instance that uses it. */
  forgetStored(): void {
    this.#stored.clear()
  }

  get(hash: string): CompiledNet | undefined {
    return this.#compiled.get(hash)
  }

  load(row: NetRow): CompiledNet {
    const net = indexNet(JSON.parse(row.net) as Net)
    this.#stored.add(row.hash)
    this.#keep(row.hash, net)
    return net
  }

  /** A stored net, which was checked before it was stored: it may be started without another check. */
  adopt(row: NetRow): Net {
    return this.recall(row.hash) ?? this.#adopted(row.hash, this.load(row))
  }

  /** The same from memory, if this process has it: its text, which may be long, need not be read. */
  recall(hash: string): Net | null {
    const known = this.#compiled.get(hash)
    return known === undefined ? null : this.#adopted(hash, known)
  }

  #adopted(hash: string, { net }: CompiledNet): Net {
    this.#hashes.set(net, hash)
    this.#stored.add(hash)
    return net
  }

  remember(instanceId: string, hash: string): void {
    if (this.#ofInstance.size >= REMEMBERED_INSTANCES) this.#ofInstance.clear()
    this.#ofInstance.set(instanceId, hash)
  }

  ofInstance(instanceId: string): CompiledNet | undefined {
    const hash = this.#ofInstance.get(instanceId)
    return hash === undefined ? undefined : this.#compiled.get(hash)
  }

  #keep(hash: string, net: CompiledNet): void {
    if (this.#compiled.has(hash)) return
    this.#parts += partsOf(net)
    this.#makeRoom((known) => this.#stored.has(known))
    // Nets that are not stored yet are needed until they are; too many of them come from failed starts.
    this.#makeRoom(() => true)
    this.#compiled.set(hash, net)
  }

  /** The oldest are removed first. */
  #makeRoom(mayGo: (hash: string) => boolean): void {
    for (const [hash, net] of this.#compiled) {
      if (this.#compiled.size < CACHED_NETS && this.#parts <= CACHED_PARTS) return
      if (!mayGo(hash)) continue
      this.#compiled.delete(hash)
      this.#parts -= partsOf(net)
    }
  }
}

function partsOf({ net }: CompiledNet): number {
  return net.nodes.reduce((sum, node) => sum + 1 + node.next.arcs.length, 0)
}
