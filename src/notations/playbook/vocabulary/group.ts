/** Values by name, some of which have keys that they do not print: results by label, the fields of an event. */

import { Alias, type Face, ownKey } from '../../../expr/index.ts'
import type { Json } from '../../../net/net.ts'

/** `plain` is what it prints as; `known` what reading one of its keys gives. */
export function group(known: { readonly [name: string]: Face }, plain: { readonly [name: string]: Json }): Face {
  return new Group(known, plain)
}

/** Two maps, one over the other: a key that the upper one lacks is looked up in the lower one. */
export function layers(upper: Json, lower: Json): Face {
  return new Layers(upper, lower)
}

class Group extends Alias {
  readonly plain: { readonly [name: string]: Json }
  readonly #known: { readonly [name: string]: Face }

  constructor(known: { readonly [name: string]: Face }, plain: { readonly [name: string]: Json }) {
    super()
    this.#known = known
    this.plain = plain
  }

  key(name: string): Face {
    return Object.hasOwn(this.#known, name) ? this.#known[name] : undefined
  }
}

class Layers extends Alias {
  readonly #upper: Json
  readonly #lower: Json
  #merged: Json | undefined

  constructor(upper: Json, lower: Json) {
    super()
    this.#upper = upper
    this.#lower = lower
  }

  get plain(): Json {
    this.#merged ??= { ...fieldsOf(this.#lower), ...fieldsOf(this.#upper) }
    return this.#merged
  }

  key(name: string): Face {
    const own = ownKey(this.#upper, name)
    return own === undefined ? ownKey(this.#lower, name) : own
  }
}

function fieldsOf(value: Json): { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as { readonly [name: string]: Json })
    : {}
}
