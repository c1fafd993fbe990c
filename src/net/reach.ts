/** What the shape of a net determines: which nodes follow from a node, and whether every node fires at most once. */
import type { CompiledNet } from './compile.ts'
import { continuationsOf, findCycle } from './validate/validate.ts'

const once = new WeakMap<CompiledNet, boolean>()

/** Whether every node fires at most once: no cycle, and no node that more than one token can reach. */
export function firesOnce(net: CompiledNet): boolean {
  const known = once.get(net)
  if (known !== undefined) return known
  const { nodes, entry } = net.net
  const entries = new Set(entry)
  const several = nodes.some(({ key, join }) => {
    const ways = (net.inDegree.get(key) ?? 0) + (entries.has(key) ? 1 : 0)
    return join === 'scope' || (join !== 'count' && ways > 1)
  })
  const targets = (key: string) => (net.byKey.get(key)?.next.arcs ?? []).flatMap(({ to }) => net.byKey.get(to) ?? [])
  const answer = !several && findCycle(nodes, ({ key }) => targets(key)) === null
  once.set(net, answer)
  return answer
}

const downstream = new WeakMap<CompiledNet, Map<string, ReadonlySet<string>>>()

/** Nodes of a net for which the answer is kept. */
const MOST_KEPT = 100

/**
 * The nodes that begin after this one has ended: those that its tokens can reach, and the joins that wait for every branch
 * of a fork this node is inside of. The node itself only if a cycle leads back to it.
 */
export function downstreamOf(net: CompiledNet, key: string): ReadonlySet<string> {
  const kept = downstream.get(net) ?? new Map<string, ReadonlySet<string>>()
  downstream.set(net, kept)
  const known = kept.get(key)
  if (known !== undefined) return known
  const found = reachedFrom(net, [...targetsOf(net, key), ...awaitingJoins(net, key)])
  if (kept.size >= MOST_KEPT) kept.clear()
  kept.set(key, found)
  return found
}

function targetsOf(net: CompiledNet, key: string): readonly string[] {
  const node = net.byKey.get(key)
  return node === undefined ? [] : [...node.next.arcs.map(({ to }) => to), ...continuationsOf(node)]
}

function reachedFrom(net: CompiledNet, first: readonly string[]): ReadonlySet<string> {
  const found = new Set(first)
  const todo = [...found]
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    for (const to of targetsOf(net, at)) {
      if (found.has(to)) continue
      found.add(to)
      todo.push(to)
    }
  }
  return found
}

/** Joins of the scopes that this node may be in: they also wait for branches that do not lead to them. */
function awaitingJoins(net: CompiledNet, key: string): readonly string[] {
  const forks = new Map<string, string[]>()
  for (const node of net.net.nodes) {
    for (const join of continuationsOf(node)) {
      if (join !== key) forks.set(join, [...(forks.get(join) ?? []), node.key])
    }
  }
  return [...forks].filter(([join, from]) => leadsHere(net, key, join, new Set(from))).map(([join]) => join)
}

/** Whether one of these forks leads to the node without passing its join. */
function leadsHere(net: CompiledNet, key: string, join: string, forks: ReadonlySet<string>): boolean {
  const seen = new Set([key])
  const todo = [key]
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    for (const from of net.sources.get(at) ?? []) {
      if (forks.has(from)) return true
      if (from === join || seen.has(from)) continue
      seen.add(from)
      todo.push(from)
    }
  }
  return false
}
