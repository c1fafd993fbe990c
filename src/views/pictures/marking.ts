/**
 * The state of each node of an instance, and what has changed since an event number: a picture that a reader keeps up to
 * date. The states are those of steps.ts; the items of a list are counts.
 *
 * A change of state has an event that names its node, with these exceptions, which every answer contains: a run that is held
 * (its lease is recorded when it ends), a child that is open, the items of a list, and nodes without work, whose state follows
 * from those around them. A number that was sent is never newer than the states sent with it, so an answer may repeat a state
 * and never misses one.
 */
import type { Queries } from '../../model/queries/queries.ts'
import type { InstanceRow, RunStatus } from '../../model/rows.ts'
import type { CompiledNet } from '../../net/compile.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { Node } from '../../net/net.ts'
import { loadSteps, type StepState, type StepView } from '../steps.ts'
import { type ItemCounts, loadLists } from './lists.ts'
import { sinceOf } from './times.ts'

export interface Marking {
  readonly instance: InstanceRow
  readonly now: number
  /** Send it as `after` for what changes from here on. */
  readonly seq: number
  /** In the order of the net. */
  readonly nodes: readonly NodeMark[]
  /** All nodes of the net. */
  readonly total: number
  /** Of a complete marking: the last node of the page; null: there are no more. */
  readonly next: string | null
  /** Of changes: events after `seq` remain; ask again at once. */
  readonly more: boolean
}

export interface NodeMark {
  readonly node: Node
  readonly state: StepState
  /** Executions so far, including the current one. */
  readonly attempts: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** Of a list that has begun. */
  readonly items: ItemCounts | null
}

/** Events that are read for one answer. */
export const MOST_CHANGES = 1_000

export interface MarkingAsked {
  /** null: the complete marking. */
  readonly after: number | null
  /** Of a complete marking: after this node. */
  readonly from: string | null
  readonly limit: number
}

export async function markingOf(
  queries: Queries,
  net: CompiledNet,
  instance: InstanceRow,
  { after, from, limit }: MarkingAsked,
): Promise<Marking> {
  const { nodes } = net.net
  const now = await queries.now()
  const whole = { instance, now, total: nodes.length }
  if (after === null) {
    const start = from === null ? 0 : nodes.findIndex(({ key }) => key === from) + 1
    const page = within(nodes.slice(start, start + limit))
    const next = start + page.length < nodes.length ? (page.at(-1)?.key ?? null) : null
    return { ...whole, seq: instance.eventSeq, nodes: await marks(queries, net, instance, page), next, more: false }
  }
  const since = sinceOf(instance)
  const asked = { instanceId: instance.id, afterSeq: after, since, limit: MOST_CHANGES }
  const touched = await queries.places.touched(asked)
  const full = touched.length === MOST_CHANGES
  const last = touched.at(-1)?.seq ?? after
  const active = await queries.places.active({ instanceId: instance.id })
  const changed = changedNodes(net, instance, [...touched.flatMap(({ node }) => node ?? []), ...active])
  return {
    ...whole,
    seq: full ? last : Math.max(after, instance.eventSeq),
    nodes: await marks(queries, net, instance, changed),
    next: null,
    more: full,
  }
}

/** Bytes of names in one page. */
const NAME_BYTES = 256 * 1024

/** A net may have very long names. */
function within(nodes: readonly Node[]): readonly Node[] {
  let left = NAME_BYTES
  const cut = nodes.findIndex(({ key }, at) => {
    left -= Buffer.byteLength(key)
    return left < 0 && at > 0
  })
  return cut < 0 ? nodes : nodes.slice(0, cut)
}

function changedNodes(net: CompiledNet, instance: InstanceRow, named: readonly string[]): readonly Node[] {
  const keys = new Set(named.filter((key) => net.byKey.has(key)))
  const over = TERMINAL.has(instance.state)
  for (const { key, work } of net.net.nodes) {
    if (work.kind === 'each') keys.add(key)
    // What an earlier instance has done has no event here, and after the end no event of a child does.
    if (work.kind === 'child' && (over || instance.retryOf !== null)) keys.add(key)
    if (work.kind === 'pass' && over) keys.add(key)
  }
  const todo = [...keys]
  for (let key = todo.pop(); key !== undefined; key = todo.pop()) {
    const around = [...(net.sources.get(key) ?? []), ...(net.byKey.get(key)?.next.arcs ?? []).map(({ to }) => to)]
    for (const other of around) {
      if (keys.has(other) || net.byKey.get(other)?.work.kind !== 'pass') continue
      keys.add(other)
      todo.push(other)
    }
  }
  return net.net.nodes.filter(({ key }) => keys.has(key))
}

async function marks(
  queries: Queries,
  net: CompiledNet,
  instance: InstanceRow,
  nodes: readonly Node[],
): Promise<readonly NodeMark[]> {
  const lists = new Map<string, ItemCounts>()
  const steps = await loadSteps(queries, net, instance, nodes, async (nodes) => {
    for (const [key, counts] of await loadLists(queries, instance, nodes)) lists.set(key, counts)
    return new Map([...lists].map(([key, counts]) => [key, statuses(counts)]))
  })
  return steps.map((step) => markOf(step, lists.get(step.node.key) ?? null))
}

function markOf({ node, state, run, startedAt, endedAt }: StepView, items: ItemCounts | null): NodeMark {
  const executions = run === null ? 0 : run.attempt + (run.status === 'leased' || run.status === 'succeeded' ? 1 : 0)
  return { node, state, attempts: executions, startedAt, endedAt, items }
}

/** As steps.ts counts them. */
function statuses({ pending, running, completed, failed }: ItemCounts): ReadonlyMap<RunStatus, number> {
  const counts: [RunStatus, number][] = [
    ['pending', pending],
    ['leased', running],
    ['succeeded', completed],
    ['failed', failed],
  ]
  return new Map(counts.filter(([, count]) => count > 0))
}
