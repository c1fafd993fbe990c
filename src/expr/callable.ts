/**
 * The shape of everything that can be called, and how arguments find their parameters. To add a filter, test,
 * function or method, add an entry to its table; to add many, spread your own table into it.
 */
import type { Meter } from './budget.ts'
import { ExprError } from './errors.ts'
import type { Value } from './value.ts'

export const REQUIRED = Symbol('required')

/** In order; the value is the default, or REQUIRED. */
export type Params = { readonly [name: string]: Value | typeof REQUIRED }

export interface Signature {
  readonly params: Params
  /** Parameters that can only be given by name. */
  readonly keywords?: Params
  /** true: takes further positional arguments. */
  readonly rest?: boolean
}

/** `args` holds params, then keywords, then the rest, with defaults filled in. */
export type Args = readonly Value[]

export interface Filter extends Signature {
  /** The first argument names another filter or test (map, select): checked when it is compiled. */
  readonly names?: { readonly table: 'filter' | 'test'; readonly argument: number }
  apply(value: Value, args: Args, run: Run): Value
}

export interface Test extends Signature {
  apply(value: Value, args: Args, run: Run): boolean
}

export interface Func extends Signature {
  /** true: takes any named arguments. */
  readonly named?: boolean
  /** A scope name the function reads, reported by namesIn. */
  readonly reads?: string
  apply(args: Args, run: Run, named: readonly (readonly [string, Value])[]): Value
}

export interface Method extends Signature {
  apply(object: Value, args: Args, run: Run): Value
}

export type Table<T> = { readonly [name: string]: T }

/** What a callable may use of the evaluation it runs in. */
export interface Run {
  readonly meter: Meter
  scopeValue(name: string): Value
  filter(name: Value, value: Value, args: Args): Value
  test(name: Value, value: Value, args: Args): boolean
}

export type Kind = 'filter' | 'test' | 'function' | 'method'

export function find<T>(table: Table<T>, kind: Kind, name: string): T {
  const found = Object.hasOwn(table, name) ? table[name] : undefined
  if (found !== undefined) return found
  const known = Object.keys(table).sort().join(', ')
  throw new ExprError(`expr_unknown_${kind}`, `there is no ${kind} \`${name}\`: use one of ${known}`)
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
  const keywords = Object.entries(signature.keywords ?? {})
  const extra = given.positional.slice(params.length)
  if (extra.length > 0 && signature.rest !== true) {
    throw new ExprError('expr_arguments', `${what} takes ${count(params.length)}, got ${given.positional.length}`)
  }
  const named = new Map(given.named)
  const bound = [...params, ...keywords].map(([name, fallback], at) => {
    const positional = at < params.length && at < given.positional.length
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
    const known = [...params, ...keywords].map(([name]) => name).join(', ') || 'none'
    throw new ExprError('expr_arguments', `${what} has no argument \`${unknown}\`: it has ${known}`)
  }
  return [...bound, ...extra]
}

function count(params: number): string {
  return params === 0 ? 'no arguments' : params === 1 ? 'at most 1 argument' : `at most ${params} arguments`
}
