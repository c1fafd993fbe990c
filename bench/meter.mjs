// @ts-check
/** Counts the writes of a workload, in a separate repetition: the timed ones run without it. */
export class Meter {
  #store
  #settles = 0
  #outcomes = 0
  #steps = 0
  #on = false

  /** @param {import('./stores/store.mjs').BenchStore | null} store null: counts nothing */
  constructor(store) {
    this.#store = store
  }

  /** Then there should be no warm-up: Postgres reports all writes together, later. */
  get on() {
    return this.#store !== null
  }

  /** Before the store is opened. */
  async tap() {
    await this.#store?.tap()
  }

  /** Counts Petrel's settles and the outcomes in each. @param {{ transact: (transaction: any) => Promise<any> }} store */
  watch(store) {
    if (this.#store === null) return
    const transact = store.transact.bind(store)
    store.transact = (transaction) => {
      if (this.#on && transaction.roots.length > 0) {
        this.#settles++
        this.#outcomes += transaction.need.runs?.length ?? 0
      }
      return transact(transaction)
    }
  }

  async begin() {
    await this.#store?.beginCounting()
    this.#on = true
  }

  /** @param {number} steps */
  async end(steps) {
    this.#on = false
    this.#steps = steps
    await this.#store?.endCounting()
  }

  /** After the writers are closed. @returns {Promise<{ readonly [metric: string]: number }>} per step */
  async figures() {
    if (this.#store === null || this.#steps === 0) return {}
    const { rows, walBytes } = await this.#store.counted()
    return {
      rowsPerStep: rows / this.#steps,
      walBytesPerStep: walBytes / this.#steps,
      ...(this.#settles === 0 ? {} : { settleBatch: this.#outcomes / this.#settles }),
    }
  }
}
