/**
 * The expression language as fire uses it: compiled once per source, evaluated within a budget, with the names of the
 * net's notation. The time comes from the transaction: an evaluation reads no clock.
 */

import type { Evaluate } from '../net/facts.ts'
import type { Json } from '../net/net.ts'
import { NOW } from './builtins/functions.ts'
import type { Scope } from './evaluate/walk.ts'
import { compileExpression, evaluate, truthy } from './expression.ts'
import type { Name } from './names.ts'
import { compileTemplate, render } from './template.ts'
import type { Vocabulary } from './vocabulary.ts'

const CACHED = 5000

export interface Evaluator extends Evaluate {
  /** The same at a given time, the value of now(). */
  at(now: number): Evaluate
}

export function newEvaluator(vocabulary: Vocabulary | null = null): Evaluator {
  return new TimedEvaluator(new Compiled(vocabulary), null)
}

interface Known<T> {
  readonly compiled: T
  /** In the net's scope. */
  readonly names: readonly Name[]
  /** true: calls now(). */
  readonly timed: boolean
}

type KnownExpression = Known<ReturnType<typeof compileExpression>>
type KnownTemplate = Known<ReturnType<typeof compileTemplate>>

class Compiled {
  readonly #vocabulary: Vocabulary | null
  readonly #expressions = new Map<string, KnownExpression>()
  // Templates belong to nets, which are cached by hash, so the object is the key.
  readonly #templates = new WeakMap<object, KnownTemplate>()
  readonly #texts = new Map<string, KnownTemplate>()

  constructor(vocabulary: Vocabulary | null) {
    this.#vocabulary = vocabulary
  }

  expression(source: string): KnownExpression {
    return remembered(this.#expressions, source, () => this.#known(compileExpression(source)))
  }

  template(source: Json): KnownTemplate {
    if (typeof source === 'string') {
      return remembered(this.#texts, source, () => this.#known(compileTemplate(source)))
    }
    if (source === null || typeof source !== 'object') return this.#known(compileTemplate(source))
    let known = this.#templates.get(source)
    if (known === undefined) {
      known = this.#known(compileTemplate(source))
      this.#templates.set(source, known)
    }
    return known
  }

  scope({ timed }: Known<unknown>, found: { readonly [name: string]: Json }, now: number | null): Scope {
    const known = timed && now !== null ? { ...found, [NOW]: new Date(now).toISOString() } : found
    return this.#vocabulary === null ? known : this.#vocabulary.scope(known)
  }

  #known<T extends { readonly names: readonly Name[] }>(compiled: T): Known<T> {
    const all = compiled.names
    const asked = all.filter(([root]) => root !== NOW)
    const vocabulary = this.#vocabulary
    const names = vocabulary === null ? asked : distinct(asked.flatMap((name) => vocabulary.needs(name)))
    return { compiled, names, timed: asked.length < all.length }
  }
}

class TimedEvaluator implements Evaluator {
  readonly #known: Compiled
  readonly #now: number | null

  constructor(known: Compiled, now: number | null) {
    this.#known = known
    this.#now = now
  }

  at(now: number): Evaluate {
    return new TimedEvaluator(this.#known, now)
  }

  names(source: string): readonly Name[] {
    return this.#known.expression(source).names
  }

  templateNames(source: Json): readonly Name[] {
    return this.#known.template(source).names
  }

  truth(source: string, found: { readonly [name: string]: Json }): boolean {
    const known = this.#known.expression(source)
    return truthy(known.compiled, this.#known.scope(known, found, this.#now))
  }

  value(source: string, found: { readonly [name: string]: Json }): Json {
    const known = this.#known.expression(source)
    return evaluate(known.compiled, this.#known.scope(known, found, this.#now))
  }

  render(source: Json, found: { readonly [name: string]: Json }): Json {
    const known = this.#known.template(source)
    return render(known.compiled, this.#known.scope(known, found, this.#now))
  }
}

function distinct(names: readonly Name[]): readonly Name[] {
  return [...new Map(names.map((name) => [name.join('\0'), name])).values()]
}

function remembered<T>(cache: Map<string, T>, key: string, make: () => T): T {
  let value = cache.get(key)
  if (value === undefined) {
    value = make()
    if (cache.size >= CACHED) cache.clear()
    cache.set(key, value)
  }
  return value
}
