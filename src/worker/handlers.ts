/**
 * Handlers by type: exact names, or prefixes written with a trailing `%` (`billing.%`; kernel/type-filters.ts has the
 * rules), or sets of tools. The name wins over a prefix, the longer prefix over the shorter.
 */
import { PetrelError } from '../kernel/errors.ts'
import { readTypeFilter, type ToolsFilter, type TypeFilter, takes, typeOfTools } from '../kernel/type-filters.ts'
import type { Context } from './context.ts'

/** Runs one unit of work. Its return value is the result, what it throws is the failure. */
export type Handler = (args: never, ctx: Context<never>) => unknown

/** The pattern as it was written, and its handler. */
interface Entry {
  readonly text: string
  readonly handler: Handler
}

export class Handlers {
  readonly #exact = new Map<string, Entry>()
  /** By prefix, the longest first. */
  #prefixes = new Map<string, Entry>()
  readonly #withTools: (Entry & { readonly filter: ToolsFilter })[] = []

  add(type: string, handler: Handler): void {
    const filter = readType(type)
    if (typeof handler !== 'function') {
      throw new PetrelError('invalid_request', `the handler of '${type}' must be a function, not ${typeof handler}`)
    }
    if (this.#has(filter)) throw new PetrelError('conflict', `there is a handler for '${type}' already`)
    this.#set(filter, { text: type, handler })
  }

  /** The handler for a run's type. */
  find(type: string): Handler | null {
    return (this.#exact.get(type) ?? this.#byTools(type) ?? this.#underPrefix(type))?.handler ?? null
  }

  /** In the order they were added: the types a worker claims. */
  types(): readonly string[] {
    return this.entries().map(([text]) => text)
  }

  entries(): readonly (readonly [type: string, handler: Handler])[] {
    return [...this.#exact.values(), ...this.#withTools, ...this.#prefixes.values()].map(({ text, handler }) => [
      text,
      handler,
    ])
  }

  /**
   * A copy that later additions do not change. `types`: only these, each of which must have a handler. A prefix selects
   * all handlers under it: types without one are not claimed.
   */
  select(types: readonly string[] | null): Handlers {
    const selected = new Handlers()
    for (const type of types ?? this.types()) {
      const filter = readType(type)
      const found = this.#select(filter, type)
      if (found.length === 0) throw new PetrelError('invalid_request', `there is no handler for '${type}'`)
      for (const [each, entry] of found) selected.#set(each, entry)
    }
    if (selected.types().length === 0) {
      throw new PetrelError('invalid_request', 'a worker needs at least one handler: call handle(type, handler) first')
    }
    return selected
  }

  #select(filter: TypeFilter, text: string): (readonly [TypeFilter, Entry])[] {
    const found: (readonly [TypeFilter, Entry])[] = []
    if ('exact' in filter) {
      const handler = this.find(filter.exact)
      if (handler !== null) found.push([filter, { text, handler }])
      // The name of a type selects it with any tools.
      for (const entry of this.#withTools)
        if (typeOfTools(entry.filter.before) === filter.exact) found.push([entry.filter, entry])
      return found
    }
    if ('tools' in filter) {
      const own = this.#withTools.find((entry) => entry.text === text)
      return own === undefined ? [] : [[own.filter, own]]
    }
    for (const entry of this.#withTools)
      if (entry.filter.before.startsWith(filter.prefix)) found.push([entry.filter, entry])
    for (const [exact, entry] of this.#exact) if (exact.startsWith(filter.prefix)) found.push([{ exact }, entry])
    for (const [prefix, entry] of this.#prefixes) if (prefix.startsWith(filter.prefix)) found.push([{ prefix }, entry])
    const whole = this.#underPrefix(filter.prefix)
    if (whole !== null) found.push([filter, { text, handler: whole.handler }])
    return found
  }

  #underPrefix(type: string): Entry | null {
    for (const [prefix, entry] of this.#prefixes) if (type.startsWith(prefix)) return entry
    return null
  }

  #byTools(type: string): Entry | null {
    return this.#withTools.find(({ filter }) => takes(filter, type)) ?? null
  }

  #has(filter: TypeFilter): boolean {
    if ('tools' in filter) return this.#withTools.some((entry) => entry.filter.before === filter.before)
    return 'exact' in filter ? this.#exact.has(filter.exact) : this.#prefixes.has(filter.prefix)
  }

  #set(filter: TypeFilter, entry: Entry): void {
    if ('exact' in filter) this.#exact.set(filter.exact, entry)
    else if ('tools' in filter) {
      if (!this.#has(filter)) this.#withTools.push({ ...entry, filter })
    } else if (this.#prefixes.has(filter.prefix)) this.#prefixes.set(filter.prefix, entry)
    else {
      const all = [...this.#prefixes, [filter.prefix, entry] as const]
      this.#prefixes = new Map(all.sort(([a], [b]) => b.length - a.length))
    }
  }
}

function readType(type: string): TypeFilter {
  const filter = typeof type !== 'string' || type === '' ? null : readTypeFilter(type, 'type')
  if (filter === null || (type.length > 255 && !('tools' in filter))) {
    throw new PetrelError('invalid_request', 'a type must be a string of 1 to 255 characters')
  }
  return filter
}
