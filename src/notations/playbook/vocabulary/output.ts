/**
 * The outcome of a step or task: `output` in the newer spelling, with `data`; `outcome` in the older, with `result`.
 * Keys that are not its own are looked up in the result, so that `output.rows` is `output.data.rows`.
 */

import { Alias, type Face, ownKey, plainOf } from '../../../expr/index.ts'
import type { Json } from '../../../net/net.ts'
import { stepResult } from './result.ts'

export type Fields = { readonly [name: string]: Json }

/** An envelope under its newer names: status, data, error and whatever else belongs to it. */
export function outputOf(envelope: Fields): Face {
  return new Output('data', envelope)
}

/** The same under its older names: status, result, error. */
export function outcomeOf(envelope: Fields): Face {
  return new Output('result', envelope)
}

class Output extends Alias {
  readonly plain: Fields
  readonly #holds: 'data' | 'result'
  readonly #result: Face

  constructor(holds: 'data' | 'result', envelope: Fields) {
    super()
    const { data, result, ...rest } = envelope
    const held = data ?? result ?? null
    this.#holds = holds
    this.#result = stepResult(held)
    this.plain = { status: null, [holds]: held, ...rest }
  }

  key(name: string): Face {
    if (name === 'data' || name === 'result') {
      if (name === this.#holds) return this.#result
      const inner = ownKey(plainOf(this.#result) as Json, name)
      return inner === undefined ? this.#result : inner
    }
    const own = ownKey(this.plain, name)
    if (own !== undefined) return own
    return this.#result instanceof Alias ? this.#result.key(name) : undefined
  }
}
