/**
 * A net as a drawing: a part for each node, and one for the work that undoes it; links for arcs and for the way back. A
 * list is one part, however many items it has.
 */
import type { Arc, Net, Node, Work } from '../../../src/net/net.ts'

export type Shape = 'run' | 'gate' | 'child' | 'list' | 'pass' | 'join' | 'undo'
export type Change = 'added' | 'removed' | 'changed'

export interface Part {
  /** The key of its node; also of an undo. */
  readonly key: string
  readonly shape: Shape
  readonly label: string
  /** The type of the work, the title of a gate. */
  readonly detail: string
  /** What the net says of it: how it joins, when it runs as a final step, what is admitted. */
  readonly tags: readonly string[]
  /** Of an undo: the part it undoes. */
  readonly owner: number | null
  readonly change: Change | null
}

/** arc: as the net has it. undo: from a node to what undoes it. rollback: the order in which a rollback goes back. */
export interface Link {
  readonly from: number
  readonly to: number
  readonly kind: 'arc' | 'undo' | 'rollback'
  /** The conditions under which it is taken. */
  readonly label: string | null
  readonly change: Change | null
}

export interface Drawing {
  /** First the nodes in the order of the net, then the undos. */
  readonly parts: readonly Part[]
  readonly nodes: number
  /** Arcs come first. */
  readonly links: readonly Link[]
  readonly arcs: number
  readonly entry: readonly number[]
  /** Indices of the nodes that run after everything else. */
  readonly finals: readonly number[]
  readonly byKey: ReadonlyMap<string, number>
  readonly undoOf: ReadonlyMap<number, number>
}

/** `before`: an earlier version; what has been added, removed and changed since is marked. */
export function drawingOf(net: Net, before: Net | null = null): Drawing {
  const kept = new Set(net.nodes.map(({ key }) => key))
  const removed = before === null ? [] : before.nodes.filter(({ key }) => !kept.has(key))
  const earlier = new Map(before?.nodes.map((node) => [node.key, node]))
  const nodes = [...net.nodes, ...removed]
  const byKey = new Map(nodes.map(({ key }, i) => [key, i]))
  const finals = new Map(net.finals.map((final) => [final.node, final]))
  const changeOf = (node: Node): Change | null => {
    if (before === null) return null
    if (!kept.has(node.key)) return 'removed'
    const old = earlier.get(node.key)
    return old === undefined ? 'added' : sameWork(old, node) ? null : 'changed'
  }
  const parts = nodes.map((node): Part => {
    const final = finals.get(node.key)
    const tags = final === undefined ? tagsOf(node) : [`finally, ${WHEN[final.when]}`, ...tagsOf(node)]
    const { shape, detail } = faceOf(node)
    return { key: node.key, shape, label: node.key, detail, tags, owner: null, change: changeOf(node) }
  })
  const links = arcsOf(nodes, byKey, before === null ? null : earlier, kept)
  const arcs = links.length
  const undoOf = new Map<number, number>()
  for (const [owner, node] of nodes.entries()) {
    if (node.undo === null) continue
    undoOf.set(owner, parts.length)
    const { type } = node.undo.work
    const change = changeOf(node)
    links.push({ from: owner, to: parts.length, kind: 'undo', label: null, change: null })
    parts.push({ key: node.key, shape: 'undo', label: `undo ${node.key}`, detail: type, tags: [], owner, change })
  }
  links.push(...rollbacks(nodes.length, links.slice(0, arcs), undoOf))
  const known = (keys: readonly string[]) => keys.flatMap((key) => byKey.get(key) ?? [])
  return {
    parts,
    nodes: nodes.length,
    links,
    arcs,
    entry: known(net.entry),
    finals: known([...finals.keys()]),
    byKey,
    undoOf,
  }
}

const WHEN = { always: 'always', success: 'after success', failure: 'after a failure' } as const

function faceOf({ key, work, next }: Node): { readonly shape: Shape; readonly detail: string } {
  switch (work.kind) {
    case 'run':
      return { shape: 'run', detail: work.type }
    case 'gate':
      return { shape: 'gate', detail: titleOf(work.options) }
    case 'child':
      return { shape: 'child', detail: work.mode === 'detached' ? 'nested workflow, detached' : 'nested workflow' }
    case 'each':
      return { shape: 'list', detail: bodyOf(work.body) }
    case 'pass':
      // Nodes that a notation adds itself have names that no author can give.
      return key.startsWith('#') ? { shape: 'join', detail: '' } : { shape: 'pass', detail: routes(next.arcs.length) }
  }
}

function routes(arcs: number): string {
  return arcs > 1 ? `chooses among ${arcs}` : 'no work of its own'
}

function titleOf(options: unknown): string {
  const title = (options as { readonly title?: unknown } | null)?.title
  return typeof title === 'string' && title !== '' ? title : 'decision by people'
}

function bodyOf(body: Work | null): string {
  if (body === null) return 'list'
  return body.kind === 'run' ? `each: ${body.type}` : 'each: nested workflow'
}

function tagsOf({ join, admit, onFailure, next, work }: Node): readonly string[] {
  const scope = next.scope === null ? [] : [next.scope].flat()
  return [
    ...(join === 'count' ? ['waits for all before it'] : join === 'scope' ? ['waits for all branches'] : []),
    ...(admit === null ? [] : [`admitted by rules: ${admit.rules.map(ruleText).join('; ')}`]),
    ...(onFailure === 'skip' ? ['may fail'] : onFailure === 'route' ? ['a failure chooses the way'] : []),
    ...(scope.length === 0 ? [] : [`branches meet at ${scope.join(', ')}`]),
    ...(work.kind === 'each' && work.maxInFlight !== null ? [`at most ${work.maxInFlight} at a time`] : []),
  ]
}

function ruleText({ when, allow }: { readonly when: string | null; readonly allow: boolean }): string {
  return `${allow ? 'allow' : 'deny'}${when === null ? '' : ` if ${bare(when)}`}`
}

/** Without the braces of a template. */
export function bare(expression: string): string {
  return expression.replace(/^\s*\{\{\s*|\s*\}\}\s*$/g, '').replaceAll(/\s+/g, ' ')
}

function sameWork(a: Node, b: Node): boolean {
  const text = ({ next: { arcs: _, ...next }, ...node }: Node): string => JSON.stringify({ ...node, next })
  return text(a) === text(b)
}

/** Several arcs between the same nodes are one link. `earlier`: null where nothing is compared. */
function arcsOf(
  nodes: readonly Node[],
  byKey: ReadonlyMap<string, number>,
  earlier: ReadonlyMap<string, Node> | null,
  kept: ReadonlySet<string>,
): Link[] {
  const links: Link[] = []
  for (const [from, node] of nodes.entries()) {
    const now = labelled(node)
    const then = earlier?.get(node.key)
    const old = then === undefined ? new Map<string, string | null>() : labelled(then)
    for (const [key, label] of kept.has(node.key) ? now : []) {
      const to = byKey.get(key)
      const change = earlier === null || old.get(key) === label ? null : old.has(key) ? 'changed' : 'added'
      if (to !== undefined) links.push({ from, to, kind: 'arc', label, change })
    }
    for (const [key, label] of old) {
      const to = byKey.get(key)
      const isGone = !(kept.has(node.key) && now.has(key))
      if (to !== undefined && isGone) links.push({ from, to, kind: 'arc', label, change: 'removed' })
    }
  }
  return links
}

/** The targets of a node's arcs, each with its conditions. */
function labelled({ next: { mode, arcs } }: Node): ReadonlyMap<string, string | null> {
  const labels = new Map<string, string | null>()
  const isChoice = mode === 'first' && arcs.length > 1
  for (const [i, arc] of arcs.entries()) {
    const label = conditionOf(arc, isChoice && i > 0)
    const before = labels.get(arc.to)
    const several = before === undefined ? label : [before, label].filter((one) => one !== null).join(' · ')
    labels.set(arc.to, several === '' ? null : several)
  }
  return labels
}

function conditionOf({ when, args }: Arc, isLater: boolean): string | null {
  if (when !== null) return `if ${bare(when)}`
  if (isLater) return 'else'
  return args === null ? null : Object.entries(args).map(named).join(', ')
}

function named([name, value]: [string, unknown]): string {
  return `${name}: ${typeof value === 'string' ? bare(value) : JSON.stringify(value)}`
}

/**
 * Along straight stretches of the net a rollback goes back from undo to undo. Elsewhere the order is that in which the
 * work ended, which no drawing of the net can show.
 */
function rollbacks(count: number, arcs: readonly Link[], undoOf: ReadonlyMap<number, number>): readonly Link[] {
  const before = new Int32Array(count).fill(-1)
  const after = new Int32Array(count).fill(-1)
  const SEVERAL = -2
  for (const { from, to } of arcs) {
    before[to] = before[to] === -1 ? from : SEVERAL
    after[from] = after[from] === -1 ? to : SEVERAL
  }
  const links: Link[] = []
  for (const [node, undo] of undoOf) {
    let at = before[node] as number
    const seen = new Set([node])
    while (at >= 0 && after[at] !== SEVERAL && !undoOf.has(at) && !seen.has(at)) {
      seen.add(at)
      at = before[at] as number
    }
    const target = at >= 0 && after[at] !== SEVERAL ? undoOf.get(at) : undefined
    if (target !== undefined && target !== undo) {
      links.push({ from: undo, to: target, kind: 'rollback', label: null, change: null })
    }
  }
  return links
}
