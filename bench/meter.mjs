// @ts-check
/** Counts what a workload writes. Only in a repetition of its own: those that are timed run without it. */
export class Meter {
  #store
  #settles = 0
  #outcomes = 0
  #transactions = 0
  #on = false

  /** @param {import('./stores/store.mjs').BenchStore | null} store null: counts nothing */
  constructor(store) {
    this.#store = store
  }

  /** Before Petrel opens the store. @param {string} dist */
  async tap(dist) {
    await this.#store?.tap(dist)
  }

  /** Counts Petrel's transactions, and the outcomes in each that settles. @param {import('../dist/index.js').Petrel} petrel */
  watch(petrel) {
    if (this.#store === null) return
    const store = /** @type {{ transact: (transaction: any) => Promise<any> }} */ (/** @type {unknown} */ (petrel.engine.store))
    const transact = store.transact.bind(store)
    store.transact = (transaction) => {
      if (this.#on) {
        this.#transactions++
        if (transaction.roots.length > 0) {
          this.#settles++
          this.#outcomes += transaction.need.runs?.length ?? 0
        }
      }
      return transact(transaction)
    }
  }

  async begin() {
    await this.#store?.beginCounting()
    this.#on = true
  }

  /** @param {number} steps @returns {Promise<{ readonly [metric: string]: number }>} per step */
  async end(steps) {
    this.#on = false
    if (this.#store === null) return {}
    const { rows, walBytes, commits } = await this.#store.endCounting()
    return {
      rowsPerStep: rows / steps,
      walBytesPerStep: walBytes / steps,
      commitsPer1000: (commits * 1000) / steps,
      ...(this.#settles === 0 ? {} : { settleBatch: this.#outcomes / this.#settles, settles: this.#settles }),
      ...(this.#transactions === 0 ? {} : { transactions: this.#transactions }),
    }
  }

  async close() {
    await this.#store?.closeCounting()
  }
}
