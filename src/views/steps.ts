/**
 * Where each node of an instance stands, in five words.
 *
 *   pending ──► running ──► completed
 *                  ├──────► skipped     failed, and its failure lets the others go on
 *                  └──────► failed
 *
 * A step runs from its first start until its end: between two attempts, deferred, at an open gate, and while somebody
 * is asked whether it may. What never began stays pending, also when its instance has ended without it. A gate that was
 * open when its instance stopped has failed: nobody decided it.
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

/** What stands at a node; each null where there is none. */
export interface StepRows {
  readonly run: StepRun | null
  readonly undo: StepRun | null
  /** Its own, or the latest that asked whether its work may be done. */
  readonly gate: GateRow | null
  readonly child: InstanceRow | null
  /** Of a list: items that have begun, by status. */
  readonly items: ReadonlyMap<RunStatus, number> | null
  /** Done by an instance that this one repeats. */
  readonly takenOver: boolean
}

export interface StepView extends StepRows {
  readonly node: Node
  readonly state: StepState
  readonly onFailure: Exclude<Node['onFailure'], 'net'> | 'retry'
  /** Failed executions that were tried again. */
  readonly retries: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly error: Failure | null
}

export const NO_ROWS: StepRows = { run: null, undo: null, gate: null, child: null, items: null, takenOver: false }

/** Items of a list that are counted. */
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
  // Approved after governance had forbidden it, it begins anew, but it has begun before.
  const begun = run.firstStartedAt !== null || run.attempt > 0 || gate?.state === 'approved'
  if (run.status === 'pending') return begun ? 'running' : 'pending'
  // Governance has forbidden it, and somebody is asked.
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
  return { ...times, error: { code: 'closed', message: 'the workflow stopped before anybody decided' } }
}

function childError(child: InstanceRow, over: boolean): Failure | null {
  if (!over || child.state === 'completed') return null
  return { code: 'child_failed', message: `the nested workflow ended ${child.state}`, details: { child: child.id } }
}

/** Of a run as it stands: its structured error, or the text that a foreign client left. */
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

/** Some nodes of an instance, in the order given; a few statements however many. */
export async function loadSteps(
  queries: Queries,
  net: CompiledNet,
  instance: InstanceRow,
  asked: readonly Node[],
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
  const lists = new Map<string, ReadonlyMap<RunStatus, number>>()
  for (const place of of('each')) lists.set(place.node, await steps.itemCounts({ ...place, most: MOST_ITEMS }))
  const rows = byNode(runs, gates, children)
  const taken = new Set(results.map(({ key }) => SLOT.result.nameIn(key)))
  const views = nodes.map((node) => {
    const found = rows.get(node.key) ?? NO_ROWS
    const more = { items: lists.get(node.key) ?? null, takenOver: taken.has(node.key) }
    return stepOf(net.net, node, { ...found, ...more })
  })
  return nodes === asked ? views : withPasses(net, instance, views).slice(0, asked.length)
}

/** How a node that does nothing stands is seen from those around it; they come last. */
function withNeighbours(net: CompiledNet, asked: readonly Node[]): readonly Node[] {
  const passes = asked.filter(({ work }) => work.kind === 'pass')
  if (passes.length === 0) return asked
  const keys = new Set(asked.map(({ key }) => key))
  const around = passes.flatMap(({ key, next }) => [...(net.sources.get(key) ?? []), ...next.arcs.map(({ to }) => to)])
  const more = [...new Set(around)].filter((key) => !keys.has(key))
  return [...asked, ...more.map((key) => net.byKey.get(key) as Node)]
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
  // Of an earlier firing what the last one did not repeat is over.
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
 * A node that does nothing leaves no row. A join is done when all before it have ended; any other when something behind
 * it has begun, or all is done.
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

/** The nodes that one waits for. Those that do nothing stand for the ones before them. */
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
