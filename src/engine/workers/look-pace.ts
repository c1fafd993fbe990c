/**
 * The pace of lines that must look without knowing what arrived: after a wake-up without particulars, or from time to time.
 * They look a few at a time, and a bounded number per second, those that got work most recently first: fetches that find
 * nothing do not delay those that do, and cost the store the same however many there are.
 */

/** How many lines look without a pause between them. */
const BURST = 64
const PER_SECOND = 50
const AT_A_TIME = 4

export interface Looking {
  /** When it last got work; 0: never. */
  readonly fedAt: number
  /** Resolves after the claim that begins now, or after the current one. */
  look(): Promise<void>
}

export class LookPace {
  readonly #due = new Set<Looking>()
  #looking = 0
  #tokens = BURST
  #countedAt = 0
  #pause: NodeJS.Timeout | null = null

  add(line: Looking): void {
    this.#due.add(line)
    this.#go()
  }

  delete(line: Looking): void {
    this.#due.delete(line)
  }

  close(): void {
    this.#due.clear()
    if (this.#pause !== null) clearTimeout(this.#pause)
    this.#pause = null
  }

  #go(): void {
    if (this.#pause !== null) return
    this.#count()
    while (this.#looking < AT_A_TIME && this.#due.size > 0) {
      if (this.#tokens < 1) {
        this.#pause = setTimeout(() => {
          this.#pause = null
          this.#go()
        }, 1000 / PER_SECOND).unref()
        return
      }
      this.#tokens--
      this.#looking++
      const line = this.#next()
      this.#due.delete(line)
      void line.look().finally(() => {
        this.#looking--
        this.#go()
      })
    }
  }

  #next(): Looking {
    let best: Looking | null = null
    for (const line of this.#due) if (best === null || line.fedAt > best.fedAt) best = line
    return best as Looking
  }

  #count(): void {
    const now = performance.now()
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#countedAt) * PER_SECOND) / 1000)
    this.#countedAt = now
  }
}
