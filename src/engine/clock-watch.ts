/**
 * Notices that the store's clock was set back, and lets what was derived from the future begin now: leases, retries,
 * timeouts, sessions, deadlines (the store's rows), and schedules, whose next time follows from their expression.
 * Docs: decisions, "A clock that is set back".
 */
import type { Store } from '../store/store.ts'
import type { Logger } from './api.ts'

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
  #last: { readonly storeNow: number; readonly at: number } | null = null
  #back = false

  constructor(deps: ClockWatchDeps) {
    this.#deps = deps
  }

  /** One look per pass. What could not be corrected is tried again at the next. */
  async look(): Promise<void> {
    const { store, logger, reschedule } = this.#deps
    const now = await store.now()
    const at = performance.now()
    const first = this.#last === null
    if (this.#last !== null && now < this.#last.storeNow + (at - this.#last.at) - BACK_MS) this.#back = true
    this.#last = { storeNow: now, at }
    if (!first && !this.#back) return
    const corrected = await store.sweep.clockWentBack({ known: this.#back })
    if (corrected) {
      await reschedule(now)
      logger.warn({}, 'the clock was set back: what waited for a time ahead of it begins now')
    }
    this.#back = false
  }
}
