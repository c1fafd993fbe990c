/**
 * A value with more names for its keys, or for itself, than it shows. Code that prints, compares, converts or iterates
 * over it sees the plain value; only reading a key, and `==` and `in` if it has several names, use the others. It
 * lives in scopes and in variables set from them; lists, dicts and filters receive the plain value.
 *
 * A key costs a lookup in a fixed, small number of objects. What is derived is derived once.
 */
import type { Json } from '../../net/net.ts'
import type { JsonObject, Value } from './value.ts'

export abstract class Alias {
  abstract get plain(): Value
  /** undefined: there is no such key under any name. */
  abstract key(name: string): Face

  /** All the names that compare equal to it; null: only its plain value does. */
  readonly names: readonly string[] | null = null
}

/** A value, perhaps one with more names than it shows. */
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
