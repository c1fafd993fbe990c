import { ExprError } from './errors.ts'

/** Longest source text of one expression or template string, in UTF-16 code units. */
export const SOURCE_LIMIT = 16 * 1024

/** How deep brackets, operators, blocks and the JSON around template strings may nest in the author's text. */
export const DEPTH_LIMIT = 64

/** How deep a value may nest when it is printed, compared or converted. Bounds the call stack. */
const DATA_DEPTH_LIMIT = 256

export interface Budget {
  /** Nodes evaluated and loop rounds. */
  readonly steps?: number
  /** Bytes of text and lists made on the way to the result, all operations together. Values passed through are free. */
  readonly bytes?: number
}

const DEFAULT_STEPS = 10_000
const DEFAULT_BYTES = 1024 * 1024

/**
 * Items that a filter, a comparison or a search reads cost a fraction of a step: a sum over 100,000 rows is a
 * reasonable request, a sort of them inside a loop is not.
 */
const ITEMS_PER_STEP = 16

/** What one slot of a new list or dict costs in bytes. */
const SLOT_BYTES = 8

/** Counts the work of one evaluation and stops it at the budget. */
export class Meter {
  readonly #steps: number
  readonly #bytes: number
  /**
   * Created when it is first needed: most evaluations never need it, and creating it costs as much as a short guard.
   */
  #sizes: Map<object, number> | null = null
  #itemsLeft: number
  #bytesLeft: number

  constructor(budget: Budget = {}) {
    this.#steps = budget.steps ?? DEFAULT_STEPS
    this.#bytes = budget.bytes ?? DEFAULT_BYTES
    this.#itemsLeft = this.#steps * ITEMS_PER_STEP
    this.#bytesLeft = this.#bytes
  }

  step(): void {
    this.touch(ITEMS_PER_STEP)
  }

  touch(items: number): void {
    this.#itemsLeft -= items
    if (!(this.#itemsLeft >= 0)) {
      throw new ExprError(
        'expr_budget',
        `the evaluation needs more than ${this.#steps} steps: loop over less, or do this work in a step of its own`,
      )
    }
  }

  /** Called before the memory is taken, so that `'a' * 10**9` allocates nothing. */
  produce(bytes: number): void {
    this.#bytesLeft -= bytes
    if (!(this.#bytesLeft >= 0)) {
      throw new ExprError(
        'expr_budget',
        `the evaluation produces more than ${this.#bytes} bytes: build large values in a step of its own`,
      )
    }
  }

  slots(count: number): void {
    this.produce(count * SLOT_BYTES)
  }

  /** Charges for a text that an operation has made. */
  text(made: string): string {
    this.produce(Buffer.byteLength(made))
    return made
  }

  /** Counting the keys of a large object takes milliseconds, and a loop may need the number every round. */
  sizeOf(object: object): number {
    const known = this.#sizes?.get(object)
    if (known !== undefined) return known
    const size = Object.keys(object).length
    this.#sizes ??= new Map()
    this.#sizes.set(object, size)
    return size
  }

  /** Charges for reading a long text, in portions that cost about as much as reading one item. */
  read(characters: number): void {
    this.touch(Math.floor(characters / 64))
  }
}

export function guardDepth(depth: number): void {
  if (depth > DATA_DEPTH_LIMIT) {
    throw new ExprError('expr_budget', `the value nests deeper than ${DATA_DEPTH_LIMIT} levels`)
  }
}
