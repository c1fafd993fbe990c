/**
 * The state of each node of an instance, in five words.
 *
 *   pending ──► running ──► completed
 *                  ├──────► skipped     failed, but its failure does not stop the others
 *                  └──────► failed
 *
 * A step is running from its first start until its end: also between two attempts, while deferred, at an open gate, and during
 * an appeal. A step that never began stays pending, even after the end of its instance. A gate that was open when its
 * instance stopped has failed, since it was not decided.
 */

import type { Queries } from '../model/queries/queries.ts'
import type { StepRun } from '../model/queries/steps.ts'
import type { GateRow, InstanceRow, RunStatus } from '../model/rows.ts'
import type { CompiledNet } from '../net/compile.ts'
import type { Failure } from '../net/marking.ts'
import { TERMINAL } from '../net/marking.ts'
import type { Net, Node } from '../net/net.ts'
import { SLOT } from '../net/slots.ts'

export type StepState = 'pending' | 'running' | 'completed' | 'failed' | 'skipped'

/** The rows at a node; each null if there is none. */
export interface StepRows {
  readonly run: StepRun | null
  readonly undo: StepRun | null
  /** Its own gate, or its latest appeal. */
  readonly gate: GateRow | null
  readonly child: InstanceRow | null
  /** For a list: numbers of items that have begun, by status. */
  readonly items: ReadonlyMap<RunStatus, number> | null
  /** The work was done by an instance that this one retries. */
  readonly takenOver: boolean
}

export interface StepView extends StepRows {
  readonly node: Node
  readonly state: StepState
  readonly onFailure: Exclude<Node['onFailure'], 'net'> | 'retry'
  /** Failed executions that were retried. */
  readonly retries: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly error: Failure | null
}

export const NO_ROWS: StepRows = { run: null, undo: null, gate: null, child: null, items: null, takenOver: false }

/** How many items of a list are counted at most. */
export const MOST_ITEMS = 10_000

export function stepOf(net: Net, node: Node, rows: StepRows): StepView {
  const onFailure = node.onFailure === 'net' ? net.onFailure : node.onFailure
  const ended = (): StepState => (onFailure === 'skip' ? 'skipped' : 'failed')
  const { run, gate, child } = rows
  const view = { ...rows, node, onFailure, retries: 0, startedAt: null, endedAt: null, error: null }
  if (node.work.kind === 'gate') {
    if (gate === null) return { ...view, state: 'pending' }
    const state = gate.state === 'open' ? 'running' : gate.state === 'approved' ? 'completed' : ended()
    return { ...view, state, ...gateTimes(gate) }
  }
  if (node.work.kind === 'child') {
    if (child === null) return { ...view, state: rows.takenOver ? 'completed' : 'pending' }
    const over = TERMINAL.has(child.state)
    const state = !over ? 'running' : child.state === 'completed' ? 'completed' : ended()
    return { ...view, state, startedAt: child.createdAt, endedAt: child.endedAt, error: childError(child, over) }
  }
  if (run === null) return { ...view, state: listState(rows.items, ended) }
  const state = runState(run, gate, ended)
  const begun = state !== 'pending'
  const over = state === 'completed' || state === 'failed' || state === 'skipped'
  return {
    ...view,
    state,
    retries: Math.max(0, run.attempt - (run.status === 'failed' ? 1 : 0)),
    startedAt: begun ? (run.firstStartedAt ?? run.leasedAt) : null,
    endedAt: over ? run.finishedAt : null,
    error: run.status === 'succeeded' ? null : failureOf(run),
  }
}

function runState(run: StepRun, gate: GateRow | null, ended: () => StepState): StepState {
  if (run.status === 'succeeded') return 'completed'
  if (run.status === 'leased') return 'running'
  // Approved after a refusal by governance, it is pending again, but it has begun before.
  const begun = run.firstStartedAt !== null || run.attempt > 0 || gate?.state === 'approved'
  if (run.status === 'pending') return begun ? 'running' : 'pending'
  // Governance has refused it, and an appeal is open.
  if (gate?.state === 'open') return 'running'
  return run.status === 'cancelled' && !begun && run.error === null ? 'pending' : ended()
}

function listState(items: StepRows['items'], ended: () => StepState): StepState {
  if (items === null || items.size === 0) return 'pending'
  if (items.has('pending') || items.has('leased')) return 'running'
  return items.has('failed') || items.has('cancelled') ? ended() : 'completed'
}

function gateTimes(gate: GateRow): Pick<StepView, 'startedAt' | 'endedAt' | 'error'> {
  const times = { startedAt: gate.createdAt, endedAt: gate.answeredAt }
  if (gate.state === 'rejected') {
    const who = gate.answeredBy === null ? '' : ` by ${gate.answeredBy}`
    const why = gate.reason === null ? '' : `: ${gate.reason}`
    return { ...times, error: { code: 'rejected', message: `rejected${who}${why}` } }
  }
  if (gate.state !== 'closed') return { ...times, error: null }
  return { ...times, error: { code: 'closed', message: 'the workflow stopped before a decision' } }
}

function childError(child: InstanceRow, over: boolean): Failure | null {
  if (!over || child.state === 'completed') return null
  return { code: 'child_failed', message: `the nested workflow ended ${child.state}`, details: { child: child.id } }
}

/** The failure of a run: its structured error, or the text that a foreign client wrote. */
export function failureOf(run: Pick<StepRun, 'error' | 'lastError'>): Failure | null {
  if (run.error !== null) {
    try {
      return JSON.parse(run.error) as Failure
    } catch {
      return { code: 'error', message: run.error }
    }
  }
  return run.lastError === null ? null : { code: 'error', message: run.lastError }
}

/** Numbers of items by status, by the key of their list. */
export type CountedLists = ReadonlyMap<string, ReadonlyMap<RunStatus, number>>

/** Some nodes of an instance, in the given order, read with a few statements however many there are. */
export async function loadSteps(
  queries: Queries,
  net: CompiledNet,
  instance: InstanceRow,
  asked: readonly Node[],
  countLists: (lists: readonly Node[]) => Promise<CountedLists> = (lists) => countItems(queries, instance, lists),
): Promise<readonly StepView[]> {
  const { steps } = queries
  const nodes = withNeighbours(net, asked)
  const of = (...kinds: readonly Node['work']['kind'][]) =>
    nodes.filter(({ work }) => kinds.includes(work.kind)).map(({ key }) => ({ instanceId: instance.id, node: key }))
  const appealing = nodes.filter((node) => node.work.kind === 'gate' || node.appeal !== undefined)
  const [runs, gates, children, results] = await Promise.all([
    steps.runsAt(of('run', 'gate', 'child')),
    steps.gatesAt(appealing.map(({ key }) => ({ instanceId: instance.id, node: key }))),
    steps.childrenAt(of('child')),
    instance.retryOf === null ? [] : queries.slots({ instanceId: instance.id, prefix: SLOT.result.prefix }),
  ])
  const lists = await countLists(nodes.filter(({ work }) => work.kind === 'each'))
  const rows = byNode(runs, gates, children)
  const taken = new Set(results.map(({ key }) => SLOT.result.nameIn(key)))
  const views = nodes.map((node) => {
    const found = rows.get(node.key) ?? NO_ROWS
    const more = { items: lists.get(node.key) ?? null, takenOver: taken.has(node.key) }
    return stepOf(net.net, node, { ...found, ...more })
  })
  const isPass = ({ work }: Node): boolean => work.kind === 'pass'
  return asked.some(isPass) ? withPasses(net, instance, views).slice(0, asked.length) : views
}

async function countItems({ steps }: Queries, { id }: InstanceRow, lists: readonly Node[]): Promise<CountedLists> {
  const found = new Map<string, ReadonlyMap<RunStatus, number>>()
  for (const { key } of lists) {
    found.set(key, await steps.itemCounts({ instanceId: id, node: key, most: MOST_ITEMS }))
  }
  return found
}

/** The state of a node without work follows from those around it, and so on through other such nodes. */
function withNeighbours(net: CompiledNet, asked: readonly Node[]): readonly Node[] {
  const todo = asked.filter(({ work }) => work.kind === 'pass')
  const keys = new Set(asked.map(({ key }) => key))
  const more: Node[] = []
  for (let pass = todo.pop(); pass !== undefined; pass = todo.pop()) {
    for (const key of [...(net.sources.get(pass.key) ?? []), ...pass.next.arcs.map(({ to }) => to)]) {
      const node = net.byKey.get(key)
      if (node === undefined || keys.has(key)) continue
      keys.add(key)
      more.push(node)
      if (node.work.kind === 'pass') todo.push(node)
    }
  }
  return more.length === 0 ? asked : [...asked, ...more]
}

function byNode(
  runs: readonly StepRun[],
  gates: readonly GateRow[],
  children: readonly InstanceRow[],
): Map<string, StepRows> {
  const rows = new Map<string, StepRows>()
  const put = (node: string | null, more: Partial<StepRows>): void => {
    if (node !== null) rows.set(node, { ...(rows.get(node) ?? NO_ROWS), ...more })
  }
  // Work of an earlier firing that the last one did not repeat is over.
  const last = new Map<string | null, number>()
  for (const run of runs) last.set(run.node, Math.max(run.fire, last.get(run.node) ?? 0))
  for (const run of runs) {
    if (run.role === 'undo') put(run.node, { undo: run })
    else if (run.fire === last.get(run.node)) put(run.node, { run })
  }
  for (const gate of gates) put(gate.node, { gate })
  for (const child of children) put(child.parentNode, { child })
  return rows
}

/**
 * A node without work has no row. A join is completed when all nodes before it have ended; another node when a node after it
 * has begun, or the instance has completed.
 */
function withPasses(net: CompiledNet, instance: InstanceRow, views: readonly StepView[]): readonly StepView[] {
  const known = new Map(views.map((view) => [view.node.key, view]))
  const states = new Map<string, StepState>()
  const stateAt = (key: string): StepState => {
    const view = known.get(key)
    if (view === undefined || view.node.work.kind !== 'pass') return view?.state ?? 'pending'
    const found = states.get(key)
    if (found !== undefined) return found
    states.set(key, 'pending')
    const joined = view.node.join === 'count' && (net.sources.get(key) ?? []).every((from) => ENDED.has(stateAt(from)))
    const passed = view.node.next.arcs.some(({ to }) => hasBegun(known.get(to)) || stateAt(to) === 'completed')
    const state = joined || passed || instance.state === 'completed' ? 'completed' : 'pending'
    states.set(key, state)
    return state
  }
  return views.map((view) => (view.node.work.kind === 'pass' ? { ...view, state: stateAt(view.node.key) } : view))
}

const ENDED: ReadonlySet<StepState> = new Set(['completed', 'skipped'])

function hasBegun(view: StepView | undefined): boolean {
  return view !== undefined && (view.run ?? view.gate ?? view.child) !== null
}

/** The nodes that a node waits for; nodes without work are replaced by the ones before them. */
export function nodesBefore(net: CompiledNet, key: string): readonly string[] {
  const found = new Set<string>()
  const seen = new Set<string>()
  const todo = [...(net.sources.get(key) ?? [])].reverse()
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    if (seen.has(at)) continue
    seen.add(at)
    if (net.byKey.get(at)?.work.kind === 'pass') todo.push(...(net.sources.get(at) ?? []).toReversed())
    else found.add(at)
  }
  return [...found]
}
