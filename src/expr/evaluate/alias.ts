/**
 * A value with more names for its keys, or for itself, than it shows. To whatever prints, compares, converts or goes
 * over it, it is its plain value; only the reading of a key, and `==` and `in` where it has several names, know more.
 * It lives in scopes and in variables set from them; lists, dicts and filters are given the plain value.
 *
 * A key costs what looking it up in a fixed, small number of objects costs. What is derived is derived once.
 */
import type { Json } from '../../net/net.ts'
import type { JsonObject, Value } from './value.ts'

export abstract class Alias {
  abstract get plain(): Value
  /** undefined: there is no such key, by any name. */
  abstract key(name: string): Face

  /** All the names that compare equal to it; null: only its plain value does. */
  readonly names: readonly string[] | null = null
}

/** A value, perhaps one that knows more than it shows. */
export type Face = Value | Alias

export function plainOf(face: Face): Value {
  return typeof face === 'object' && face instanceof Alias ? face.plain : face
}

/** Own keys only, of a JSON object; undefined for anything else. */
export function ownKey(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) {
    return undefined
  }
  return (value as JsonObject)[name]
}
