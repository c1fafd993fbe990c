/**
 * Hand-off: runs born in a transaction go straight to workers that wait for one, already leased, so that a step costs
 * one transaction. The same admission as claim decides; a worker never gets something less urgent than what it could
 * claim, and after a number of hand-offs in a row it must look at the queue if anything waits there.
 */
import type { RunRow } from '../store/rows.ts'
import type { ClaimFilter } from '../store/store.ts'
import type { Change } from './change.ts'
import { type Holder, leased } from './runs.ts'

/** Hand-offs in a row while other work waits. */
export const MAX_STREAK = 64

/** Stands for the report id of a hand-off that no report asked for. */
const UNASKED = 'unasked'

export interface Offer {
  readonly holder: Holder
  readonly filter: ClaimFilter
  readonly accepts: (run: RunRow) => boolean
  /** Reports whose reply can carry a run; used first. */
  readonly reports: string[]
  /** Runs the worker would take beyond those. */
  room: number
  streak: number
}

export interface Handed {
  readonly run: RunRow
  readonly offer: Offer
  readonly reportId: string | null
}

export function handOff(change: Change, offers: readonly Offer[], urgency: readonly (number | null)[]): readonly Handed[] {
  const handed: Handed[] = []
  if (offers.length === 0) return handed
  for (const run of change.newRuns.values()) {
    if (run.status !== 'pending' || run.runAt > change.now) continue
    const at = offers.findIndex((offer, i) => wants(offer, run, urgency[i] ?? null))
    const offer = offers[at]
    if (offer === undefined || change.admission.take(run) !== null) continue
    const reportId = offer.reports.shift() ?? null
    if (reportId === null) offer.room--
    if (urgency[at] === null || urgency[at] === undefined) offer.streak = 0
    else offer.streak++
    const row = leased(run, offer.holder, change.now, reportId ?? UNASKED)
    change.handedOut(row)
    handed.push({ run: row, offer, reportId })
  }
  return handed
}

function wants(offer: Offer, run: RunRow, waiting: number | null): boolean {
  if (offer.reports.length === 0 && offer.room <= 0) return false
  if (waiting !== null && (waiting < run.priority || offer.streak >= MAX_STREAK)) return false
  return offer.accepts(run)
}

/** Whether a filter takes a run; the same rule as the stores' claim. */
export function accepting(filter: ClaimFilter): (run: RunRow) => boolean {
  const queues = filter.queues === null ? null : new Set(filter.queues)
  const exact = new Set<string>()
  const prefixes: string[] = []
  for (const type of filter.types ?? []) {
    if (type.endsWith('%')) prefixes.push(type.slice(0, -1))
    else exact.add(type)
  }
  return (run) =>
    (queues === null || queues.has(run.queue)) &&
    (filter.tenant === null || filter.tenant === run.tenant) &&
    (filter.types === null || exact.has(run.type) || prefixes.some((p) => run.type.startsWith(p)))
}
