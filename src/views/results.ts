/** Results are read on request, never copied into rows: those of an instance, and those before a run. */

import { LIST_BYTES, TOO_LONG } from '../model/queries/firings.ts'
import type { Queries } from '../model/queries/queries.ts'
import { type InputPlace, inputPlace } from '../model/retried-runs.ts'
import type { InstanceRow, NetRow, RunRow } from '../model/rows.ts'
import { ALWAYS_BYTES, omitted } from '../model/shown.ts'
import type { CompiledNet } from '../net/compile.ts'
import { type Closed, collected, collects, hasResult, isChildRef, returned, statsOf } from '../net/lists.ts'
import type { EachWork, Json, Work } from '../net/net.ts'
import { SLOT } from '../net/slots.ts'

type ByNode = ReadonlyMap<string, string | null>

export interface ResultsBefore {
  /** Result of the previous step, if there is exactly one (JSON text); null: none. */
  readonly previous: string | null
  /** By node key, JSON text. */
  readonly byNode: ByNode
}

/** A cache of compiled nets. */
export interface KnownNets {
  get(hash: string): CompiledNet | undefined
  load(row: NetRow): CompiledNet
  ofInstance(instanceId: string): CompiledNet | undefined
}

/** Nodes that come before a node, by node; `names`: how many in all. */
interface Ancestors {
  readonly of: Map<string, readonly string[]>
  names: number
}

/** Bytes that may still be read; shared by an instance and the instances nested in it. */
interface Budget {
  left: number
}

/** Names kept per net: in a chain of thousands of nodes, the lists of all nodes together would have millions. */
const MOST_NAMES = 100_000

const NOTHING: ResultsBefore = { previous: null, byNode: new Map() }

export class Results {
  readonly #queries: Queries
  readonly #nets: KnownNets
  readonly #ancestors = new WeakMap<CompiledNet, Ancestors>()

  constructor(queries: Queries, nets: KnownNets) {
    this.#queries = queries
    this.#nets = nets
  }

  /**
   * By node key, JSON text; `nodes`: only these. An each: an object keyed by item index. A nested workflow: see
   * `nested`.
   */
  async ofInstance(instanceId: string, nodes: readonly string[] | null): Promise<ByNode> {
    const net = this.#nets.ofInstance(instanceId) ?? (await this.#lookUp(instanceId)).net
    return this.#read(instanceId, net, nodes ?? net.net.nodes.filter(hasResult).map((n) => n.key))
  }

  /**
   * For display: results until their sum exceeds `maxBytes`, then markers (model/shown.ts). Nested results count too.
   */
  async shown(instanceId: string, maxBytes: number): Promise<ByNode> {
    const { net } = await this.#lookUp(instanceId)
    const nodes = net.net.nodes.filter(hasResult).map((n) => n.key)
    const found = new Map<string, string | null>()
    const budget = { left: maxBytes }
    const read = await this.#read(instanceId, net, nodes, budget)
    let left = maxBytes
    for (const [node, text] of read) {
      const bytes = text === null ? 0 : Buffer.byteLength(text)
      const fits = bytes <= left || bytes <= ALWAYS_BYTES
      found.set(node, fits ? text : omitted(bytes))
      if (fits) left -= bytes
    }
    return found
  }

  /** The results before a run in its own net; before a first node, those before the nested workflow itself. */
  async before(run: InputPlace & Pick<RunRow, 'meta' | 'rootId'>): Promise<ResultsBefore> {
    const { instanceId, node, role } = inputPlace(run)
    if (instanceId === null || node === null) return NOTHING
    const net = this.#nets.ofInstance(instanceId) ?? (await this.#find(instanceId))?.net
    // Only a retried run may exist longer than the workflow that its inputs come from.
    if (net === undefined) return NOTHING
    const sources = net.sources.get(node) ?? []
    if (sources.length === 0 && role === 'work') {
      return instanceId === run.rootId ? NOTHING : this.#outer((await this.#lookUp(instanceId)).row)
    }
    const byNode = await this.#read(instanceId, net, this.#visible(net, node, role))
    return { previous: sources.length === 1 ? (byNode.get(sources[0] as string) ?? null) : null, byNode }
  }

  /** A first node of a nested workflow sees what a plain step in the place of that workflow would see. */
  async #outer(row: InstanceRow): Promise<ResultsBefore> {
    if (row.parentId === null || row.parentNode === null) return NOTHING
    const parent = await this.#lookUp(row.parentId)
    const sources = parent.net.sources.get(row.parentNode) ?? []
    if (sources.length === 0) return this.#outer(parent.row)
    const byNode = await this.#read(row.parentId, parent.net, this.#visible(parent.net, row.parentNode, 'work'))
    return { previous: sources.length > 1 ? null : (byNode.get(sources[0] as string) ?? null), byNode }
  }

  #visible(net: CompiledNet, node: string, role: RunRow['role']): readonly string[] {
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

  async #read(
    instanceId: string,
    net: CompiledNet,
    nodes: readonly string[],
    budget: Budget | null = null,
  ): Promise<ByNode> {
    if (nodes.length === 0) return new Map()
    const maxBytes = budget === null ? {} : { maxBytes: Math.max(0, budget.left) }
    const workAt = (node: string): Work | undefined => net.byKey.get(node)?.work
    const plain = nodes.filter((node) => !collects(workAt(node)))
    const stored =
      plain.length === 0 ? new Map() : await this.#queries.results({ instanceId, nodes: plain, ...maxBytes })
    const found = new Map<string, string | null>()
    for (const node of nodes) {
      const work = workAt(node)
      const text: string | null = stored.get(`${instanceId}/${node}`) ?? null
      if (budget !== null) budget.left -= text?.length ?? 0
      const ref = text?.startsWith('{"$child"') ? (JSON.parse(text) as Json) : null
      if (ref !== null && isChildRef(ref)) found.set(node, await this.#nested(ref.$child, returnsOf(work), budget))
      else if (collects(work)) found.set(node, await this.#list(instanceId, node, work))
      else if (work?.kind === 'each') found.set(node, await this.#withChildren(instanceId, node, work, text))
      else found.set(node, text)
    }
    return found
  }

  /** The result of the latest firing that ended; null: none has. */
  async #list(instanceId: string, node: string, work: EachWork): Promise<string | null> {
    const slot = await this.#queries.slot({ instanceId, key: SLOT.closedList.key(node) })
    if (slot === null) return null
    const closed = JSON.parse(slot) as Closed
    const { fire } = closed
    const wanted = { instanceId, node, fire, maxBytes: LIST_BYTES }
    const own = closed.total === 0 ? null : await this.#queries.resultAt(wanted)
    if (own === TOO_LONG) return JSON.stringify(longListShown(closed))
    const all = work.body?.kind === 'run' ? own : await this.#withChildren(instanceId, node, work, own, fire)
    return JSON.stringify(collected(closed, all === null ? null : (JSON.parse(all) as Json)))
  }

  /** Items that are nested workflows keep a reference to their child. */
  async #withChildren(
    instanceId: string,
    node: string,
    work: EachWork,
    text: string | null,
    fire?: number,
  ): Promise<string | null> {
    const prefix = SLOT.itemResult.prefixOf(node)
    const refs = (await this.#queries.slots({ instanceId, prefix })).flatMap(({ key, value }) => {
      const ref = JSON.parse(value) as Json
      return isChildRef(ref) ? [{ item: key.slice(prefix.length), ...ref }] : []
    })
    // An index that the latest firing does not have is left from an earlier one.
    const latest = fire ?? refs.reduce((last, ref) => Math.max(last, ref.fire ?? 0), 0)
    const own = refs.filter((ref) => ref.fire === undefined || ref.fire === latest)
    if (own.length === 0) return text
    const items = (text === null ? {} : JSON.parse(text)) as Record<string, Json>
    for (const { item, $child } of own) {
      // A list collects the results of items that succeeded.
      if (fire !== undefined && (await this.#lookUp($child)).row.state !== 'completed') continue
      const nested = await this.#nested($child, returnsOf(work.body ?? undefined))
      items[item] = nested === null ? null : (JSON.parse(nested) as Json)
    }
    return JSON.stringify(items)
  }

  /** A nested workflow's result: an object keyed by its nodes, or by index if it is a single list; without finals. */
  async #nested(childId: string, returns: string | undefined, budget: Budget | null = null): Promise<string | null> {
    const { net } = await this.#lookUp(childId)
    const nodes = workNodes(net)
    const results = await this.#read(childId, net, nodes, budget)
    const [first] = nodes
    if (returns === undefined && nodes.length === 1 && first !== undefined && isKeyedList(net, first)) {
      return results.get(first) ?? null
    }
    const text = `{${nodes.map((n) => `${JSON.stringify(n)}:${results.get(n) ?? 'null'}`).join(',')}}`
    if (returns === undefined) return text
    return JSON.stringify(returned(JSON.parse(text) as { readonly [node: string]: Json }, returns))
  }

  async #lookUp(instanceId: string): Promise<{ readonly row: InstanceRow; readonly net: CompiledNet }> {
    const found = await this.#find(instanceId)
    if (found === null) throw new Error(`there is no instance ${instanceId}`)
    return found
  }

  async #find(instanceId: string): Promise<{ readonly row: InstanceRow; readonly net: CompiledNet } | null> {
    const row = await this.#queries.instance(instanceId)
    if (row === null) return null
    const known = this.#nets.get(row.netHash)
    if (known !== undefined) return { row, net: known }
    const stored = await this.#queries.net(row.netHash)
    if (stored === null) throw new Error(`the net of instance ${instanceId} is missing`)
    return { row, net: this.#nets.load(stored) }
  }
}

function workNodes(net: CompiledNet): readonly string[] {
  const finals = new Set(net.net.finals.map((f) => f.node))
  return net.net.nodes.filter((n) => hasResult(n) && !finals.has(n.key)).map((n) => n.key)
}

function returnsOf(work: Work | undefined): string | undefined {
  return work?.kind === 'child' ? work.returns : undefined
}

function isKeyedList(net: CompiledNet, node: string): boolean {
  const work = net.byKey.get(node)?.work
  return work?.kind === 'each' && !collects(work)
}

/** Its counts, without the results. */
function longListShown(closed: Closed): Json {
  const omitted = `they are longer than ${LIST_BYTES} bytes together; read them item by item`
  return { results: null, results_omitted: omitted, stats: statsOf(closed) }
}
