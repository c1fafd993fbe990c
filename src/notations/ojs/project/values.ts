/**
 * The values of workflows: the result of each step or job, nested workflows as objects of their own values (callbacks
 * left out). A place that failed without a result has `{ state: 'failed', error }`, one that never ran has null.
 */

import { readStored } from '../../../kernel/json-limits.ts'
import type { RunBrief } from '../../../model/queries/trees.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'
import { SLOT } from '../../../net/slots.ts'
import type { Reading } from '../../interface/projection.ts'
import { errorCode } from './failures.ts'
import { startsOf } from './state.ts'

/** The most bytes of results read for one call; further results are replaced by references. */
const MAX_BYTES = 32 * 1024 * 1024
const MAX_INSTANCES = 100_000
const MAX_RUNS = 500_000
const ALL = 2_000_000_000

export interface Values {
  /** By index; null: not known, or there is no result. */
  of(instanceId: string): ReadonlyMap<number, Json>
  /** true: some results are references. */
  readonly truncated: boolean
}

export async function valuesOf(reading: Reading, instanceIds: readonly string[]): Promise<Values> {
  const { trees } = reading.queries
  const windows = instanceIds.map((instanceId) => ({ instanceId, from: 0, count: ALL }))
  const rows = [...(await trees.below({ windows, limit: MAX_INSTANCES }))]
  const taken = await takenOver(reading, rows)
  rows.push(...taken.rows)
  const runs = await trees.placesOf({
    windows: rows.map((row) => ({ instanceId: row.id, from: 0, count: ALL })),
    failedOnly: false,
    limit: MAX_RUNS,
    maxBytes: MAX_BYTES,
  })
  return gather(rows, runs, taken.places)
}

export interface TakenOver {
  readonly rows: readonly InstanceRow[]
  /** The place of each in the retried workflow. */
  readonly places: readonly { readonly instanceId: string; readonly index: number; readonly childId: string }[]
}

/** A workflow that retries another refers to the nested workflows that the other had finished. */
export async function takenOver(reading: Reading, rows: readonly InstanceRow[]): Promise<TakenOver> {
  const { trees } = reading.queries
  const found: InstanceRow[] = []
  const places: { instanceId: string; index: number; childId: string }[] = []
  const known = new Set(rows.map((row) => row.id))
  for (let retries = retriesAmong(rows); retries.length > 0; ) {
    const slots = await trees.slotsOf({ instanceIds: retries, prefixes: [SLOT.result.prefix] })
    const missing: string[] = []
    for (const { instanceId, key, value } of slots) {
      const { $child: childId } = JSON.parse(value) as { readonly $child?: string }
      if (childId === undefined || known.has(childId)) continue
      known.add(childId)
      missing.push(childId)
      places.push({ instanceId, index: indexOfSlot(key), childId })
    }
    const windows = missing.map((instanceId) => ({ instanceId, from: 0, count: ALL }))
    const more = await trees.below({ windows, limit: MAX_INSTANCES })
    for (const row of more) known.add(row.id)
    found.push(...more)
    retries = retriesAmong(more)
  }
  return { rows: found, places }
}

/** The same for workflows of which only the rows are loaded. */
export async function takenOverBelow(reading: Reading, rows: readonly InstanceRow[]): Promise<TakenOver> {
  const windows = retriesAmong(rows).map((instanceId) => ({ instanceId, from: 0, count: ALL }))
  if (windows.length === 0) return { rows: [], places: [] }
  const below = await reading.queries.trees.below({ windows, limit: MAX_INSTANCES })
  const taken = await takenOver(reading, below)
  return { rows: [...below, ...taken.rows], places: taken.places }
}

function retriesAmong(rows: readonly InstanceRow[]): string[] {
  return rows.filter((row) => row.retryOf !== null).map((row) => row.id)
}

/** `3` of a chain, `jobs/3` of a list. */
function indexOfSlot(key: string): number {
  const place = SLOT.result.nameIn(key)
  return Number(place.slice(place.lastIndexOf('/') + 1))
}

/** Index of the step or job at a place; −1: a callback. */
export function indexOf(place: { readonly node: string | null; readonly item: number }): number {
  if (place.item >= 0) return place.item
  const step = Number(place.node)
  return Number.isInteger(step) && place.node !== '' ? step : -1
}

function gather(rows: readonly InstanceRow[], runs: readonly RunBrief[], taken: TakenOver['places']): Values {
  const plain = new Map<string, Map<number, Json>>()
  const children = new Map<string, Map<number, string>>()
  let truncated = runs.length >= MAX_RUNS
  for (const run of runs) {
    if (run.role !== 'work' || run.instanceId === null) continue
    truncated ||= run.omitted
    const value = cameTo(run)
    if (value !== undefined) put(plain, run.instanceId, indexOf(run), value)
  }
  for (const row of rows) {
    if (row.parentId === null || row.parentNode === null || row.parentRole !== 'work') continue
    put(children, row.parentId, indexOf({ node: row.parentNode, item: row.parentItem }), row.id)
  }
  for (const { instanceId, index, childId } of taken) put(children, instanceId, index, childId)
  const of = (instanceId: string): ReadonlyMap<number, Json> => {
    const values = new Map(plain.get(instanceId))
    for (const [index, child] of children.get(instanceId) ?? []) values.set(index, keyed(of(child)))
    return values
  }
  return { of, truncated }
}

function put<T>(into: Map<string, Map<number, T>>, id: string, index: number, value: T): void {
  const known = into.get(id) ?? new Map<number, T>()
  known.set(index, value)
  into.set(id, known)
}

/** undefined: it has no result yet. */
function cameTo(run: RunBrief): Json | undefined {
  if (run.omitted) return { result_ref: `/ojs/v1/jobs/${run.id}` }
  if (run.result !== null) return readStored(run.result)
  if (run.status === 'succeeded') return null
  const error = failureOf(run)
  return error === null ? undefined : { state: 'failed', error: { job_id: run.id, ...error } }
}

/** What is reported about a failed job; null: it did not fail. */
export function failureOf(
  run: Pick<RunBrief, 'status' | 'error' | 'lastError' | 'attempt' | 'unknown'>,
): { readonly code: string; readonly message: string; readonly attempt: number } | null {
  if (run.status !== 'failed' && !(run.status === 'cancelled' && run.error !== null)) return null
  const message = run.lastError ?? 'it failed'
  const error = run.error === null ? { code: 'handler_error', message } : (JSON.parse(run.error) as Failure)
  return { code: errorCode(error), message: error.message, attempt: startsOf(run) }
}

export function keyed(values: ReadonlyMap<number, Json>): { readonly [index: string]: Json } {
  return Object.fromEntries([...values].sort(([a], [b]) => a - b))
}

/** The same as a list, with null for places without a result. */
export function listed(values: ReadonlyMap<number, Json>, length: number): readonly Json[] {
  return Array.from({ length }, (_, i) => values.get(i) ?? null)
}
