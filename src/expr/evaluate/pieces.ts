/**
 * Text assembled from many small pieces: joined as it grows, because a list of millions of them takes ten times the
 * memory.
 */
const OPEN = 1024

export class Pieces {
  #joined = ''
  #open: string[] = []

  push(piece: string): void {
    if (this.#open.push(piece) < OPEN) return
    this.#joined += this.#open.join('')
    this.#open = []
  }

  text(): string {
    return this.#joined + this.#open.join('')
  }
}
