/** The lines of a stream of bytes, as they arrive: without their ends, in pieces if they are very long. */
import { StringDecoder } from 'node:string_decoder'

const LONGEST = 64 * 1024

export class Lines {
  readonly #take: (line: string) => void
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  constructor(take: (line: string) => void) {
    this.#take = take
  }

  push(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n')
    this.#rest = lines.pop() as string
    for (const line of lines) this.#take(line.endsWith('\r') ? line.slice(0, -1) : line)
    if (this.#rest.length < LONGEST) return
    this.#take(this.#rest)
    this.#rest = ''
  }

  /** A last line without an end. */
  end(): void {
    const last = this.#rest + this.#decoder.end()
    this.#rest = ''
    if (last !== '') this.#take(last)
  }
}
