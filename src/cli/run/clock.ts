/**
 * A clock that skips idle time: it is based on the store's clock and jumps to the next time at which anything happens.
 * Stand-ins sleep on it.
 */
import type { Engine } from '../../engine/engine.ts'

interface Sleeper {
  readonly at: number
  wake(): void
}

export class SkippedClock {
  readonly #time: Engine['simulation']
  readonly #sleepers = new Map<string, Sleeper>()

  constructor(time: Engine['simulation']) {
    this.#time = time
  }

  now(): Promise<number> {
    return this.#time.now()
  }

  /** `who` names the sleeping execution, so that the dry run can distinguish a sleeping lease from an active one. */
  async sleep(who: string, ms: number, signal: AbortSignal): Promise<void> {
    const at = (await this.now()) + ms
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#sleepers.delete(who)
        signal.removeEventListener('abort', give)
      }
      const give = (): void => {
        leave()
        reject(signal.reason)
      }
      this.#sleepers.set(who, {
        at,
        wake: () => {
          leave()
          resolve()
        },
      })
      if (signal.aborted) give()
      else signal.addEventListener('abort', give)
    })
  }

  sleeps(who: string): boolean {
    return this.#sleepers.has(who)
  }

  get sleeping(): number {
    return this.#sleepers.size
  }

  get nextWakeAt(): number | null {
    const times = [...this.#sleepers.values()].map((s) => s.at)
    return times.length === 0 ? null : Math.min(...times)
  }

  async jumpTo(at: number): Promise<void> {
    const now = await this.now()
    if (at > now) await this.#time.moveBy(at - now)
  }

  /**
   * Wakes the executions whose sleep is over. A timeout due at the same time or before it comes first: work that would
   * have been stopped must not report in time.
   */
  async wakeDue(): Promise<boolean> {
    const now = await this.now()
    const due = [...this.#sleepers.values()].filter((s) => s.at <= now)
    for (const sleeper of due) sleeper.wake()
    return due.length > 0
  }
}
