/**
 * Contained failures: one finding, outcome, event or row could not be handled, and everything else continued. Each is logged
 * under a stable code and counted for /metrics. A failed finding rests before it is tried again, longer each time, so it costs
 * little however often it fails, and a search that leaves resting findings out still reaches the others.
 *
 *   unknown ──(fails)──▶ resting ──(its time is over)──▶ due ──(fails again)──▶ resting, twice as long
 *                                                          └──(succeeds)──▶ unknown
 *
 * Kept in memory, and bounded: after a restart everything is tried again, one by one.
 */

import type { Logger } from '../../kernel/logger.ts'
import { StoreLockedError } from '../../kernel/store-errors.ts'

interface Fault {
  readonly failures: number
  readonly at: number
  readonly restMs: number
}

const LEAST_REST_MS = 1_000
const MOST_REST_MS = 5 * 60_000
/** Shorter for rows that another transaction holds: they may be free soon. */
const LOCKED_REST_MS = 250
/** Per place. The oldest is removed first, and then tried again early. */
const MOST_KEPT = 10_000

export class Faults {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #places = new Map<string, Map<string, Fault>>()
  readonly #counts = new Map<string, number>()

  constructor(p: { readonly logger: Logger; readonly now: () => number }) {
    this.#logger = p.logger
    this.#now = p.now
  }

  /** `id` at `place` failed with `error`. `place` is the stable code of the log and the label of the metric. */
  note(place: string, id: string, error: unknown): void {
    this.#counts.set(place, (this.#counts.get(place) ?? 0) + 1)
    // A row that is found a thousand times is logged once per rest.
    if (this.rests(place, id)) return
    const failures = (this.#places.get(place)?.get(id)?.failures ?? 0) + 1
    const locked = error instanceof StoreLockedError
    const restMs = locked ? LOCKED_REST_MS : Math.min(LEAST_REST_MS * 2 ** (failures - 1), MOST_REST_MS)
    this.#keep(place, id, { failures, at: this.#now(), restMs })
    if (locked && failures > 1) return
    const message = error instanceof Error ? error.message : String(error)
    const stack = error instanceof Error && !(error instanceof RangeError) ? { err: error } : {}
    this.#logger.error({ code: place, id, failures, restMs, ...stack }, `${place}: ${id} was left out: ${message}`)
  }

  /** Whether it must not be tried now. A clock that was set back ends the rest. */
  rests(place: string, id: string): boolean {
    const fault = this.#places.get(place)?.get(id)
    if (fault === undefined) return false
    const rested = this.#now() - fault.at
    return rested >= 0 && rested < fault.restMs
  }

  /** The ids that must not be tried now. */
  resting(place: string): readonly string[] {
    return [...(this.#places.get(place)?.keys() ?? [])].filter((id) => this.rests(place, id))
  }

  /** How many rest at most: a search must request that many more to reach the others. */
  kept(place: string): number {
    return this.#places.get(place)?.size ?? 0
  }

  /** It succeeded, or it no longer exists. */
  over(place: string, id: string): void {
    this.#places.get(place)?.delete(id)
  }

  /** `ids` are all that exist: others that failed before are forgotten. */
  only(place: string, ids: ReadonlySet<string>): void {
    const known = this.#places.get(place)
    if (known !== undefined) for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
  }

  /** Failures so far, by place. */
  counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /** Failed and not succeeded since, by place. */
  standing(): ReadonlyMap<string, number> {
    return new Map([...this.#places].map(([place, known]) => [place, known.size]))
  }

  #keep(place: string, id: string, fault: Fault): void {
    let known = this.#places.get(place)
    if (known === undefined) {
      known = new Map()
      this.#places.set(place, known)
    }
    // Deleted first: the latest comes last.
    known.delete(id)
    known.set(id, fault)
    const [oldest] = known.keys()
    if (known.size > MOST_KEPT && oldest !== undefined) known.delete(oldest)
  }
}
