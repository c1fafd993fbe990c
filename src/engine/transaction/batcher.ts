/**
 * Calls that arrive while the last batch is committing form the next one: a batch of one when idle, hundreds under
 * load, no timer in between. One batch at a time per lane.
 *
 * idle → (a call) → begun → working → (no call came meanwhile) resting → idle. Resting lasts until the end of this turn of
 * the event loop: callers that just got their answers may call again, and those calls form one batch. A call that is marked
 * as alone ends it.
 *
 * A batch that fails is halved until the call that makes it fail is alone: only that call is refused. If the store is not
 * available, all calls fail without further attempts.
 */
import { isStoreAway } from '../../kernel/store-errors.ts'

export interface Batch<P, R> {
  readonly params: P
  resolve(result: R): void
  reject(error: unknown): void
}

export class Batcher<P, R> {
  readonly #work: (batch: readonly Batch<P, R>[]) => Promise<void>
  readonly #most: () => number
  readonly #mostBytes: number
  readonly #sizeOf: (params: P) => number
  readonly #begin: (run: () => void) => void
  #queue: Batch<P, R>[] = []
  #busy = false
  /** Ends resting; null: not resting. */
  #rested: (() => void) | null = null
  #idle: (() => void)[] = []

  constructor(p: {
    readonly work: (batch: readonly Batch<P, R>[]) => Promise<void>
    /** A function, if it changes. */
    readonly most: number | (() => number)
    readonly mostBytes: number
    readonly sizeOf: (params: P) => number
    /**
     * Schedules the beginning of a batch at its first call: never synchronously, because later calls of the same turn
     * belong to it. Default setImmediate, after everything else in this turn of the event loop.
     */
    readonly begin?: (run: () => void) => void
  }) {
    this.#work = p.work
    const { most } = p
    this.#most = typeof most === 'number' ? () => most : most
    this.#mostBytes = p.mostBytes
    this.#sizeOf = p.sizeOf
    this.#begin = p.begin ?? setImmediate
  }

  /** `alone`: no other call is expected. It waits only until the callers of the last batch have their answers. */
  add(params: P, alone = false): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      this.#queue.push({ params, resolve, reject })
      if (alone && this.#rested !== null) process.nextTick(this.#rested)
      else this.#kick(alone ? process.nextTick : this.#begin)
    })
  }

  /** Puts back entries that could not be processed yet, behind those that have arrived since. */
  again(batch: readonly Batch<P, R>[]): void {
    this.#queue.push(...batch)
    this.#kick(this.#begin)
  }

  /** Resolves when nothing is queued or in progress. */
  idle(): Promise<void> {
    if (!this.#busy && this.#queue.length === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #kick(begin: (run: () => void) => void): void {
    if (this.#busy) return
    this.#busy = true
    begin(() => void this.#run())
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#take()
      await this.#isolated(batch)
      if (this.#queue.length === 0) await this.#rest()
    }
    this.#busy = false
    const waiting = this.#idle
    this.#idle = []
    for (const resolve of waiting) resolve()
  }

  async #isolated(batch: readonly Batch<P, R>[]): Promise<void> {
    try {
      await this.#work(batch)
    } catch (error) {
      if (batch.length === 1 || isStoreAway(error)) {
        for (const entry of batch) entry.reject(error)
        return
      }
      const half = Math.ceil(batch.length / 2)
      await this.#isolated(batch.slice(0, half))
      await this.#isolated(batch.slice(half))
    }
  }

  async #rest(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#rested = resolve
      setImmediate(resolve)
    })
    this.#rested = null
  }

  #take(): Batch<P, R>[] {
    let bytes = 0
    let n = 0
    const most = this.#most()
    while (n < this.#queue.length && n < most && (n === 0 || bytes < this.#mostBytes)) {
      bytes += this.#sizeOf((this.#queue[n] as Batch<P, R>).params)
      n++
    }
    return this.#queue.splice(0, n)
  }
}
