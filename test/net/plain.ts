/** Nodes and nets to write tests with. */
import type { Net, Node, Work } from '../../src/net/net.ts'

/** A node with only its work and its arcs. */
export function plain(key: string, work: Work, to: readonly string[] = []): Node {
  const arcs = to.map((target) => ({ to: target, when: null, args: null, set: null }))
  return {
    key,
    work,
    join: 'each',
    admit: null,
    retry: null,
    timeout: null,
    onFailure: 'net',
    undo: null,
    next: { mode: 'every', arcs, scope: null },
  }
}

export function plainNet(nodes: readonly Node[], entry: readonly string[], change: Partial<Net> = {}): Net {
  return {
    version: 1,
    name: 'plain',
    dialect: 'test',
    nodes,
    entry,
    finals: [],
    onFailure: 'abort',
    verdict: { failedOn: 'unhandled', partial: false },
    unknown: 'ignore',
    timeoutMs: null,
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
    ...change,
  }
}
