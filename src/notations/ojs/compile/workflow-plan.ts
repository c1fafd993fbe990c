/** Nested workflows that have not begun, or never will: shown as they are defined. */
import type { ChildStart, ItemRun } from '../../../model/start.ts'
import type { Json, Net } from '../../../net/net.ts'
import { type Envelope, labelWire } from '../project/envelope.ts'
import { countsWire, type Wire } from '../project/workflow-head.ts'
import type { LoadedTree } from '../project/workflow-load.ts'
import { kindOf, netOf } from './nets.ts'
import { CALLBACKS } from './tree.ts'
import { idOfKey } from './workflow-id.ts'

interface Planned {
  readonly hash: string
  readonly start: ChildStart
  readonly index: number
  readonly state: 'waiting' | 'cancelled'
}

/** A nested workflow that has not begun, or never will. It has no id unless its author gave it one. */
export function plannedEntry(tree: LoadedTree, planned: Planned): Wire {
  const { index, state } = planned
  const net = netOf(tree.nets, planned.hash)
  const id = planned.start.startKey === undefined ? null : idOfKey(planned.start.startKey)
  return {
    index,
    ...nestedLabel(index, planned.start.startKey ?? null, net.name === net.kind ? null : net.name),
    type: kindOf(net),
    state,
    job_id: null,
    workflow_id: id,
    workflow: plannedWire(tree, net, planned, id),
  }
}

function plannedWire(
  tree: LoadedTree,
  net: Net,
  { start, state }: Pick<Planned, 'start' | 'state'>,
  id: string | null,
): Wire {
  const isChain = kindOf(net) === 'chain'
  const items = start.items?.['jobs'] ?? []
  const places = isChain
    ? net.nodes.map(({ key, work }, index) =>
        work.kind === 'child'
          ? plannedEntry(tree, { hash: work.net, start: start.literals?.[key]?.start ?? {}, index, state })
          : {
              index,
              ...plannedLabel(index, start.literals?.[key]?.meta),
              type: work.kind === 'run' ? work.type : work.kind,
              state,
              job_id: null,
            },
      )
    : items.slice(0, tree.window.count).map((item, index) => {
        const named = item as { readonly run?: ItemRun; readonly child?: string; readonly start?: ChildStart }
        if (named.child === undefined) {
          return { index, ...plannedLabel(index, named.run?.meta), type: named.run?.type ?? '', state, job_id: null }
        }
        return plannedEntry(tree, { hash: named.child, start: named.start ?? {}, index, state })
      })
  const total = isChain ? net.nodes.length : items.length
  const counted = (start.meta as { readonly ojs?: { readonly jobs?: number } } | undefined)?.ojs?.jobs
  return {
    ...(id === null ? {} : { id }),
    type: kindOf(net),
    ...(net.name === net.kind ? {} : { name: net.name }),
    state: state === 'cancelled' ? 'cancelled' : 'pending',
    ...countsWire(net, 0, total),
    [isChain ? 'steps' : 'jobs']: places,
    ...(places.length < total ? { jobs_truncated: true } : {}),
    ...(kindOf(net) === 'batch' ? { callbacks: plannedCallbacks(net, start, state) } : {}),
    metadata: { job_count: counted ?? total, completed_count: 0, failed_count: 0 },
  }
}

/** Of a job that is not enqueued yet. */
export function plannedLabel(place: number | string, meta: Json | undefined): Wire {
  const { petrel } = (meta ?? {}) as { readonly petrel?: { readonly ojs?: Envelope } }
  return labelWire(place, petrel?.ojs ?? {})
}

export function nestedLabel(index: number, startKey: string | null, name: string | null): Wire {
  return { id: startKey === null ? String(index) : idOfKey(startKey), ...(name === null ? {} : { name }) }
}

function plannedCallbacks(net: Net, { literals }: ChildStart, state: Planned['state']): Wire {
  const fired = net.nodes.filter((node) => (CALLBACKS as readonly string[]).includes(node.key))
  return Object.fromEntries(
    fired.map(({ key, work }) => {
      const type = work.kind === 'run' ? work.type : work.kind
      return [key, { ...plannedLabel(key, literals?.[key]?.meta), type, state, job_id: null }]
    }),
  )
}
