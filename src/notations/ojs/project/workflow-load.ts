/**
 * Everything a projection of workflows needs, in a bounded number of statements. Lists of jobs are read in windows and
 * the tree as a whole up to a cap; nothing is assumed about the rest.
 */

import type { RunBrief, Totals } from '../../../model/queries/trees.ts'
import type { InstanceRow, SlotRow } from '../../../model/rows.ts'
import type { ChildStart, Literal } from '../../../model/start.ts'
import type { Net, Node } from '../../../net/net.ts'
import { type NodeFailure, SLOT, slotValue } from '../../../net/slots.ts'
import type { Reading } from '../../interface/projection.ts'
import { type Nets, netOf, netsOf } from '../compile/nets.ts'
import { CALLBACKS } from '../compile/tree.ts'
import { indexOf, type TakenOver, takenOver } from './values.ts'

const NO_TOTALS: Totals = { succeeded: 0, failed: 0 }

/** Places shown of one list of jobs. */
export interface Window {
  readonly from: number
  readonly count: number
}

export const DEFAULT_WINDOW: Window = { from: 0, count: 1_000 }
export const MAX_WINDOW = 10_000
const MAX_INSTANCES = 2_000
const MAX_RUNS = 20_000
const MAX_BYTES = 8 * 1024 * 1024

/** What is stored about a workflow besides its row. */
export interface About {
  readonly error: NodeFailure | null
  readonly cancelledAt: number | null
  readonly initiator: string | null
  /** All jobs, including nested ones, as counted when it was created; null: not counted. */
  readonly jobs: number | null
  /** Jobs of its own list; null: it has steps. */
  readonly listed: number | null
}

export interface LoadedTree {
  readonly rows: readonly InstanceRow[]
  readonly nets: Nets
  readonly window: Window
  /** false: not all nested workflows are shown; the state of the others is not known. */
  readonly complete: boolean
  about(instanceId: string): About
  totals(row: InstanceRow): Totals
  /** Some work of it is due or has begun. */
  begun(row: InstanceRow): boolean
  /** Steps, jobs and callbacks that have a run: by index, callbacks by the name of their node. */
  run(instanceId: string, place: number | string): RunBrief | null
  child(instanceId: string, place: number | string): InstanceRow | null
  /** Failed runs of a workflow and all that is nested in it, in order; without those outside the windows. */
  failed(instanceId: string): readonly RunBrief[]
  /** The arguments of a step that has not begun. */
  planned(instanceId: string, node: string): Literal | null
}

/** One workflow with all that is nested in it. */
export async function loadTree(reading: Reading, top: InstanceRow, window: Window): Promise<LoadedTree> {
  const { trees } = reading.queries
  const rows = [...(await trees.below({ windows: [{ instanceId: top.id, ...window }], limit: MAX_INSTANCES }))]
  const taken = await takenOver(reading, rows)
  rows.push(...taken.rows)
  const windows = rows.map((row) => ({
    instanceId: row.id,
    from: row.id === top.id ? window.from : 0,
    count: window.count,
  }))
  const [summary, runs] = await Promise.all([
    loadSummaries(reading, rows, taken),
    trees.placesOf({ windows, failedOnly: false, limit: MAX_RUNS, maxBytes: MAX_BYTES }),
  ])
  const places = new Places(rows, runs)
  for (const { instanceId, index, childId } of taken.places) places.take(instanceId, index, childId)
  return {
    ...summary,
    rows,
    window,
    complete: rows.length < MAX_INSTANCES && runs.length < MAX_RUNS,
    run: (id, place) => places.run(id, place),
    child: (id, place) => places.child(id, place),
    failed: (id) => places.failed(id),
    ...(await loadPlans(reading, rows, summary.nets, places)),
  }
}

const ABOUT_SLOTS = [SLOT.error.key, SLOT.about.key, SLOT.givenItems.key('jobs'), SLOT.cancelledAt.key]

type Summaries = Pick<LoadedTree, 'nets' | 'about' | 'totals' | 'begun'>

/** Several workflows without their jobs. */
export async function loadSummaries(
  reading: Reading,
  rows: readonly InstanceRow[],
  taken: TakenOver,
): Promise<Summaries> {
  const { trees } = reading.queries
  const ids = rows.map((row) => row.id)
  const unsure = rows.filter((row) => row.startedAt === null && !isOver(row)).map((row) => row.id)
  const [nets, slots, totals, begun] = await Promise.all([
    netsOf(reading, new Set(rows.map((row) => row.netHash))),
    trees.slotsAt({ instanceIds: ids, keys: ABOUT_SLOTS }),
    totalsOf(reading, rows, taken),
    unsure.length === 0 ? new Set<string>() : trees.begun({ ids: unsure }),
  ])
  const kept = new Map<string, SlotRow[]>()
  for (const slot of slots) add(kept, slot.instanceId, slot)
  return {
    nets,
    about: (id) => aboutOf(kept.get(id) ?? []),
    totals,
    begun: (row) => row.startedAt !== null || isOver(row) || begun.has(row.id),
  }
}

function isOver(row: InstanceRow): boolean {
  return row.phase === 'ended' || row.state === 'cancelling'
}

function aboutOf(slots: readonly SlotRow[]): About {
  const kept = slotValue(slots, SLOT.about.key)
  const meta = kept?.meta as { readonly ojs?: { readonly jobs?: number } } | undefined
  return {
    error: slotValue(slots, SLOT.error.key),
    cancelledAt: slotValue(slots, SLOT.cancelledAt.key),
    initiator: kept?.initiator ?? null,
    jobs: meta?.ojs?.jobs ?? null,
    listed: slotValue(slots, SLOT.givenItems.key('jobs')),
  }
}

class Places {
  readonly #runs = new Map<string, RunBrief>()
  readonly #children = new Map<string, InstanceRow>()
  readonly #rows: ReadonlyMap<string, InstanceRow>
  readonly #failed = new Map<string, RunBrief[]>()
  /** Jobs that were cancelled with their workflow. */
  readonly #cancelled = new Map<string, RunBrief[]>()
  readonly #nested = new Map<string, string[]>()

  constructor(rows: readonly InstanceRow[], runs: readonly RunBrief[]) {
    this.#rows = new Map(rows.map((row) => [row.id, row]))
    for (const run of runs) {
      this.#runs.set(`${run.instanceId}/${placeKey(run)}`, run)
      if (run.status === 'failed' || (run.status === 'cancelled' && run.error !== null)) {
        add(this.#failed, run.instanceId as string, run)
      } else if (run.status === 'cancelled') add(this.#cancelled, run.instanceId as string, run)
    }
    for (const row of rows) {
      if (row.parentId === null || row.parentNode === null || !this.#rows.has(row.parentId)) continue
      this.#children.set(`${row.parentId}/${placeKey({ node: row.parentNode, item: row.parentItem })}`, row)
      add(this.#nested, row.parentId, row.id)
    }
  }

  take(instanceId: string, index: number, childId: string): void {
    const row = this.#rows.get(childId)
    if (row === undefined) return
    this.#children.set(`${instanceId}/${index}`, row)
    add(this.#nested, instanceId, childId)
  }

  run(instanceId: string, place: number | string): RunBrief | null {
    return this.#runs.get(`${instanceId}/${place}`) ?? null
  }

  child(instanceId: string, place: number | string): InstanceRow | null {
    return this.#children.get(`${instanceId}/${place}`) ?? null
  }

  failed(instanceId: string): readonly RunBrief[] {
    const own = this.#rows.get(instanceId)
    // A nested workflow that was cancelled alone has failed for the outer one, and so have the jobs cancelled with it.
    const alone = (id: string): boolean => isCancelled(this.#rows.get(id)) && !isCancelled(own)
    const below = (this.#nested.get(instanceId) ?? []).flatMap((id) => [
      ...this.failed(id),
      ...(alone(id) ? this.#taken(id) : []),
    ])
    return [...(this.#failed.get(instanceId) ?? []), ...below]
  }

  #taken(instanceId: string): readonly RunBrief[] {
    const below = (this.#nested.get(instanceId) ?? []).flatMap((id) => this.#taken(id))
    return [...(this.#cancelled.get(instanceId) ?? []), ...below]
  }
}

function isCancelled(row: InstanceRow | undefined): boolean {
  return row?.state === 'cancelled' || row?.state === 'cancelling'
}

function placeKey(place: { readonly node: string | null; readonly item: number }): number | string {
  const index = indexOf(place)
  return index < 0 ? (place.node ?? '') : index
}

function add<T>(into: Map<string, T[]>, key: string, value: T): void {
  const list = into.get(key)
  if (list === undefined) into.set(key, [value])
  else list.push(value)
}

interface Plan {
  readonly hash: string
  readonly start: ChildStart
}

/** Literals are read only of workflows with a step or callback still to come; with those of nested ones the nets they name. */
async function loadPlans(
  reading: Reading,
  rows: readonly InstanceRow[],
  nets: Nets,
  places: Places,
): Promise<Pick<LoadedTree, 'nets' | 'planned'>> {
  const comes = (row: InstanceRow) => (node: Node) => {
    const callback = CALLBACKS.find((name) => name === node.key)
    const place = callback ?? indexOf({ node: node.key, item: -1 })
    return place !== -1 && places.run(row.id, place) === null && places.child(row.id, place) === null
  }
  const waiting = rows.filter((row) => netOf(nets, row.netHash).nodes.some(comes(row)))
  if (waiting.length === 0) return { nets, planned: () => null }
  const slots = await reading.queries.trees.slotsOf({
    instanceIds: waiting.map((row) => row.id),
    prefixes: [SLOT.literals.prefix],
  })
  const literals = new Map<string, Record<string, Literal>>()
  for (const { instanceId, value } of slots) {
    literals.set(instanceId, { ...literals.get(instanceId), ...(JSON.parse(value) as Record<string, Literal>) })
  }
  const all = new Map(nets)
  let plans = waiting.flatMap((row) => plansIn(netOf(nets, row.netHash), { literals: literals.get(row.id) ?? {} }))
  while (plans.length > 0) {
    for (const [hash, net] of await netsOf(reading, new Set(plans.map((plan) => plan.hash)))) all.set(hash, net)
    plans = plans.flatMap(({ hash, start }) => plansIn(netOf(all, hash), start))
  }
  return { nets: all, planned: (instanceId, node) => literals.get(instanceId)?.[node] ?? null }
}

/** Workflows that will be started: at child nodes, and among the items of a list. */
function plansIn(net: Net, start: ChildStart): readonly Plan[] {
  const nodes = net.nodes.flatMap(({ key, work }) =>
    work.kind === 'child' ? [{ hash: work.net, start: start.literals?.[key]?.start ?? {} }] : [],
  )
  const items = (start.items?.['jobs'] ?? []).flatMap((item) => {
    const named = item as { readonly child?: string; readonly start?: ChildStart }
    return named.child === undefined ? [] : [{ hash: named.child, start: named.start ?? {} }]
  })
  return [...nodes, ...items]
}

/**
 * How many jobs of a workflow have completed and failed: a nested workflow counts as its jobs, not as the one job that
 * its place counts for. A workflow that retries another also counts the nested workflows it took over, which belong to
 * the other.
 */
async function totalsOf(
  reading: Reading,
  rows: readonly InstanceRow[],
  taken: TakenOver,
): Promise<(row: InstanceRow) => Totals> {
  const ids = new Set([...rows, ...taken.rows].map((row) => row.id))
  const stored = ids.size === 0 ? new Map<string, Totals>() : await reading.queries.trees.totals({ ids: [...ids] })
  const of = (id: string): Totals => stored.get(id) ?? NO_TOTALS
  if (taken.places.length === 0) return (row) => of(row.id)
  const more = extras([...rows, ...taken.rows], taken, of)
  return (row) => sum(of(row.id), more(row.id))
}

function sum(a: Totals, b: Totals): Totals {
  return { succeeded: a.succeeded + b.succeeded, failed: a.failed + b.failed }
}

function extras(
  rows: readonly InstanceRow[],
  { places }: TakenOver,
  of: (id: string) => Totals,
): (id: string) => Totals {
  const below = (id: string): Totals => {
    const own = places
      .filter((place) => place.instanceId === id)
      .map(({ childId }) => sum(sum(of(childId), below(childId)), { succeeded: -1, failed: 0 }))
    const nested = rows.filter((row) => row.parentId === id && row.parentNode !== null).map((row) => below(row.id))
    return [...own, ...nested].reduce(sum, NO_TOTALS)
  }
  return below
}
