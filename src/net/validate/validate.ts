/** What a net must satisfy before it is stored. Every problem names its place and the correct form. */
import type { Evaluate } from '../facts.ts'
import { isMap } from '../json.ts'
import type { Json, Net, Node } from '../net.ts'
import { checkMs, checkRetry, type Problem, type Report } from './policy.ts'
import { checkWork } from './work.ts'

export const MAX_NODES = 10_000
export const MAX_ARCS = 100_000
export const MAX_KEY_LENGTH = 128
/** A reference has to fit in itself. */
export const MIN_INLINE_BYTES = 64

export function findProblems(net: Net, evaluate: Evaluate | null): readonly Problem[] {
  const problems: Problem[] = []
  const report: Report = (path, message) => problems.push({ path, message })
  if (net.nodes.length === 0) report('nodes', 'a net needs at least one node')
  // A pass node costs no more than its arcs do, and the number of arcs is limited.
  const working = net.nodes.filter((n) => n.work.kind !== 'pass').length
  if (working > MAX_NODES) {
    report('nodes', `${working} nodes; at most ${MAX_NODES} are allowed: use an each or child nets`)
  }
  const arcs = net.nodes.reduce((sum, n) => sum + n.next.arcs.length, 0)
  if (arcs > MAX_ARCS) report('nodes', `${arcs} arcs; at most ${MAX_ARCS} are allowed`)
  const byKey = new Map<string, Node>()
  for (const [i, node] of net.nodes.entries()) {
    const path = `nodes[${i}]`
    if (node.key === '' || node.key.length > MAX_KEY_LENGTH) {
      report(`${path}.key`, `a key has 1 to ${MAX_KEY_LENGTH} characters`)
    }
    if (byKey.has(node.key)) report(`${path}.key`, `the key '${node.key}' is used twice`)
    byKey.set(node.key, node)
  }
  if (problems.length > 0) return problems
  for (const node of net.nodes) checkNode(node, byKey, report, evaluate)
  checkEntry(net, byKey, report)
  checkFinals(net, byKey, report)
  checkOptions(net, report)
  if (problems.length > 0) return problems
  checkReachable(net, byKey, report)
  checkPassCycles(net, byKey, report)
  checkCountJoins(net, byKey, report)
  return problems
}

function checkNode(node: Node, byKey: ReadonlyMap<string, Node>, report: Report, evaluate: Evaluate | null): void {
  const at = `nodes.${node.key}`
  const parses = (path: string, source: Json | null, names: (e: Evaluate) => unknown): void => {
    if (source === null || evaluate === null) return
    try {
      names(evaluate)
    } catch (error) {
      report(path, error instanceof Error ? error.message : String(error))
    }
  }
  const expression = (path: string, source: string | null): void =>
    parses(path, source, (e) => e.names(source as string))
  const template = (path: string, source: Json | null): void => parses(path, source, (e) => e.templateNames(source))
  for (const [i, arc] of node.next.arcs.entries()) {
    const path = `${at}.next.arcs[${i}]`
    if (!byKey.has(arc.to)) report(`${path}.to`, `there is no node '${arc.to}'`)
    expression(`${path}.when`, arc.when)
    template(`${path}.args`, arc.args as Json)
    template(`${path}.set`, arc.set as Json)
  }
  const scopes = continuationsOf(node)
  for (const scope of scopes) {
    const continuation = byKey.get(scope)
    if (continuation === undefined) report(`${at}.next.scope`, `there is no node '${scope}'`)
    else if (continuation.join !== 'scope') report(`${at}.next.scope`, `node '${scope}' must have join: scope`)
  }
  if (node.next.scope !== null && scopes.length === 0) report(`${at}.next.scope`, 'at least one node, or null')
  if (new Set(scopes).size < scopes.length) report(`${at}.next.scope`, 'each node only once')
  if (scopes.length > 0 && node.next.arcs.length === 0) {
    report(`${at}.next.scope`, 'a fork that opens a scope needs arcs')
  }
  for (const [i, rule] of (node.admit?.rules ?? []).entries()) expression(`${at}.admit.rules[${i}].when`, rule.when)
  if (node.undo !== null && node.work.kind === 'pass')
    report(`${at}.undo`, 'a pass node does nothing that could be undone')
  checkRetry(node.retry, `${at}.retry`, report)
  checkRetry(node.undo?.retry ?? null, `${at}.undo.retry`, report)
  checkMs(node.timeout?.ms ?? null, `${at}.timeout.ms`, report)
  checkMs(node.undo?.timeout?.ms ?? null, `${at}.undo.timeout.ms`, report)
  for (const [name, entry] of Object.entries(node.set ?? {})) template(`${at}.set.${name}`, entry)
  checkWork(node, at, { report, expression, template })
}

function checkEntry(net: Net, byKey: ReadonlyMap<string, Node>, report: Report): void {
  if (net.entry.length === 0) report('entry', 'a net needs at least one entry node')
  const seen = new Set<string>()
  for (const [i, key] of net.entry.entries()) {
    if (!byKey.has(key)) report(`entry[${i}]`, `there is no node '${key}'`)
    if (seen.has(key)) report(`entry[${i}]`, `node '${key}' is an entry twice`)
    seen.add(key)
  }
  checkMs(net.timeoutMs, 'timeoutMs', report)
  checkMs(net.undoTimeoutMs, 'undoTimeoutMs', report)
}

function checkOptions({ input, inlineBytes }: Net, report: Report): void {
  if (input !== undefined && !isMap(input)) report('input', 'defaults of the input are a map, by key')
  if (inlineBytes !== undefined && !(Number.isInteger(inlineBytes) && inlineBytes >= MIN_INLINE_BYTES)) {
    report('inlineBytes', `a whole number of at least ${MIN_INLINE_BYTES}`)
  }
}

function checkFinals(net: Net, byKey: ReadonlyMap<string, Node>, report: Report): void {
  const seen = new Set<string>()
  for (const [i, final] of net.finals.entries()) {
    const node = byKey.get(final.node)
    if (node === undefined) report(`finals[${i}].node`, `there is no node '${final.node}'`)
    else if (node.work.kind === 'gate' || node.work.kind === 'each') {
      report(`finals[${i}].node`, `a final is a run, a child or a pass; node '${final.node}' is a ${node.work.kind}`)
    } else if (node.work.kind === 'child' && node.work.mode === 'detached') {
      report(`finals[${i}].node`, 'a child that is a final is attached')
    }
    if (node?.appeal !== undefined) report(`finals[${i}].node`, `a final is not appealed, node '${final.node}' is`)
    if (seen.has(final.node)) report(`finals[${i}].node`, `node '${final.node}' is a final twice`)
    seen.add(final.node)
  }
}

/** The joins that a fork opens scopes for, the outermost first. */
export function continuationsOf({ next }: Node): readonly string[] {
  if (next.scope === null) return []
  return typeof next.scope === 'string' ? [next.scope] : next.scope
}

function targets(node: Node): readonly string[] {
  return [...node.next.arcs.map((a) => a.to), ...continuationsOf(node)]
}

function checkReachable(net: Net, byKey: ReadonlyMap<string, Node>, report: Report): void {
  const reached = new Set<string>([...net.entry, ...net.finals.map((f) => f.node)])
  const todo = [...reached]
  for (let key = todo.pop(); key !== undefined; key = todo.pop()) {
    for (const to of targets(byKey.get(key) as Node)) {
      if (reached.has(to)) continue
      reached.add(to)
      todo.push(to)
    }
  }
  for (const node of net.nodes) {
    if (!reached.has(node.key)) report(`nodes.${node.key}`, 'no path leads here from an entry')
  }
  const continuations = new Set(net.nodes.flatMap(continuationsOf))
  for (const node of net.nodes) {
    if (node.join === 'scope' && !continuations.has(node.key)) {
      report(`nodes.${node.key}.join`, 'a scope join needs a fork whose next.scope names it')
    }
  }
}

/** A cycle in which no node does work would never end. */
function checkPassCycles(net: Net, byKey: ReadonlyMap<string, Node>, report: Report): void {
  const idle = (n: Node): boolean => n.work.kind === 'pass' || (n.work.kind === 'child' && n.work.mode === 'detached')
  const cycle = findCycle(net.nodes.filter(idle), (n) =>
    targets(n)
      .map((k) => byKey.get(k) as Node)
      .filter(idle),
  )
  if (cycle !== null) report(`nodes.${cycle[0]}`, `pass nodes form a cycle that does no work: ${cycle.join(' → ')}`)
}

/** Count joins wait for every incoming arc, so every token that leads to them must come exactly once. */
function checkCountJoins(net: Net, byKey: ReadonlyMap<string, Node>, report: Report): void {
  const sources = new Map<string, Node[]>()
  for (const node of net.nodes) {
    for (const arc of node.next.arcs) {
      const before = sources.get(arc.to)
      if (before === undefined) sources.set(arc.to, [node])
      else before.push(node)
    }
  }
  const entry = new Set(net.entry)
  const counted = net.nodes.filter((n) => n.join === 'count')
  for (const node of counted) {
    if (entry.has(node.key) && (sources.get(node.key)?.length ?? 0) > 0) {
      report(`nodes.${node.key}.join`, 'an entry node that counts its incoming arcs must have none')
    }
  }
  // Computed once per node, not once per outgoing arc.
  const guarded = new Set(net.nodes.filter((n) => n.next.arcs.some((a) => a.when !== null)))
  const before = new Set<string>()
  const todo = [...counted]
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    for (const source of sources.get(node.key) ?? []) {
      const at = `nodes.${source.key}`
      const arcs = source.next.arcs
      if (guarded.has(source)) report(`${at}.next`, `guards are not allowed on the way to count join '${node.key}'`)
      if (source.next.mode === 'first' && arcs.length > 1) {
        report(`${at}.next.mode`, `'first' leaves arcs out on the way to count join '${node.key}'; use 'every'`)
      }
      if (source.next.scope !== null) report(`${at}.next.scope`, `a scope cannot lead to count join '${node.key}'`)
      if (source.admit?.onDeny === 'discard') {
        report(`${at}.admit.onDeny`, `discarding would starve count join '${node.key}'; use 'hold'`)
      }
      const arrivals = (sources.get(source.key)?.length ?? 0) + (entry.has(source.key) ? 1 : 0)
      if (source.join !== 'count' && arrivals > 1) {
        report(
          `${at}.join`,
          `fires once per token (${arrivals} can come) but leads to count join '${node.key}'; use join: count`,
        )
      }
      if (before.has(source.key)) continue
      before.add(source.key)
      todo.push(source)
    }
  }
  const involved = net.nodes.filter((n) => n.join === 'count' || before.has(n.key))
  const inside = new Set(involved)
  const cycle = findCycle(involved, (n) => n.next.arcs.map((a) => byKey.get(a.to) as Node).filter((t) => inside.has(t)))
  if (cycle !== null) report(`nodes.${cycle[0]}`, `a cycle leads through a count join: ${cycle.join(' → ')}`)
}

/** The keys of one cycle, first key repeated at the end; null: none. Iterative: nets may be thousands of nodes deep. */
export function findCycle(nodes: readonly Node[], next: (node: Node) => readonly Node[]): readonly string[] | null {
  const state = new Map<Node, 'open' | 'done'>()
  for (const root of nodes) {
    if (state.has(root)) continue
    const path: { readonly node: Node; readonly next: readonly Node[]; taken: number }[] = []
    path.push({ node: root, next: next(root), taken: 0 })
    state.set(root, 'open')
    while (path.length > 0) {
      const top = path[path.length - 1] as (typeof path)[number]
      const to = top.next[top.taken++]
      if (to === undefined) {
        state.set(top.node, 'done')
        path.pop()
      } else if (state.get(to) === 'open') {
        const keys = path.map((p) => p.node.key)
        return [...keys.slice(keys.indexOf(to.key)), to.key]
      } else if (!state.has(to)) {
        state.set(to, 'open')
        path.push({ node: to, next: next(to), taken: 0 })
      }
    }
  }
  return null
}
