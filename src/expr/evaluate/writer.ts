/** Executes the statements of a template and assembles its text. */

import { ExprError } from '../errors.ts'
import type { Block, ForBlock, Placed } from '../parse/syntax.ts'
import { Alias, type Face } from './alias.ts'
import { isTruthy } from './compare.ts'
import { iterate } from './lookup.ts'
import { Namespace } from './namespace.ts'
import { Pieces } from './pieces.ts'
import { str } from './print.ts'
import { itemsOf, typeName, type Value } from './value.ts'
import { Walk } from './walk.ts'

export class Writer extends Walk {
  #placed({ node, place }: Placed): Value {
    try {
      return this.value(node)
    } catch (error) {
      throw error instanceof ExprError ? error.at(place) : error
    }
  }

  text(blocks: readonly Block[]): string {
    const pieces = new Pieces()
    this.#nested(() => this.#write(blocks, pieces))
    return pieces.text()
  }

  #write(blocks: readonly Block[], pieces: Pieces): void {
    for (const block of blocks) {
      this.meter.step()
      switch (block.kind) {
        case 'text':
          this.meter.produce(block.bytes)
          pieces.push(block.text)
          break
        case 'output':
          pieces.push(this.#print(block.value))
          break
        case 'if': {
          const taken = block.branches.find(({ condition }) => isTruthy(this.#placed(condition), this.meter))
          this.#write(taken?.body ?? block.otherwise, pieces)
          break
        }
        case 'for':
          this.#loop(block, pieces)
          break
        case 'set':
          this.#set(block.targets, block.value)
          break
        case 'keep':
          this.#keep(block)
          break
        case 'capture':
          this.#bindLocal(block.target, this.text(block.body))
          break
      }
    }
  }

  #print(value: Placed): string {
    try {
      return this.meter.text(str(this.value(value.node), this.meter))
    } catch (error) {
      throw error instanceof ExprError ? error.at(value.place) : error
    }
  }

  #loop(block: ForBlock, pieces: Pieces): void {
    const items = this.#itemsFor(block)
    items.forEach((entry, index0) => {
      this.#guarded(block.iterable, () => this.meter.step())
      this.#nested(() => {
        this.#bindLocal('loop', new Loop(items, index0))
        this.#assign(block.targets, entry, block.iterable)
        this.#write(block.body, pieces)
      })
    })
    if (items.length === 0) this.#nested(() => this.#write(block.otherwise, pieces))
  }

  #itemsFor({ iterable, condition, targets }: ForBlock): readonly Value[] {
    const items = this.#guarded(iterable, () => iterate(this.value(iterable.node), this.meter))
    if (condition === null) return items
    return items.filter((entry) =>
      this.#nested(() => {
        this.#assign(targets, entry, iterable)
        return isTruthy(this.#placed(condition), this.meter)
      }),
    )
  }

  #guarded<T>({ place }: Placed, act: () => T): T {
    try {
      return act()
    } catch (error) {
      throw error instanceof ExprError ? error.at(place) : error
    }
  }

  #nested<T>(act: () => T): T {
    const outer = this.locals
    this.locals = { values: new Map(), outer }
    try {
      return act()
    } finally {
      this.locals = outer
    }
  }

  /** A single name keeps the value's hidden names. */
  #set(targets: readonly string[], value: Placed): void {
    const [only, ...more] = targets
    if (only === undefined || more.length > 0) return this.#assign(targets, this.#placed(value), value)
    this.#bindLocal(
      only,
      this.#guarded(value, () => this.face(value.node)),
    )
  }

  #assign(targets: readonly string[], value: Value, { place }: Placed): void {
    const [only, ...more] = targets
    if (only !== undefined && more.length === 0) return this.#bindLocal(only, value)
    const items = itemsOf(value)
    if (items?.length !== targets.length) {
      const got = items === null ? typeName(value) : `${items.length} items`
      throw new ExprError(
        'expr_type',
        `${targets.join(', ')} need ${targets.length} items to unpack, got ${got}`,
        place,
      )
    }
    targets.forEach((target, at) => {
      this.#bindLocal(target, items[at])
    })
  }

  #keep({ target, name, value }: Extract<Block, { readonly kind: 'keep' }>): void {
    const kept = this.#guarded(value, () => this.face(value.node))
    const into = this.variable(target)
    if (into instanceof Namespace) return into.keep(name, kept)
    throw new ExprError(
      'expr_type',
      `{% set ${target}.${name} = … %} needs a namespace: begin with {% set ${target} = namespace() %}`,
      value.place,
    )
  }

  #bindLocal(name: string, value: Face): void {
    this.locals?.values.set(name, value)
  }
}

/** `loop` inside a {% for %}. Made once per round, so its values are computed only when they are read. */
class Loop extends Alias {
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
