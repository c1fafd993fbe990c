/** The end of a stream of bytes: the last output best explains how a process ended. */
export class Tail {
  readonly #limit: number
  #chunks: Buffer[] = []
  #size = 0
  #seen = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    this.#seen += chunk.length
    // Rarely enough that a flood of small writes is not copied repeatedly.
    if (this.#size > 2 * this.#limit || this.#chunks.length > 4096) this.#compact()
  }

  get truncated(): boolean {
    return this.#seen > this.#limit
  }

  /** As UTF-8, with U+FFFD for invalid bytes, and for NUL, which no store accepts. */
  text(): string {
    let bytes = this.#compact()
    if (this.truncated) {
      // Do not start in the middle of a character.
      let start = 0
      while (start < 4 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++
      bytes = bytes.subarray(start)
    }
    return bytes.toString('utf8').replaceAll('\0', '\uFFFD')
  }

  #compact(): Buffer {
    const whole = Buffer.concat(this.#chunks)
    const kept = this.#limit === 0 ? Buffer.alloc(0) : whole.subarray(-this.#limit)
    this.#chunks = [kept]
    this.#size = kept.length
    return kept
  }
}
