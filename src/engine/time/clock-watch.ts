/**
 * Notices that the store's clock was set back, and lets what was derived from the future begin now: leases, retries,
 * timeouts, sessions, deadlines (the store's rows), and schedules, whose next time follows from their expression.
 * Docs: decisions, "A clock that is set back".
 */

import type { Logger } from '../../kernel/logger.ts'
import type { Store } from '../../store/store.ts'

/** Clocks are adjusted by less all the time. */
const BACK_MS = 1_000

export interface ClockWatchDeps {
  readonly store: Store
  readonly logger: Logger
  /** Computes the next times of schedules again. */
  readonly reschedule: (now: number) => Promise<void>
}

export class ClockWatch {
  readonly #deps: ClockWatchDeps
  /** How far the store's clock is at least ahead of this process's monotonic clock: the most that was seen since the last look. */
  #aheadMs: number | null = null
  #back = false

  constructor(deps: ClockWatchDeps) {
    this.#deps = deps
  }

  /**
   * The store's clock as a transaction read it: it may jump and be corrected between two looks. Only a jump ahead is
   * noted here. A transaction that took long has an old time, which looks like a clock that was set back.
   */
  saw(now: number): void {
    if (this.#aheadMs !== null) this.#aheadMs = Math.max(this.#aheadMs, now - performance.now())
  }

  /** One look per pass. What could not be corrected is tried again at the next. */
  async look(): Promise<void> {
    const { store, logger, reschedule } = this.#deps
    // Read at some moment between the two: a busy process may take seconds from one to the other.
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
