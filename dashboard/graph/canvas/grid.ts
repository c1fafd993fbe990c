/** Finds the boxes that touch a box, without looking at all of them. */
import type { Box } from './camera.ts'

export interface Boxes {
  readonly count: number
  /** Calls with left, top, right, bottom. */
  readonly box: (i: number, put: (left: number, top: number, right: number, bottom: number) => void) => void
}

/** A box in more cells than this is kept in a list of its own. */
const MOST_CELLS = 64

export class Grid {
  readonly #cell: number
  readonly #cells = new Map<number, number[]>()
  readonly #large: number[] = []
  readonly #bounds: Float32Array
  readonly #mark: Uint32Array
  #turn = 0

  constructor({ count, box }: Boxes, cell: number) {
    this.#cell = cell
    this.#bounds = new Float32Array(count * 4)
    this.#mark = new Uint32Array(count)
    for (let i = 0; i < count; i++) {
      box(i, (left, top, right, bottom) => {
        this.#bounds.set([left, top, right, bottom], i * 4)
        this.#add(i, left, top, right, bottom)
      })
    }
  }

  #add(i: number, left: number, top: number, right: number, bottom: number): void {
    const [x0, y0, x1, y1] = [left, top, right, bottom].map((at) => Math.floor(at / this.#cell)) as [
      number,
      number,
      number,
      number,
    ]
    if ((x1 - x0 + 1) * (y1 - y0 + 1) > MOST_CELLS) {
      this.#large.push(i)
      return
    }
    for (let y = y0; y <= y1; y++) {
      for (let x = x0; x <= x1; x++) {
        const list = this.#cells.get(keyOf(x, y))
        if (list === undefined) this.#cells.set(keyOf(x, y), [i])
        else list.push(i)
      }
    }
  }

  /** In increasing order, each once. */
  touching({ x, y, w, h }: Box): readonly number[] {
    const found: number[] = []
    this.#turn++
    const take = (i: number): void => {
      const [left, top, right, bottom] = this.#bounds.subarray(i * 4, i * 4 + 4) as unknown as number[]
      if (this.#mark[i] === this.#turn) return
      this.#mark[i] = this.#turn
      if (left! <= x + w && right! >= x && top! <= y + h && bottom! >= y) found.push(i)
    }
    for (const i of this.#large) take(i)
    const [x0, x1] = [Math.floor(x / this.#cell), Math.floor((x + w) / this.#cell)]
    const [y0, y1] = [Math.floor(y / this.#cell), Math.floor((y + h) / this.#cell)]
    if ((x1 - x0 + 1) * (y1 - y0 + 1) > this.#cells.size) {
      for (const list of this.#cells.values()) list.forEach(take)
    } else {
      for (let cy = y0; cy <= y1; cy++) {
        for (let cx = x0; cx <= x1; cx++) this.#cells.get(keyOf(cx, cy))?.forEach(take)
      }
    }
    return found.sort((a, b) => a - b)
  }
}

/** Different for cells up to a million from the origin. */
function keyOf(x: number, y: number): number {
  return (y + 1_048_576) * 2_097_152 + x + 1_048_576
}
