/**
 * The workflow of a job, and the results that the job receives. A step gets those of all steps before it; a callback
 * those of all jobs of its batch; a job of a nested group or batch, and the first step of a nested chain, the results
 * that a plain job in the place of that workflow would get. Later steps of a nested chain have the results of their own
 * chain, and those around it as outer results.
 */

import { type InputPlace, inputPlace } from '../../../model/retried-runs.ts'
import type { InstanceRow, RunRow } from '../../../model/rows.ts'
import type { Json } from '../../../net/net.ts'
import type { Reading } from '../../interface/projection.ts'
import { kindOf, type Nets, nameOf, netOf, netsOf } from '../compile/nets.ts'
import type { Kind } from '../compile/tree.ts'
import { workflowId } from '../compile/workflow-id.ts'
import type { JsonObject } from './envelope.ts'
import { indexOf, keyed, listed, type Values, valuesOf } from './values.ts'

/** The workflow as a job sees it. */
export interface JobWorkflow {
  readonly workflowId: string
  /** null: a callback. */
  readonly workflowStep: number | null
  /** null: not read, because the job is not about to be executed. */
  readonly parentResults: readonly Json[] | null
  readonly workflow: JsonObject
}

/** For runs of workflows, by run id. Few statements however many runs; none of them grows with the number of runs. */
export async function workflowParts(
  reading: Reading,
  runs: readonly RunRow[],
): Promise<ReadonlyMap<string, JobWorkflow>> {
  const around = await surroundings(reading, runs)
  const given = new Map(
    runs.flatMap((run) => {
      const place = inputPlace(run)
      return place.instanceId === null ? [] : [[run.id, inputOf(around, place)] as const]
    }),
  )
  const sources = [...given.values()].flatMap(({ own, outer }) => [own, outer]).filter((source) => source !== null)
  const values = sources.length === 0 ? null : await valuesOf(reading, [...new Set(sources.map((s) => s.instanceId))])
  return partsOf(around, runs, (run) => {
    const input = given.get(run.id) as Input
    return values === null ? NO_RESULTS : resultsOf(values, input)
  })
}

/** The same without any result: for lists, and for jobs that are not about to be executed. */
export async function workflowPlaces(
  reading: Reading,
  runs: readonly RunRow[],
): Promise<ReadonlyMap<string, JobWorkflow>> {
  return partsOf(await surroundings(reading, runs), runs, () => ({ list: [], workflow: {} }))
}

interface Around {
  readonly rows: ReadonlyMap<string, InstanceRow>
  readonly nets: Nets
}

async function surroundings(reading: Reading, runs: readonly RunRow[]): Promise<Around> {
  const ids = [...new Set(runs.flatMap((run) => inputPlace(run).instanceId ?? []))]
  const rows = ids.length === 0 ? [] : await reading.queries.trees.ancestors({ ids })
  // Other notations need no net here, and theirs may be large.
  const nets = await netsOf(reading, new Set(rows.flatMap((row) => (row.dialect === 'ojs' ? row.netHash : []))))
  return { rows: new Map(rows.map((row) => [row.id, row])), nets }
}

/** Results that a job sees: of the first `count` places of a workflow; null: of all. */
interface Source {
  readonly instanceId: string
  readonly count: number | null
}

interface Input {
  readonly own: Source | null
  readonly outer: Source | null
}

const NOTHING: Input = { own: null, outer: null }

function inputOf(around: Around, place: InputPlace): Input {
  const row = around.rows.get(place.instanceId ?? '')
  if (row === undefined || row.dialect !== 'ojs') return NOTHING
  const kind = kindOf(netOf(around.nets, row.netHash))
  const outside = (): Input => {
    if (row.parentId === null || row.parentNode === null) return NOTHING
    return inputOf(around, {
      instanceId: row.parentId,
      node: row.parentNode,
      item: row.parentItem,
      role: row.parentRole,
    })
  }
  if (place.role === 'final') return { own: { instanceId: row.id, count: null }, outer: outside().own }
  const step = kind === 'chain' ? Number(place.node) : 0
  if (step === 0) return outside()
  return { own: { instanceId: row.id, count: step }, outer: outside().own }
}

interface GivenResults {
  readonly list: readonly Json[]
  readonly workflow: { readonly [key: string]: Json }
}

const NO_RESULTS: GivenResults = { list: [], workflow: { parent_results: {} } }

function resultsOf(values: Values, { own, outer }: Input): GivenResults {
  if (own === null) return NO_RESULTS
  const seen = read(values, own)
  const length = own.count ?? [...seen.keys()].reduce((most, index) => Math.max(most, index + 1), 0)
  return {
    list: listed(seen, length),
    workflow: {
      parent_results: keyed(seen),
      ...(outer === null ? {} : { outer_results: keyed(read(values, outer)) }),
      ...(values.truncated ? { results_truncated: true } : {}),
    },
  }
}

function read(values: Values, { instanceId, count }: Source): ReadonlyMap<number, Json> {
  const all = values.of(instanceId)
  return count === null ? all : new Map([...all].filter(([index]) => index < count))
}

function partsOf(
  around: Around,
  runs: readonly RunRow[],
  results: (run: RunRow) => GivenResults,
): ReadonlyMap<string, JobWorkflow> {
  const parts = new Map<string, JobWorkflow>()
  for (const run of runs) {
    const place = inputPlace(run)
    const row = around.rows.get(place.instanceId ?? '')
    if (row === undefined) continue
    const root = around.rows.get(row.rootId) ?? row
    const net = row.dialect === 'ojs' ? netOf(around.nets, row.netHash) : null
    const name = net === null ? row.name : nameOf(row, net)
    const index = indexOf(place)
    const given = results(run)
    parts.set(run.id, {
      workflowId: workflowId(row),
      workflowStep: index < 0 ? null : index,
      parentResults: given.list,
      workflow: {
        id: workflowId(row),
        root_id: workflowId(root),
        type: net === null ? row.dialect : kindOf(net),
        ...(name === null ? {} : { name }),
        ...(net === null ? { node: place.node } : placeWire(kindOf(net), place, index)),
        ...given.workflow,
      },
    })
  }
  return parts
}

function placeWire(kind: Kind, run: InputPlace, index: number): { readonly [key: string]: Json } {
  if (run.role === 'final') return { callback: run.node }
  return kind === 'chain' ? { step_index: index } : { job_index: index }
}
