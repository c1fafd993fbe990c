/**
 * A workflow on the wire, derived from its instance, its runs and those nested in it.
 *
 *   pending    nothing of it is due yet                      running     something is enqueued, active or has ended
 *   completed, failed                                        cancelled   from the moment of the cancel on
 *
 * Steps, jobs and callbacks are waiting (not enqueued yet), pending (enqueued), active, completed, failed, or
 * cancelled: cancelled themselves, or never to be enqueued. A nested workflow has the same states as a step, and is
 * included in full.
 */

import { shownStored } from '../../../kernel/json-limits.ts'
import type { RunBrief } from '../../../model/queries/trees.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { Json, Net } from '../../../net/net.ts'
import type { Reading } from '../../interface/projection.ts'
import { kindOf, nameOf, netOf } from '../compile/nets.ts'
import { CALLBACKS } from '../compile/tree.ts'
import { workflowId } from '../compile/workflow-id.ts'
import { nestedLabel, plannedEntry, plannedLabel } from '../compile/workflow-plan.ts'
import { keptMeta, labelWire } from './envelope.ts'
import { timeText } from './time.ts'
import { failureOf, takenOverBelow } from './values.ts'
import {
  countsWire,
  headWire,
  type PlaceState,
  placesIn,
  stateOf,
  type Wire,
  type WorkflowState,
} from './workflow-head.ts'
import { DEFAULT_WINDOW, type LoadedTree, loadSummaries, loadTree, MAX_WINDOW, type Window } from './workflow-load.ts'
import { failedIn, metadataWire, reportWire } from './workflow-report.ts'

/** With all its steps or jobs and everything nested in it. Of lists of jobs, those in the window. */
export async function workflowWire(reading: Reading, row: InstanceRow, window: Window = DEFAULT_WINDOW): Promise<Wire> {
  const tree = await loadTree(reading, row, window)
  return instanceWire(tree, row, { from: window.from, failed: await failedIn(reading, tree, row) })
}

/** A nested workflow that a client named and that has not begun. `root`: the outermost one around it. */
export async function plannedIn(reading: Reading, root: InstanceRow, id: string): Promise<Wire | null> {
  const wire = inside(await workflowWire(reading, root, { from: 0, count: MAX_WINDOW }), id)
  return wire === null ? null : { ...wire, root_id: workflowId(root) }
}

function inside(wire: Wire, id: string): Wire | null {
  for (const place of (wire['steps'] ?? wire['jobs'] ?? []) as readonly Wire[]) {
    const nested = place['workflow'] as Wire | undefined
    if (nested === undefined) continue
    const found = nested['id'] === id ? nested : inside(nested, id)
    if (found !== null) return found
  }
  return null
}

/** Several workflows without their steps and jobs. */
export async function summariesWire(reading: Reading, rows: readonly InstanceRow[]): Promise<readonly Wire[]> {
  const loaded = await loadSummaries(reading, rows, await takenOverBelow(reading, rows))
  return rows.map((row) => {
    const net = netOf(loaded.nets, row.netHash)
    const about = loaded.about(row.id)
    return {
      ...headWire(row, net, stateOf(row, loaded.begun(row))),
      ...countsWire(net, row.succeeded, placesIn(net, about.listed)),
      created_at: timeText(row.createdAt),
      metadata: metadataWire({
        row,
        about,
        totals: loaded.totals(row),
        jobs: about.jobs ?? placesIn(net, about.listed),
      }),
    }
  })
}

interface Shown {
  /** Where its list of jobs begins. */
  readonly from: number
  readonly failed: readonly RunBrief[]
}

function instanceWire(tree: LoadedTree, row: InstanceRow, { from, failed }: Shown): Wire {
  const net = netOf(tree.nets, row.netHash)
  const about = tree.about(row.id)
  const total = placesIn(net, about.listed)
  const places = new InstancePlaces(tree, row, net)
  const isChain = kindOf(net) === 'chain'
  const shown = isChain ? range(0, total) : range(from, Math.min(total, from + tree.window.count))
  const entries = shown.flatMap((index) => places.entry(index) ?? [])
  const cut = !isChain && (shown.length < total || entries.length < shown.length)
  return {
    ...headWire(row, net, stateOf(row, tree.begun(row))),
    ...countsWire(net, row.succeeded, total),
    [isChain ? 'steps' : 'jobs']: entries,
    ...(cut ? { jobs_truncated: true, ...nextOffset(from + shown.length, total) } : {}),
    ...(kindOf(net) === 'batch' ? { callbacks: places.callbacks() } : {}),
    created_at: timeText(row.createdAt),
    metadata: {
      ...metadataWire({
        row,
        about,
        totals: tree.totals(row),
        jobs: about.jobs ?? places.jobs(total),
      }),
      ...reportWire(tree, row, failed),
    },
  }
}

function nextOffset(next: number, total: number): Wire {
  return next < total ? { jobs_next_offset: next } : {}
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}

/** The places of one instance. */
class InstancePlaces {
  readonly #tree: LoadedTree
  readonly #row: InstanceRow
  readonly #net: Net
  /** true: nothing more is enqueued here. */
  readonly #over: boolean

  constructor(tree: LoadedTree, row: InstanceRow, net: Net) {
    this.#tree = tree
    this.#row = row
    this.#net = net
    this.#over = row.phase === 'drain' || row.phase === 'ended'
  }

  /** null: not known, because not everything was read. */
  entry(index: number): Wire | null {
    const { id } = this.#row
    const run = this.#tree.run(id, index)
    if (run !== null) return runWire(run, { index })
    const child = this.#tree.child(id, index)
    if (child !== null) return nestedWire(this.#tree, child, { index })
    const state = this.#over ? 'cancelled' : 'waiting'
    const node = kindOf(this.#net) === 'chain' ? this.#net.nodes[index] : undefined
    if (node === undefined) return this.#tree.complete ? { index, ...labelWire(index, {}), state, job_id: null } : null
    const planned = this.#tree.planned(id, node.key)
    if (node.work.kind === 'run') {
      return { index, ...plannedLabel(index, planned?.meta), type: node.work.type, state, job_id: null }
    }
    if (node.work.kind !== 'child') return null
    return plannedEntry(this.#tree, { hash: node.work.net, start: planned?.start ?? {}, index, state })
  }

  callbacks(): Wire {
    const wire: Record<string, Json> = {}
    for (const name of CALLBACKS) {
      const work = this.#net.nodes.find((node) => node.key === name)?.work
      if (work === undefined) continue
      const run = this.#tree.run(this.#row.id, name)
      const child = this.#tree.child(this.#row.id, name)
      const unfired = this.#over || this.#row.phase === 'final' ? 'cancelled' : 'waiting'
      if (run !== null) wire[name] = { ...labelWire(name, keptMeta(run.meta).envelope), ...runWire(run, {}) }
      else if (child !== null) wire[name] = nestedWire(this.#tree, child, {})
      else {
        const label = plannedLabel(name, this.#tree.planned(this.#row.id, name)?.meta)
        wire[name] = { ...label, type: work.kind === 'run' ? work.type : work.kind, state: unfired, job_id: null }
      }
    }
    return wire
  }

  /** All jobs below, for workflows that were not counted when they were created. */
  jobs(total: number): number {
    let jobs = 0
    for (let index = 0; index < total; index++) {
      const child = this.#tree.child(this.#row.id, index)
      if (child === null) jobs++
      else
        jobs +=
          this.#tree.about(child.id).jobs ??
          placesIn(netOf(this.#tree.nets, child.netHash), this.#tree.about(child.id).listed)
    }
    return jobs
  }
}

const PLACE_STATES = {
  pending: 'pending',
  leased: 'active',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<RunBrief['status'], PlaceState>

function runWire(run: RunBrief, at: { readonly index?: number }): Wire {
  const failure = failureOf(run)
  const started = run.startedAt ?? run.firstStartedAt
  return {
    ...at,
    ...(at.index === undefined ? {} : labelWire(at.index, keptMeta(run.meta).envelope)),
    type: run.type,
    state: PLACE_STATES[run.status],
    job_id: run.id,
    ...(run.result === null ? {} : { result: shownStored(run.result) }),
    ...(run.omitted ? { result_ref: `/ojs/v1/jobs/${run.id}` } : {}),
    ...(failure === null ? {} : { error: failure }),
    ...(started === null ? {} : { started_at: timeText(started) }),
    ...endWire(run.status === 'cancelled', run.finishedAt),
  }
}

function endWire(cancelled: boolean, at: number | null): Wire {
  return at === null ? {} : { [cancelled ? 'cancelled_at' : 'completed_at']: timeText(at) }
}

const AS_PLACE = {
  pending: 'pending',
  running: 'active',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<WorkflowState, PlaceState>

function nestedWire(tree: LoadedTree, child: InstanceRow, at: { readonly index?: number }): Wire {
  return {
    ...at,
    ...(at.index === undefined
      ? {}
      : nestedLabel(at.index, child.startKey, nameOf(child, netOf(tree.nets, child.netHash)))),
    type: kindOf(netOf(tree.nets, child.netHash)),
    state: AS_PLACE[stateOf(child, tree.begun(child))],
    job_id: null,
    workflow_id: workflowId(child),
    ...(child.startedAt === null ? {} : { started_at: timeText(child.startedAt) }),
    ...nestedEnd(tree, child),
    workflow: instanceWire(tree, child, { from: 0, failed: tree.failed(child.id) }),
  }
}

/** A cancelled workflow ended with its cancel, as its own view shows; its active jobs may end later. */
function nestedEnd(tree: LoadedTree, child: InstanceRow): Wire {
  const cancelled = child.state === 'cancelled' || child.state === 'cancelling'
  return endWire(cancelled, cancelled ? (tree.about(child.id).cancelledAt ?? child.endedAt) : child.endedAt)
}
