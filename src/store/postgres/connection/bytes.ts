/** Bytes being written, in a buffer that grows as needed and is reused. */
const TWO_32 = 4_294_967_296
const FIRST = 1 << 16
/** A buffer that has grown beyond this is handed over instead of copied. */
const KEPT = 1 << 20

export class Bytes {
  bytes = Buffer.allocUnsafe(FIRST)
  at = 0

  room(count: number): void {
    if (this.at + count <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.at + count))
    this.bytes.copy(larger, 0, 0, this.at)
    this.bytes = larger
  }

  byte(value: number): void {
    this.bytes[this.at++] = value
  }

  short(value: number): void {
    const { bytes } = this
    let { at } = this
    bytes[at++] = value >>> 8
    bytes[at++] = value
    this.at = at
  }

  int(value: number): void {
    const { bytes } = this
    let { at } = this
    bytes[at++] = value >>> 24
    bytes[at++] = value >>> 16
    bytes[at++] = value >>> 8
    bytes[at++] = value
    this.at = at
  }

  long(value: number): void {
    const high = Math.floor(value / TWO_32)
    this.int(high)
    this.int(value - high * TWO_32)
  }

  /** The text without a length or terminator. */
  text(value: string): void {
    this.room(value.length * 3)
    this.at += this.#ascii(value) ?? this.bytes.write(value, this.at)
  }

  /** Leaves room for a length; `end` fills in the number of bytes written since. */
  begin(): number {
    this.room(4)
    const start = this.at
    this.at += 4
    return start
  }

  /** `itself`: how many bytes of the length count as well. */
  end(start: number, itself = 0): void {
    const end = this.at
    this.at = start
    this.int(end - start - 4 + itself)
    this.at = end
  }

  /** Returns the written bytes and starts again. */
  taken(): Buffer {
    const written = this.bytes.subarray(0, this.at)
    this.at = 0
    if (this.bytes.length <= KEPT) return Buffer.from(written)
    this.bytes = Buffer.allocUnsafe(FIRST)
    return written
  }

  /** Short ASCII is written faster here than by a call into native code; null: not short ASCII. */
  #ascii(value: string): number | null {
    const length = value.length
    if (length > 48) return null
    const { bytes, at } = this
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index)
      if (code > 127) return null
      bytes[at + index] = code
    }
    return length
  }
}
