/**
 * Values inside one evaluation. Plain arrays and plain objects are the caller's JSON: shared, never written, returned
 * unchanged. Float, List, Tuple and Dict are made here, and become JSON again when the evaluation ends.
 */
import type { Json } from '../../net/net.ts'
import { guardDepth, type Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import type { Face } from './alias.ts'

export interface JsonObject {
  readonly [key: string]: Json
}

/** undefined is Jinja's chainable undefined. */
export type Value = undefined | Json | Float | List | Tuple | Dict

/** A float whose value is integral. JavaScript cannot distinguish 5.0 from 5; Python prints them differently. */
export class Float {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

export class List {
  readonly items: readonly Value[]
  /** The items with their hidden names; null: no item has any. */
  readonly faces: readonly Face[] | null
  constructor(items: readonly Value[], faces: readonly Face[] | null = null) {
    this.items = items
    this.faces = faces
  }
}

export class Tuple {
  readonly items: readonly Value[]
  readonly faces: readonly Face[] | null
  constructor(items: readonly Value[], faces: readonly Face[] | null = null) {
    this.items = items
    this.faces = faces
  }
}

/** An element of groupby's result: a pair whose parts have names as well. */
export class Group extends Tuple {
  constructor(grouper: Value, list: List) {
    super([grouper, list])
  }

  named(name: string): Value {
    return name === 'grouper' ? this.items[0] : name === 'list' ? this.items[1] : undefined
  }
}

/** Keyed by hash, because 1, 1.0 and True are one key in Python and '1' is another. */
export class Dict {
  readonly #entries = new Map<ReturnType<typeof hashOf>, readonly [Value, Value]>()

  constructor(entries: Iterable<readonly [Value, Value]>) {
    for (const [key, value] of entries) {
      const hash = hashOf(key)
      this.#entries.set(hash, [this.#entries.get(hash)?.[0] ?? key, value])
    }
  }

  get size(): number {
    return this.#entries.size
  }

  has(key: Value): boolean {
    return this.#entries.has(hashOf(key))
  }

  get(key: Value): Value {
    return this.#entries.get(hashOf(key))?.[1]
  }

  keys(): readonly Value[] {
    return Array.from(this.#entries.values(), ([key]) => key)
  }

  entries(): readonly (readonly [Value, Value])[] {
    return [...this.#entries.values()]
  }
}

export type AnyDict = Dict | JsonObject

export function isDict(value: Value): value is AnyDict {
  if (value instanceof Dict) return true
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isMade(value)
}

function isMade(value: object): value is Float | List | Tuple {
  return value instanceof Float || value instanceof List || value instanceof Tuple
}

export function isList(value: Value): value is List | readonly Json[] {
  return value instanceof List || Array.isArray(value)
}

/** The items of a list or tuple, null for anything else. */
export function itemsOf(value: Value): readonly Value[] | null {
  if (value instanceof List || value instanceof Tuple) return value.items
  return Array.isArray(value) ? value : null
}

export function hasKey(dict: AnyDict, key: Value): boolean {
  if (dict instanceof Dict) return dict.has(key)
  hashOf(key)
  return typeof key === 'string' && Object.hasOwn(dict, key)
}

export function valueAt(dict: AnyDict, key: Value): Value {
  if (dict instanceof Dict) return dict.get(key)
  return typeof key === 'string' && Object.hasOwn(dict, key) ? dict[key] : undefined
}

/** Listing the keys of a large object and reading them takes longer than iterating over a list, and costs double. */
export function keysOf(dict: AnyDict, meter: Meter): readonly Value[] {
  meter.touch(2 * sizeOf(dict, meter))
  return dict instanceof Dict ? dict.keys() : Object.keys(dict)
}

export function entriesOf(dict: AnyDict, meter: Meter): readonly (readonly [Value, Value])[] {
  return keysOf(dict, meter).map((key) => [key, valueAt(dict, key)] as const)
}

export function sizeOf(dict: AnyDict, meter: Meter): number {
  return dict instanceof Dict ? dict.size : meter.sizeOf(dict)
}

/** The number behind an int, a float or a bool (True is 1 in Python), null for anything else. */
export function numberOf(value: Value): number | null {
  if (typeof value === 'number') return value
  if (value instanceof Float) return value.value
  return typeof value === 'boolean' ? Number(value) : null
}

/** A number beyond 2^53 has lost its integer identity when it was parsed, so it counts as a float. */
export function isFloat(value: Value): boolean {
  return value instanceof Float || (typeof value === 'number' && !Number.isSafeInteger(value))
}

export function isInt(value: Value): value is number {
  return Number.isSafeInteger(value)
}

export function float(value: number): Value {
  return Number.isSafeInteger(value) ? new Float(value) : value
}

export function int(value: number): number {
  if (!Number.isSafeInteger(value)) {
    throw new ExprError('expr_value', 'an integer beyond 2^53 cannot be kept exactly: keep it as a string')
  }
  return value === 0 ? 0 : value
}

export function typeName(value: Value): string {
  if (value === undefined) return 'undefined'
  if (value === null) return 'None'
  if (typeof value === 'string') return 'str'
  if (typeof value === 'boolean') return 'bool'
  if (isFloat(value)) return 'float'
  if (typeof value === 'number') return 'int'
  if (value instanceof Tuple) return 'tuple'
  return isList(value) ? 'list' : 'dict'
}

/** Longest hash of a tuple: ((x, x), (x, x)) doubles with every level, while the author writes only one name. */
const HASH_LIMIT = 4096

/** Begins the hashes of tuples, and those of texts that begin with it themselves. */
const MARK = '\0'

/**
 * Equal hash, equal value; for everything that may be a dict key. Plain values are their own hashes: a long text is not
 * copied for each lookup in a dict.
 */
export function hashOf(value: Value, depth = 0): string | number | null | undefined {
  const number = numberOf(value)
  if (number !== null) return number
  if (typeof value === 'string') return value.startsWith(MARK) ? `${MARK}s${value}` : value
  if (value === null || value === undefined) return value
  if (value instanceof Tuple) {
    guardDepth(depth)
    let hash = `${MARK}t`
    for (const item of value.items) {
      const inner = hashOf(item, depth + 1)
      const text = String(inner)
      hash += `${typeof inner}${text.length}:${text}`
      if (hash.length > HASH_LIMIT) throw new ExprError('expr_budget', 'a tuple this large cannot be a key')
    }
    return hash
  }
  throw new ExprError(
    'expr_type',
    `${typeName(value)} cannot be a dict key or compared by identity: use a string, a number, a bool, None or a tuple`,
  )
}

/** Converts to JSON: undefined becomes null, tuples become arrays, keys become strings as in json.dumps. */
export function toJson(value: Value, meter: Meter, depth = 0): Json {
  if (value === undefined) return null
  if (value instanceof Float) return value.value === 0 ? 0 : value.value
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new ExprError('expr_value', `${value} is not a JSON number: use default or a test before it gets here`)
  }
  if (!(value instanceof List || value instanceof Tuple || value instanceof Dict)) return value
  guardDepth(depth)
  if (value instanceof Dict) {
    meter.touch(value.size)
    return Object.fromEntries(value.entries().map(([key, item]) => [keyText(key), toJson(item, meter, depth + 1)]))
  }
  meter.touch(value.items.length)
  return value.items.map((item) => toJson(item, meter, depth + 1))
}

export function keyText(key: Value): string {
  if (typeof key === 'string') return key
  if (key === null || typeof key === 'boolean') return String(key)
  const number = numberOf(key)
  if (number === null) throw new ExprError('expr_type', `a ${typeName(key)} cannot be a key in JSON: use a string`)
  return key instanceof Float ? `${number}.0` : String(number)
}
