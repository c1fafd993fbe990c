/** The input of an instance: the given input, merged into the defaults of its net. */

import { PetrelError } from '../../../kernel/errors.ts'
import { isMap } from '../../../net/json.ts'
import type { Json } from '../../../net/net.ts'

/** Where the defaults are a map, the input must be a map: anything else would replace all of them at once. */
export function checkInput(defaults: Json | undefined, given: Json | null | undefined, where: string): void {
  if (!isMap(defaults) || given === null || given === undefined || isMap(given)) return
  const kind = Array.isArray(given) ? 'a list' : `a ${typeof given === 'string' ? 'text' : typeof given}`
  throw new PetrelError('invalid_request', `${where} must be a mapping of names to values, not ${kind}`, {
    field: 'input',
  })
}

/** Maps are merged at every depth; any other given value replaces its default. */
export function withDefaults(defaults: Json | undefined, given: Json | null): Json | null {
  if (defaults === undefined) return given
  if (given === null) return defaults
  return merged(defaults, given)
}

function merged(defaults: Json, given: Json): Json {
  if (!isMap(defaults) || !isMap(given)) return given
  const keys = new Set([...Object.keys(defaults), ...Object.keys(given)])
  // An assignment would fail for a key named __proto__.
  return Object.fromEntries(
    [...keys].map((key) => {
      if (!Object.hasOwn(given, key)) return [key, defaults[key] as Json]
      if (!Object.hasOwn(defaults, key)) return [key, given[key] as Json]
      return [key, merged(defaults[key] as Json, given[key] as Json)]
    }),
  )
}
