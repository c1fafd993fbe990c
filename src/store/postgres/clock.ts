/**
 * An estimate of the store's clock. A transaction that loads anything reads the clock at the same time. One that is
 * decided from memory (recent.ts) uses an estimate: the last reading plus the time since it arrived here, which is
 * never ahead of the server (the reading was older when it arrived) unless the two machines' clocks run apart; if it is
 * ahead nevertheless, or the offset was moved, workflow.expect_rows refuses the writes.
 */
import type { Fields } from './connection/statement.ts'

/** An older estimate may have drifted by more than a network round trip hides. */
const FRESH_MS = 5000

/** The now of a transaction, from a row of load/plain.ts CLOCK. */
export function nowFrom(fields: Fields): number {
  return Math.floor(Number(fields[0])) + Number(fields[1] ?? 0)
}

export interface Estimate {
  readonly now: number
  readonly offsetMs: number
}

export class StoreClock {
  /**
   * Server's milliseconds minus ours. Each reading is delayed by its way here or by a lock it waited for: the greatest
   * is best.
   */
  #ahead = 0
  #offsetMs = 0
  #readAt = Number.NEGATIVE_INFINITY

  read(fields: Fields): number {
    const here = performance.now()
    const ahead = Number(fields[0]) - here
    const offsetMs = Number(fields[1] ?? 0)
    if (ahead >= this.#ahead || offsetMs !== this.#offsetMs || here - this.#readAt > FRESH_MS) {
      this.#ahead = ahead
      this.#offsetMs = offsetMs
      this.#readAt = here
    }
    return nowFrom(fields)
  }

  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  /** null: there is no recent reading. */
  estimate(): Estimate | null {
    const here = performance.now()
    if (here - this.#readAt > FRESH_MS) return null
    // a millisecond back: a run due a moment early is better than one that its own wake-up does not find
    return { now: Math.floor(here + this.#ahead - 1) + this.#offsetMs, offsetMs: this.#offsetMs }
  }
}
