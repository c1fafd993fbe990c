/**
 * Takes the best candidates that admission allows. Sessions and workers with leases of their own both claim here. If a queue or
 * key is full, the store is asked for further candidates outside of it. A candidate that a foreign client moved to another
 * queue or type while it was being locked is left for workers that take it there.
 */

import { limitKeys } from '../../model/limits.ts'
import type { FairPlace, FairTurnRow } from '../../model/queues/fair.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Candidates, Loaded } from '../../model/transaction.ts'
import { NeedMore } from '../fold/need.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import { accepting } from './filter.ts'

type Filter = Omit<Candidates, 'limit' | 'skipQueues' | 'skipLimitKeys'>

export interface Claimed {
  readonly taken: readonly RunRow[]
  /** The limit of payload bytes was reached by taken or inspected runs: more may be waiting. */
  readonly cut: boolean
}

/** Takes, and records whose turn it was last where keys share a queue. */
export function claim(
  change: WorkingSet,
  filter: Filter,
  limit: number,
  /** null: it cannot be leased, so the next one is tried. */
  lease: (run: RunRow) => RunRow | null,
): Claimed {
  const claimed = take(change, filter, limit, lease)
  change.fairTurns = turnsAfter(change.loaded.fairPlaces ?? [], claimed.taken)
  return claimed
}

/** A run that was refused keeps its key waiting for the next turn only if no later one was taken. */
function turnsAfter(places: readonly FairPlace[], taken: readonly RunRow[]): readonly FairTurnRow[] {
  if (places.length === 0) return []
  const ids = new Set(taken.map(({ id }) => id))
  const last = new Map<string, FairTurnRow>()
  for (const { runId, turn } of places) if (ids.has(runId)) last.set(`${turn.priority} ${turn.queue}`, turn)
  return [...last.values()]
}

function take(change: WorkingSet, filter: Filter, limit: number, lease: (run: RunRow) => RunRow | null): Claimed {
  askRules(change)
  const candidates = candidatesOf(change.loaded)
  const accepts = accepting(filter)
  const full = { queues: new Set<string>(), keys: new Set<string>() }
  const taken: RunRow[] = []
  const { maxBytes } = filter
  const cut = maxBytes !== undefined && bytesOf(change.loaded.candidates) > maxBytes
  let bytes = 0
  for (const run of candidates) {
    if (taken.length >= limit) break
    if (!accepts(run)) continue
    const size = maxBytes === undefined ? 0 : Buffer.byteLength(run.payload)
    if (maxBytes !== undefined && taken.length > 0 && bytes + size > maxBytes) return { taken, cut: true }
    const refusal = change.admission.take(run, filter.runtime)
    if (refusal === 'closed') continue
    if (refusal === 'key_limit') full.keys.add(run.limitKey as string)
    else if (refusal !== null) full.queues.add(run.queue)
    else {
      const row = lease(run)
      if (row === null) {
        change.admission.giveBack(run)
        continue
      }
      change.runs.set(row.id, row)
      taken.push(row)
      bytes += size
    }
  }
  const fuller = full.queues.size + full.keys.size
  const round = `full:${[...full.queues, ...full.keys].sort().join(',')}`
  const perhapsMore = cut || change.loaded.candidates.length >= limit
  if (taken.length < limit && fuller > 0 && perhapsMore && !change.asked.has(round)) {
    change.asked.add(round)
    const skip = { skipQueues: [...full.queues], skipLimitKeys: [...full.keys] }
    throw new NeedMore({ candidates: { ...filter, limit, ...skip } })
  }
  return { taken, cut }
}

function bytesOf(runs: readonly RunRow[]): number {
  return runs.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0)
}

interface Found {
  /** The candidates that were loaded last. */
  readonly last: readonly RunRow[]
  readonly all: readonly RunRow[]
}

const found = new WeakMap<Loaded, Found>()

/** Candidates of earlier rounds come first: a queue that is full now had room for its first ones. */
function candidatesOf(loaded: Loaded): readonly RunRow[] {
  const { candidates } = loaded
  const before = found.get(loaded)
  if (before?.last === candidates) return before.all
  const known = new Set(before?.all.map((run) => run.id))
  const all = before === undefined ? candidates : [...before.all, ...candidates.filter((run) => !known.has(run.id))]
  found.set(loaded, { last: candidates, all })
  return all
}

/** Limits and pauses of the candidates must be known before any of them is leased. */
function askRules(change: WorkingSet): void {
  const queues = new Set<string>()
  const limits = new Set<string>()
  for (const run of change.loaded.candidates) {
    if (!change.asked.has(`queue ${run.queue}`)) queues.add(run.queue)
    for (const key of limitKeys(run)) if (!change.asked.has(`limit ${key}`)) limits.add(key)
  }
  if (queues.size + limits.size === 0) return
  for (const q of queues) change.asked.add(`queue ${q}`)
  for (const key of limits) change.asked.add(`limit ${key}`)
  throw new NeedMore({ queues: [...queues], limits: [...limits] })
}
