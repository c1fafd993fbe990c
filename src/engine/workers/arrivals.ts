/**
 * Runs that became claimable, each offered to one line of waiting fetches at a time.
 *
 *   open      no line looks for it: the lines that want it have as many offers as they have room for
 *   offered   a line's next claim looks for it
 *
 * After its claim the line returns its offers with the result. An offer is over when its run was taken, or when a claim that
 * saw everything under its filter did not get it: another claim with the same runtime would not get it either. Otherwise the
 * next line tries. So a run costs about one claim, however many fetches wait.
 */

import type { Arrival } from '../transaction/consequences.ts'
export interface Offer {
  readonly arrival: Arrival
  /** Runtimes and lines that looked and did not get it. */
  readonly tried: Set<unknown>
}

/** The interface of a line. */
export interface Taker {
  readonly runtime: string | null
  wants(arrival: Arrival): boolean
  /** How many more runs it could take than those offered already. */
  readonly room: number
  offer(offer: Offer): void
}

export interface Looked {
  readonly offers: readonly Offer[]
  readonly takenIds: ReadonlySet<string>
  /** The claim saw every run under its filter. */
  readonly sawAll: boolean
}

/** More arrivals than this are not matched one by one. */
const MOST_OPEN = 1_000

export class Arrivals {
  readonly #takers: () => Iterable<Taker>
  readonly #open = new Set<Offer>()

  constructor(takers: () => Iterable<Taker>) {
    this.#takers = takers
  }

  /** Returns the queues of the arrivals that were too many: every line that takes from them must look. */
  add(arrivals: readonly Arrival[]): ReadonlySet<string> {
    const tooMany = new Set<string>()
    for (const arrival of arrivals) {
      if (this.#open.size < MOST_OPEN) this.#open.add({ arrival, tried: new Set() })
      else tooMany.add(arrival.queue)
    }
    this.#offer()
    return tooMany
  }

  looked(taker: Taker, { offers, takenIds, sawAll }: Looked): void {
    for (const offer of offers) {
      const { runId } = offer.arrival
      if (runId === null ? takenIds.size > 0 : takenIds.has(runId)) continue
      offer.tried.add(sawAll && runId !== null ? `runtime ${taker.runtime}` : taker)
      this.#open.add(offer)
    }
    if (this.#open.size > 0) this.#offer()
  }

  /** No fetch waits in this line any more. */
  returned(offers: readonly Offer[]): void {
    for (const offer of offers) this.#open.add(offer)
    if (this.#open.size > 0) this.#offer()
  }

  clear(): void {
    this.#open.clear()
  }

  #offer(): void {
    for (const offer of this.#open) {
      let wanted = false
      for (const taker of this.#takers()) {
        if (offer.tried.has(taker) || offer.tried.has(`runtime ${taker.runtime}`)) continue
        if (!taker.wants(offer.arrival)) continue
        wanted = true
        if (taker.room <= 0) continue
        this.#open.delete(offer)
        taker.offer(offer)
        break
      }
      if (!wanted) this.#open.delete(offer)
    }
  }
}
