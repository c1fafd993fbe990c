/** The nets of chains, groups and batches. Workflows of one shape share one net, so each is made and hashed once. */
import { netHash } from '../../../kernel/hash.ts'
import type { Net, Node, Verdict, Work } from '../../../net/net.ts'
import type { Tree } from './tree.ts'

export function plainNode(work: Work): Node {
  return {
    key: '',
    work,
    join: 'each',
    admit: null,
    retry: null,
    timeout: null,
    onFailure: 'net',
    undo: null,
    next: { mode: 'first', arcs: [], scope: null },
  }
}

export function jobsNode(onFailure: 'net' | 'route'): Node {
  const work = { kind: 'each', items: null, body: null, maxInFlight: null, failFast: false } as const
  return { ...plainNode(work), key: 'jobs', onFailure }
}

export const UNHANDLED: Verdict = { failedOn: 'unhandled', partial: false }

export function newNet(
  tree: Exclude<Tree, { readonly kind: 'job' }>,
  parts: Pick<Net, 'nodes' | 'entry' | 'finals' | 'verdict'>,
): Net {
  return {
    version: 1,
    name: tree.name ?? tree.kind,
    dialect: 'ojs',
    kind: tree.kind,
    ...parts,
    onFailure: 'abort',
    unknown: 'ignore',
    timeoutMs: null,
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
  }
}

/** Nets by their text, newest last: hashing and checking one again at every start would cost more than building it. */
const known = new Map<string, { readonly net: Net; readonly hash: string }>()
export const MOST_KNOWN = 1_000

export function intern(net: Net): { readonly net: Net; readonly hash: string } {
  const text = JSON.stringify(net)
  let entry = known.get(text)
  if (entry === undefined) {
    entry = { net, hash: netHash(net) }
    const oldest = known.size >= MOST_KNOWN ? known.keys().next().value : undefined
    if (oldest !== undefined) known.delete(oldest)
    known.set(text, entry)
  }
  return entry
}
