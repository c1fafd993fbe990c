/** `loop` inside a {% for %}. Made once per round, so its values are computed only when they are read. */
import { Alias, type Face } from './alias.ts'
import type { Value } from './value.ts'

export class Loop extends Alias {
  readonly #items: readonly Value[]
  readonly #at: number

  constructor(items: readonly Value[], at: number) {
    super()
    this.#items = items
    this.#at = at
  }

  get plain(): Value {
    const { length } = this.#items
    const at = this.#at
    return { index: at + 1, index0: at, first: at === 0, last: at === length - 1, length }
  }

  key(name: string): Face {
    const { length } = this.#items
    const at = this.#at
    switch (name) {
      case 'index':
        return at + 1
      case 'index0':
        return at
      case 'revindex':
        return length - at
      case 'revindex0':
        return length - at - 1
      case 'first':
        return at === 0
      case 'last':
        return at === length - 1
      case 'length':
        return length
      case 'previtem':
        return at === 0 ? undefined : this.#items[at - 1]
      case 'nextitem':
        return this.#items[at + 1]
      case 'depth':
        return 1
      case 'depth0':
        return 0
      default:
        return undefined
    }
  }
}
