/**
 * Detects that the store's clock was set back, and corrects the times that were derived from the later clock: leases, retries,
 * timeouts, sessions, deadlines (rows of the store), and schedules, whose next time follows from their expression.
 * Docs: decisions, "A clock that is set back".
 */

import type { Logger } from '../../kernel/logger.ts'
import type { Store } from '../../store/store.ts'

/** Smaller adjustments of clocks are normal. */
const BACK_MS = 1_000

export interface ClockWatchDeps {
  readonly store: Store
  readonly logger: Logger
  /** Recomputes the next times of schedules. */
  readonly reschedule: (now: number) => Promise<void>
}

export class ClockWatch {
  readonly #deps: ClockWatchDeps
  /**
   * How far the store's clock is at least ahead of this process's monotonic clock: the maximum since the last check.
   */
  #aheadMs: number | null = null
  #back = false

  constructor(deps: ClockWatchDeps) {
    this.#deps = deps
  }

  /**
   * Notes the store's clock as a transaction read it, because the clock may jump ahead and be corrected between two checks. A
   * jump back is not noted here: a long transaction has an old time, which looks the same.
   */
  saw(now: number): void {
    if (this.#aheadMs !== null) this.#aheadMs = Math.max(this.#aheadMs, now - performance.now())
  }

  /** Checks once per pass. A correction that failed is tried again in the next pass. */
  async look(): Promise<void> {
    const { store, logger, reschedule } = this.#deps
    // The clock was read at some moment between these two, which may be seconds apart in a busy process.
    const asked = performance.now()
    const now = await store.now()
    const answered = performance.now()
    const first = this.#aheadMs === null
    if (this.#aheadMs !== null && now - asked < this.#aheadMs - BACK_MS) this.#back = true
    this.#aheadMs = now - answered
    if (!first && !this.#back) return
    const corrected = await store.sweep.clockWentBack({ known: this.#back })
    if (corrected) {
      await reschedule(now)
      logger.warn({}, 'the clock was set back: what waited for a time ahead of it begins now')
    }
    this.#back = false
  }
}
