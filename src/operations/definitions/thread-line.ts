/**
 * Limits the threads: a fixed number at a time, one per owner, and owners in rotation. An owner that sends a hundred
 * files that take a minute each delays only itself.
 */
export class ThreadLine {
  readonly #most: number
  readonly #running = new Set<string>()
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(most: number) {
    this.#most = most
  }

  async during<T>(owner: string, work: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(owner)) this.#running.add(owner)
    else await this.#turn(owner)
    try {
      return await work()
    } finally {
      this.#running.delete(owner)
      this.#next()
    }
  }

  #hasRoom(owner: string): boolean {
    return this.#running.size < this.#most && !this.#running.has(owner)
  }

  #turn(owner: string): Promise<void> {
    const line = this.#waiting.get(owner) ?? []
    this.#waiting.set(owner, line)
    return new Promise((resolve) => line.push(resolve))
  }

  #next(): void {
    for (const [owner, line] of this.#waiting) {
      if (!this.#hasRoom(owner)) continue
      this.#running.add(owner)
      // Its next turn comes after the others'.
      this.#waiting.delete(owner)
      line.shift()?.()
      if (line.length > 0) this.#waiting.set(owner, line)
    }
  }
}
