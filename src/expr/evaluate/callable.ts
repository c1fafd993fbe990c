/**
 * The shape of everything that can be called, and how arguments are matched with parameters. To add a filter, test,
 * function or method, add an entry to its table; to add many, spread a table of your own into it.
 */

import type { Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import type { Face } from './alias.ts'
import type { Dict, Value } from './value.ts'

export const REQUIRED = Symbol('required')

/** In order; the value is the default, or REQUIRED. */
export type Params = { readonly [name: string]: Value | typeof REQUIRED }

export interface Signature {
  readonly params: Params
  /** true: accepts further positional arguments. */
  readonly rest?: boolean
}

/** `args` holds params, then the rest, with defaults filled in. */
export type Args = readonly Value[]
export type Faces = readonly Face[]

export interface Filter extends Signature {
  /** Accepts any named arguments: they come as a dict before all others. */
  readonly named?: boolean
  /** The first argument names another filter or test (map, select): checked when it is compiled. */
  readonly names?: { readonly table: 'filter' | 'test'; readonly argument: number }
  apply(value: Value, args: Args, run: Run): Value
  /** Instead of apply, for a filter that passes values on or reads their keys. */
  faced?(value: Face, args: Faces, run: Run): Face
}

export interface Test extends Signature {
  apply(value: Value, args: Args, run: Run): boolean
  faced?(value: Face, args: Faces, run: Run): boolean
}

export interface Func extends Signature {
  /** true: accepts any named arguments. */
  readonly named?: boolean
  /** A scope name that the function reads, reported by namesIn, with the key from its first argument if `byKey`. */
  readonly reads?: string
  readonly byKey?: boolean
  apply(args: Args, run: Run, named: readonly (readonly [string, Value])[]): Face
}

export interface Method extends Signature {
  apply(object: Value, args: Args, run: Run): Value
  faced?(object: Face, args: Faces, run: Run): Face
}

export type Table<T> = { readonly [name: string]: T }

/** The part of the current evaluation that a callable may use. */
export interface Run {
  readonly meter: Meter
  scopeValue(name: string): Value
  filter(name: Value, value: Value, args: Args, named?: Dict): Value
  test(name: Value, value: Value, args: Args): boolean
}

export interface Given<T> {
  readonly positional: readonly T[]
  readonly named: readonly (readonly [string, T])[]
}

/** Generic over nodes (when compiling) and values (when a filter calls a filter). */
export function bind<T>(
  what: string,
  signature: Signature,
  given: Given<T>,
  constant: (value: Value) => T,
): readonly T[] {
  const params = Object.entries(signature.params)
  const extra = given.positional.slice(params.length)
  if (extra.length > 0 && signature.rest !== true) {
    throw new ExprError('expr_arguments', `${what} takes ${count(params.length)}, got ${given.positional.length}`)
  }
  const named = new Map(given.named)
  const bound = params.map(([name, fallback], at) => {
    const positional = at < given.positional.length
    if (positional && named.has(name)) throw new ExprError('expr_arguments', `${what} got \`${name}\` twice`)
    if (positional) return given.positional[at] as T
    if (named.has(name)) {
      const value = named.get(name) as T
      named.delete(name)
      return value
    }
    if (fallback === REQUIRED) throw new ExprError('expr_arguments', `${what} needs the argument \`${name}\``)
    return constant(fallback)
  })
  const [unknown] = named.keys()
  if (unknown !== undefined) {
    const known = params.map(([name]) => name).join(', ') || 'none'
    throw new ExprError('expr_arguments', `${what} has no argument \`${unknown}\`: it has ${known}`)
  }
  return [...bound, ...extra]
}

function count(params: number): string {
  return params === 0 ? 'no arguments' : params === 1 ? 'at most 1 argument' : `at most ${params} arguments`
}
