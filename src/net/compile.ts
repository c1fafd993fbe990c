/** A net checked and indexed for firing. All problems are found at once, each with its place. */
import type { Evaluate } from './facts.ts'
import type { Net, Node } from './net.ts'
import type { Problem } from './validate/policy.ts'
import { findProblems } from './validate/validate.ts'

export interface CompiledNet {
  readonly net: Net
  readonly byKey: ReadonlyMap<string, Node>
  readonly inDegree: ReadonlyMap<string, number>
  /** Nodes with an arc to this one. */
  readonly sources: ReadonlyMap<string, readonly string[]>
  /** Position of each node, by which literal arguments are stored in chunks. */
  readonly position: ReadonlyMap<string, number>
  /** Arguments of its work may be stored out of line: in other nets, what looks like a reference is plain data. */
  readonly keepsAside: boolean
}

export class NetError extends Error {
  readonly code = 'invalid_net'
  readonly net: string
  readonly problems: readonly Problem[]
  constructor(net: string, problems: readonly Problem[]) {
    super(`net '${net}' is not valid:\n${problems.map((p) => `  ${p.path}: ${p.message}`).join('\n')}`)
    this.name = 'NetError'
    this.net = net
    this.problems = problems
  }
}

/** `evaluate`, when given, also checks that every expression parses. */
export function compileNet(net: Net, evaluate?: Evaluate): CompiledNet {
  const problems = findProblems(net, evaluate ?? null)
  if (problems.length > 0) throw new NetError(net.name, problems)
  return indexNet(net)
}

function shares({ work }: Node): boolean {
  return work.kind === 'each' && work.shared !== undefined
}

/** For nets that were checked before they were stored. */
export function indexNet(net: Net): CompiledNet {
  const inDegree = new Map<string, number>()
  const sources = new Map<string, string[]>()
  for (const node of net.nodes) {
    for (const arc of node.next.arcs) {
      inDegree.set(arc.to, (inDegree.get(arc.to) ?? 0) + 1)
      const from = sources.get(arc.to)
      if (from === undefined) sources.set(arc.to, [node.key])
      else from.push(node.key)
    }
  }
  return {
    net,
    byKey: new Map(net.nodes.map((n) => [n.key, n])),
    inDegree,
    sources,
    position: new Map(net.nodes.map((n, i) => [n.key, i])),
    keepsAside: net.inlineBytes !== undefined || net.nodes.some(shares),
  }
}
