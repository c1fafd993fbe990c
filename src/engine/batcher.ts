/**
 * Calls that arrive while the last batch is committing form the next one: a batch of one when idle, hundreds under
 * load, no timer in between. One batch at a time per lane.
 */
export interface Batch<P, R> {
  readonly params: P
  resolve(result: R): void
  reject(error: unknown): void
}

export class Batcher<P, R> {
  readonly #work: (batch: readonly Batch<P, R>[]) => Promise<void>
  readonly #most: number
  readonly #mostBytes: number
  readonly #sizeOf: (params: P) => number
  readonly #begin: (run: () => void) => void
  #queue: Batch<P, R>[] = []
  #busy = false
  #idle: (() => void)[] = []

  constructor(p: {
    readonly work: (batch: readonly Batch<P, R>[]) => Promise<void>
    readonly most: number
    readonly mostBytes: number
    readonly sizeOf: (params: P) => number
    /**
     * When the first call of a batch lets it begin: never at once, for what is called in the same go belongs to it.
     * Default setImmediate, after whatever else this turn of the event loop has to do.
     */
    readonly begin?: (run: () => void) => void
  }) {
    this.#work = p.work
    this.#most = p.most
    this.#mostBytes = p.mostBytes
    this.#sizeOf = p.sizeOf
    this.#begin = p.begin ?? setImmediate
  }

  add(params: P): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      this.#queue.push({ params, resolve, reject })
      this.#kick()
    })
  }

  /** Puts back what could not be done yet, behind what has arrived since. */
  again(batch: readonly Batch<P, R>[]): void {
    this.#queue.push(...batch)
    this.#kick()
  }

  /** Resolves when nothing is queued or under way. */
  idle(): Promise<void> {
    if (!this.#busy && this.#queue.length === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #kick(): void {
    if (this.#busy) return
    this.#busy = true
    this.#begin(() => void this.#run())
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#take()
      try {
        await this.#work(batch)
      } catch (error) {
        for (const entry of batch) entry.reject(error)
      }
      if (this.#queue.length === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    this.#busy = false
    const waiting = this.#idle
    this.#idle = []
    for (const resolve of waiting) resolve()
  }

  #take(): Batch<P, R>[] {
    let bytes = 0
    let n = 0
    while (n < this.#queue.length && n < this.#most && (n === 0 || bytes < this.#mostBytes)) {
      bytes += this.#sizeOf((this.#queue[n] as Batch<P, R>).params)
      n++
    }
    return this.#queue.splice(0, n)
  }
}
