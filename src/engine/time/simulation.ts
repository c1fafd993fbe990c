/** For tests and dry runs, which move the store's clock instead of waiting. */

import type { RunRow } from '../../model/rows.ts'
import type { Store } from '../../store/store.ts'

export class Simulation {
  readonly #store: Store
  readonly #sweep: () => Promise<void>
  #offsetMs = 0

  constructor(store: Store, sweep: () => Promise<void>) {
    this.#store = store
    this.#sweep = sweep
  }

  now(): Promise<number> {
    return this.#store.now()
  }

  /** Moves the clock forward, for every process on this store. What becomes due by it is found by the next sweep. */
  async moveBy(ms: number): Promise<void> {
    this.#offsetMs += ms
    await this.#store.moveClock(this.#offsetMs)
  }

  /** One pass of the sweeper. */
  sweep(): Promise<void> {
    return this.#sweep()
  }

  /** The earliest moment at which time changes something; null: it changes nothing. */
  nextDueAt(): Promise<number | null> {
    return this.#store.sweep.nextDueAt()
  }

  /** Whether an instance has transitions that were cut off and are continued by a sweep. */
  async isCutOff(): Promise<boolean> {
    return (await this.#store.sweep.unfinishedCascades({ limit: 1 })).length > 0
  }

  /** Records these runs as started at that moment: their timeouts begin then. */
  async noteStarts(runs: readonly RunRow[], at: number): Promise<void> {
    await this.#store.sweep.started({ runs: runs.map(({ id, epoch }) => ({ id, epoch, at })) })
  }
}
