/** Results read when somebody asks, never copied into rows: of an instance, and of what came before a run. */
import type { CompiledNet } from '../net/compile.ts'
import type { Json } from '../net/net.ts'
import type { InstanceRow } from '../store/rows.ts'
import type { Store } from '../store/store.ts'
import type { Delivery, ParentResults } from '../worker/port.ts'
import { hasResult, isChildRef } from './facts.ts'
import type { Nets } from './nets.ts'

type ByNode = ReadonlyMap<string, string | null>

/** Nodes that come before a node, by node; `names`: how many in all. */
interface Ancestors {
  readonly of: Map<string, readonly string[]>
  names: number
}

/** Kept per net: in a chain of thousands the lists of all nodes together would be millions of names. */
const MOST_NAMES = 100_000

export class Results {
  readonly #store: Store
  readonly #nets: Nets
  readonly #ancestors = new WeakMap<CompiledNet, Ancestors>()

  constructor(store: Store, nets: Nets) {
    this.#store = store
    this.#nets = nets
  }

  /** By node key, JSON text; `nodes`: only these. An each: an object keyed by item index. A nested workflow: see `nested`. */
  async ofInstance(instanceId: string, nodes: readonly string[] | null): Promise<ByNode> {
    const net = this.#nets.ofInstance(instanceId) ?? (await this.#lookUp(instanceId)).net
    return this.#read(instanceId, net, nodes ?? net.net.nodes.filter(hasResult).map((n) => n.key))
  }

  /** All that came before a run in its own net; before a first node, what came before the nested workflow itself. */
  async before(delivery: Delivery): Promise<ParentResults> {
    if (delivery.instanceId === null || delivery.node === null) return { previous: null, byNode: new Map() }
    const { row, net } = await this.#lookUp(delivery.instanceId)
    const nodes = this.#visible(net, delivery.node, delivery.role)
    const byNode = await this.#read(delivery.instanceId, net, nodes)
    const sources = net.sources.get(delivery.node) ?? []
    if (sources.length === 1) return { previous: byNode.get(sources[0] as string) ?? null, byNode }
    if (sources.length > 1 || delivery.role !== 'work') return { previous: null, byNode }
    return this.#outer(row)
  }

  /** A first node of a nested workflow sees what a plain step in the place of that workflow would see. */
  async #outer(row: InstanceRow): Promise<ParentResults> {
    if (row.parentId === null || row.parentNode === null) return { previous: null, byNode: new Map() }
    const parent = await this.#lookUp(row.parentId)
    const sources = parent.net.sources.get(row.parentNode) ?? []
    if (sources.length === 0) return this.#outer(parent.row)
    const byNode = await this.#read(row.parentId, parent.net, this.#visible(parent.net, row.parentNode, 'work'))
    return { previous: sources.length > 1 ? null : (byNode.get(sources[0] as string) ?? null), byNode }
  }

  #visible(net: CompiledNet, node: string, role: Delivery['role']): readonly string[] {
    if (role === 'final') return workNodes(net)
    const before = this.#ancestorsOf(net, node)
    return role === 'undo' ? [...before, node] : before
  }

  #ancestorsOf(net: CompiledNet, node: string): readonly string[] {
    const known: Ancestors = this.#ancestors.get(net) ?? { of: new Map(), names: 0 }
    this.#ancestors.set(net, known)
    const remembered = known.of.get(node)
    if (remembered !== undefined) return remembered
    const found = new Set<string>()
    const todo = [...(net.sources.get(node) ?? [])]
    for (let key = todo.pop(); key !== undefined; key = todo.pop()) {
      if (found.has(key)) continue
      found.add(key)
      todo.push(...(net.sources.get(key) ?? []))
    }
    const list = [...found].filter((key) => hasResult(net.byKey.get(key)))
    if (known.names + list.length > MOST_NAMES) {
      known.of.clear()
      known.names = 0
    }
    known.of.set(node, list)
    known.names += list.length
    return list
  }

  async #read(instanceId: string, net: CompiledNet, nodes: readonly string[]): Promise<ByNode> {
    if (nodes.length === 0) return new Map()
    const stored = await this.#store.read.results({ instanceId, nodes })
    const found = new Map<string, string | null>()
    for (const node of nodes) {
      const text = stored.get(`${instanceId}/${node}`) ?? null
      const ref = text?.startsWith('{"$child"') ? (JSON.parse(text) as Json) : null
      if (ref !== null && isChildRef(ref)) found.set(node, await this.#nested(ref.$child))
      else if (net.byKey.get(node)?.work.kind === 'each')
        found.set(node, await this.#withChildren(instanceId, node, text))
      else found.set(node, text)
    }
    return found
  }

  /** Items that are nested workflows keep a reference to their child. */
  async #withChildren(instanceId: string, node: string, text: string | null): Promise<string | null> {
    const prefix = `r:${node}/`
    const slots = await this.#store.read.slots({ instanceId, prefix })
    if (slots.length === 0) return text
    const items = (text === null ? {} : JSON.parse(text)) as Record<string, Json>
    for (const slot of slots) {
      const ref = JSON.parse(slot.value) as Json
      if (!isChildRef(ref)) continue
      const nested = await this.#nested(ref.$child)
      items[slot.key.slice(prefix.length)] = nested === null ? null : (JSON.parse(nested) as Json)
    }
    return JSON.stringify(items)
  }

  /** A nested workflow's result: an object keyed by its nodes, or by index where it is one list; finals left out. */
  async #nested(childId: string): Promise<string | null> {
    const { net } = await this.#lookUp(childId)
    const nodes = workNodes(net)
    const results = await this.#read(childId, net, nodes)
    const [first] = nodes
    if (nodes.length === 1 && first !== undefined && net.byKey.get(first)?.work.kind === 'each') {
      return results.get(first) ?? null
    }
    return `{${nodes.map((n) => `${JSON.stringify(n)}:${results.get(n) ?? 'null'}`).join(',')}}`
  }

  async #lookUp(instanceId: string): Promise<{ readonly row: InstanceRow; readonly net: CompiledNet }> {
    const row = await this.#store.read.instance(instanceId)
    if (row === null) throw new Error(`there is no instance ${instanceId}`)
    const known = this.#nets.get(row.netHash)
    if (known !== undefined) return { row, net: known }
    const stored = await this.#store.read.net(row.netHash)
    if (stored === null) throw new Error(`the net of instance ${instanceId} is missing`)
    return { row, net: this.#nets.load(stored) }
  }
}

function workNodes(net: CompiledNet): readonly string[] {
  const finals = new Set(net.net.finals.map((f) => f.node))
  return net.net.nodes.filter((n) => hasResult(n) && !finals.has(n.key)).map((n) => n.key)
}
