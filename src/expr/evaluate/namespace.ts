/**
 * The target of {% set ns.name = … %}: the only value an evaluation changes, so that a loop can count. It accepts only
 * plain values, so it can never contain itself.
 */
import { Alias, type Face, plainOf } from './alias.ts'
import { Dict, type Value } from './value.ts'

export class Namespace extends Alias {
  readonly #values: Map<string, Value>

  constructor(entries: readonly (readonly [string, Value])[]) {
    super()
    this.#values = new Map(entries)
  }

  get plain(): Value {
    return new Dict(this.#values)
  }

  key(name: string): Face {
    return this.#values.get(name)
  }

  keep(name: string, value: Face): void {
    this.#values.set(name, plainOf(value))
  }
}
