/**
 * What this process knows of the store's clock. A transaction that loads anything reads the clock on the way. One that
 * loads nothing decides on an estimate: the last reading plus the time since it arrived here, which is never ahead of
 * the server (the reading was older when it arrived) unless the two machines' clocks run apart; workflow.expect_clock
 * refuses the writes if it is ahead all the same, or if the offset was moved.
 */
import { type Call, type Fields, statement } from './statement.ts'

/** Beyond this age an estimate may have drifted by more than a network round trip hides. */
const FRESH_MS = 5000

const EXPECT_CLOCK = statement('SELECT workflow.expect_clock($1::float8, $2::float8)')

export class StoreClock {
  #serverMs = 0
  #offsetMs = 0
  #readAt = Number.NEGATIVE_INFINITY

  /** Takes a row of load/plain.ts CLOCK; returns the transaction's now. */
  read(fields: Fields): number {
    this.#serverMs = Number(fields[0])
    this.#offsetMs = Number(fields[1] ?? 0)
    this.#readAt = performance.now()
    return Math.floor(this.#serverMs) + this.#offsetMs
  }

  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  /** null: nothing read lately. */
  estimate(): { readonly now: number; readonly guard: Call } | null {
    const age = performance.now() - this.#readAt
    if (age > FRESH_MS) return null
    // a millisecond back: better a run due a moment early than one that its own wake-up does not find
    const now = Math.floor(this.#serverMs + age - 1) + this.#offsetMs
    return { now, guard: { statement: EXPECT_CLOCK, values: [String(now), String(this.#offsetMs)] } }
  }
}
