/** Current numbers, by labels. */

export type Labels = { readonly [name: string]: string }

export class Tally {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>()

  inc(labels: Labels): void {
    this.#of(labels).value++
  }

  dec(labels: Labels): void {
    this.#of(labels).value--
  }

  get counts(): Iterable<{ readonly labels: Labels; readonly value: number }> {
    return this.#counts.values()
  }

  #of(labels: Labels): { value: number } {
    const key = Object.values(labels).join(' ')
    let count = this.#counts.get(key)
    if (count === undefined) {
      count = { labels, value: 0 }
      this.#counts.set(key, count)
    }
    return count
  }
}
