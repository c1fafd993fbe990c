/**
 * Hand-off: runs that are created in a transaction are given to waiting workers at once, already leased, so that a step costs
 * one transaction. The same admission as for a claim decides. A worker never gets a run that is less urgent than one that it
 * could claim when it last looked (queue-outlook.ts), and after a number of hand-offs in a row it must look at the queue if
 * anything waits there.
 */

import type { RunRow } from '../../model/rows.ts'
import type { ClaimFilter } from '../../model/transaction.ts'
import { handedOut } from '../fold/run/changed-runs.ts'
import { createdLeased, type Holder } from '../fold/run/runs.ts'
import type { WorkingSet } from '../fold/working-set.ts'

/** How many settles in a row may hand off while other work waits; each gives a place of a worker at most one run. */
const MAX_STREAK = 16

/** The report id of a hand-off that is no reply to a report. */
const UNASKED = 'unasked'

export interface Offer {
  readonly holder: Holder
  readonly filter: ClaimFilter
  readonly accepts: (run: RunRow) => boolean
  /** Reports whose reply can carry a run; used first. */
  readonly reports: string[]
  /** How many more runs the worker would take. */
  room: number
  readonly streak: number
  /**
   * Priority of the most urgent run it could claim; null: none waits; undefined: not known, so the store must be asked.
   */
  readonly waiting: number | null | undefined
  /** true: `waiting` is old; the store is asked again for the next offer. */
  readonly renew: boolean
  /** Called after the commit with what the store found. */
  looked(waiting: number | null): void
}

export interface Handed {
  readonly run: RunRow
  readonly offer: Offer
  readonly reportId: string | null
}

export function handOff(
  change: Pick<WorkingSet, 'newRuns' | 'now' | 'admission' | 'createdEvents' | 'events' | 'counted'>,
  offers: readonly Offer[],
  urgency: readonly (number | null)[],
): readonly Handed[] {
  const handed: Handed[] = []
  if (offers.length === 0) return handed
  for (const run of change.newRuns.values()) {
    if (run.status !== 'pending' || run.runAt > change.now) continue
    const { admission } = change
    const offer = offers.find(
      (o, i) => wants(o, run, urgency[i] ?? null) && admission.isOpen(run.type, o.filter.runtime),
    )
    if (offer === undefined || admission.take(run, offer.filter.runtime) !== null) continue
    const reportId = offer.reports.shift() ?? null
    if (reportId === null) offer.room--
    const row = createdLeased(run, offer.holder, change.now, reportId ?? UNASKED)
    handedOut(change, row)
    handed.push({ run: row, offer, reportId })
  }
  return handed
}

function wants(offer: Offer, run: RunRow, waiting: number | null): boolean {
  if (offer.reports.length === 0 && offer.room <= 0) return false
  if (waiting !== null && (waiting < run.priority || offer.streak >= MAX_STREAK)) return false
  // A key does not keep a worker while others may wait for their turn.
  if (run.fairKey !== null && waiting === run.priority) return false
  return offer.accepts(run)
}
