/** Waits until a condition holds, for a limited time that can be shortened meanwhile. One wait at a time. */
export class Waiter {
  #wait: { readonly name: string; readonly done: () => boolean; readonly end: () => void; until: number } | null = null
  #timer: NodeJS.Timeout | null = null

  /** Resolves when `done` holds (tested at `check`), or after `ms`. */
  wait(name: string, done: () => boolean, ms: number): Promise<void> {
    if (done()) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wait = { name, done, end: resolve, until: performance.now() + ms }
      this.#arm(ms)
    })
  }

  check(): void {
    if (this.#wait?.done()) this.#end()
  }

  /** The wait of this name, if it is under way, ends after `ms` at the latest. */
  limit(name: string, ms: number): void {
    const wait = this.#wait
    if (wait === null || wait.name !== name || performance.now() + ms >= wait.until) return
    wait.until = performance.now() + ms
    this.#arm(ms)
  }

  #arm(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#end(), ms)
  }

  #end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const wait = this.#wait
    this.#wait = null
    wait?.end()
  }
}
