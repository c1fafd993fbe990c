/**
 * Leased, unstarted runs, first in first out. Array.shift moves every element, which is too slow for hundreds of runs.
 */
import type { Delivery } from './port.ts'

export class Buffer {
  #items: (Delivery | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(delivery: Delivery): void {
    this.#items.push(delivery)
  }

  shift(): Delivery | undefined {
    const delivery = this.#items[this.#head]
    if (delivery === undefined) return undefined
    this.#items[this.#head++] = undefined
    if (this.#head === this.#items.length) {
      this.#items.length = 0
      this.#head = 0
    } else if (this.#head >= 1024 && this.#head * 2 >= this.#items.length) {
      this.#items.splice(0, this.#head)
      this.#head = 0
    }
    return delivery
  }

  runIds(): string[] {
    return this.#items.slice(this.#head).map((delivery) => (delivery as Delivery).runId)
  }

  /** Removes and returns all that match. */
  take(matches: (delivery: Delivery) => boolean): readonly Delivery[] {
    const taken: Delivery[] = []
    const kept: Delivery[] = []
    for (let i = this.#head; i < this.#items.length; i++) {
      const delivery = this.#items[i] as Delivery
      if (matches(delivery)) taken.push(delivery)
      else kept.push(delivery)
    }
    this.#items = kept
    this.#head = 0
    return taken
  }
}
