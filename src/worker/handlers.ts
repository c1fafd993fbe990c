/** Handlers by type: exact names, or prefixes written with a trailing `%` (`billing.%`). The longest match decides. */
import { PetrelError } from '../engine/errors.ts'
import type { Context } from './context.ts'

/** Runs one unit of work. What it returns is the result, what it throws the failure. */
export type Handler = (args: never, ctx: Context<never>) => unknown

export class Handlers {
  readonly #exact = new Map<string, Handler>()
  /** Longest prefix first. */
  #prefixes: { readonly prefix: string; readonly handler: Handler }[] = []

  add(type: string, handler: Handler): void {
    checkType(type)
    if (typeof handler !== 'function') {
      throw new PetrelError('invalid_request', `the handler of '${type}' must be a function, not ${typeof handler}`)
    }
    if (this.types().includes(type)) throw new PetrelError('conflict', `there is a handler for '${type}' already`)
    if (!type.endsWith('%')) {
      this.#exact.set(type, handler)
      return
    }
    this.#prefixes.push({ prefix: type.slice(0, -1), handler })
    this.#prefixes.sort((a, b) => b.prefix.length - a.prefix.length)
  }

  find(type: string): Handler | null {
    const exact = this.#exact.get(type)
    if (exact !== undefined) return exact
    for (const { prefix, handler } of this.#prefixes) if (type.startsWith(prefix)) return handler
    return null
  }

  /** As they were added: what a worker claims. */
  types(): readonly string[] {
    return [...this.#exact.keys(), ...this.#prefixes.map((p) => `${p.prefix}%`)]
  }

  /** A copy that later additions do not change; `types`: only these, each of which must have a handler. */
  select(types: readonly string[] | null): Handlers {
    const selected = new Handlers()
    for (const type of types ?? this.types()) {
      checkType(type)
      const handler = type.endsWith('%') ? this.#handlerOfPrefix(type) : this.find(type)
      if (handler === null) throw new PetrelError('invalid_request', `there is no handler for '${type}'`)
      if (!selected.types().includes(type)) selected.add(type, handler)
    }
    if (selected.types().length === 0) {
      throw new PetrelError('invalid_request', 'a worker needs at least one handler: call handle(type, handler) first')
    }
    return selected
  }

  #handlerOfPrefix(type: string): Handler | null {
    return this.#prefixes.find((p) => type.startsWith(p.prefix))?.handler ?? null
  }
}

function checkType(type: string): void {
  if (typeof type !== 'string' || type === '' || type.length > 255) {
    throw new PetrelError('invalid_request', 'a type is a text of 1 to 255 characters')
  }
  if (type.slice(0, -1).includes('%')) {
    throw new PetrelError('invalid_request', `'%' is allowed only at the end of a type: '${type}'`)
  }
}
