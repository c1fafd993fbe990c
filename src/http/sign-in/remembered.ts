/** Rows of the store that requests carry the name of, remembered for a moment. What is not found is looked for each time. */

/** Servers that have just read a row may still accept it for this long after it was revoked. */
const REMEMBER_MS = 2_000
const REMEMBER_MOST = 1_000

export class Remembered<Row> {
  readonly #read: (name: string) => Promise<Row | null>
  readonly #recent = new Map<string, { readonly row: Row; readonly until: number }>()

  constructor(read: (name: string) => Promise<Row | null>) {
    this.#read = read
  }

  async find(name: string): Promise<Row | null> {
    const known = this.#recent.get(name)
    if (known !== undefined && known.until > performance.now()) return known.row
    const row = await this.#read(name)
    this.#recent.delete(name)
    if (row === null) return null
    if (this.#recent.size >= REMEMBER_MOST) this.#recent.clear()
    this.#recent.set(name, { row, until: performance.now() + REMEMBER_MS })
    return row
  }

  forget(name: string): void {
    this.#recent.delete(name)
  }
}
