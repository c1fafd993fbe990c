/** One file being read: mistakes refuse it, warnings do not. */
import type { Mistake, Path } from '../../../kernel/reading/mistakes.ts'
import { closest, kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { LocatedMistake } from '../../source/mistakes.ts'
import { once, Reader } from '../../source/reader.ts'
import { locateMistakes, type Source } from '../../source/source.ts'

export class Reading {
  readonly reader: Reader
  readonly #warnings: Mistake[] = []
  readonly #elsewhere: LocatedMistake[] = []
  readonly #remembered = new Map<string, unknown>()

  constructor(source: Source) {
    this.reader = new Reader(source)
  }

  get warnings(): readonly LocatedMistake[] {
    return [...locateMistakes(this.reader.source, this.#warnings), ...once(this.#elsewhere)]
  }

  warn(path: Path, message: string, hint: string | null = null, rule: string | null = null): void {
    this.#warnings.push({ path, message, hint, ...(rule === null ? {} : { rule }) })
  }

  /** Warnings about a file that this one is made of. */
  warnElsewhere(warnings: readonly LocatedMistake[]): void {
    this.#elsewhere.push(...warnings)
  }

  /** Values that steps have in common are computed once: a file has up to 10,000 steps. */
  remember<T>(key: string, make: () => T): T {
    if (!this.#remembered.has(key)) this.#remembered.set(key, make())
    return this.#remembered.get(key) as T
  }

  /** Warns of every field that is not among these. false: not a mapping at all, which is a mistake. */
  fields(part: Part, names: readonly string[], what: string): boolean {
    if (!part.isObject) {
      part.wrong(`${what} must be a mapping, not ${kindOf(part.value)}`, `fields: ${names.join(', ')}`)
      return false
    }
    for (const key of Object.keys(part.value as object)) {
      if (names.includes(key)) continue
      const near = closest(key, names)
      this.#warnings.push({
        path: [...part.path, key],
        onKey: true,
        message: `${what} has no field '${key}'; it is ignored`,
        hint: near === null ? `fields: ${names.join(', ')}` : `did you mean '${near}'?`,
        rule: 'unknown_field',
      })
    }
    return true
  }
}

/** One key or index further down. */
export function partAt(part: Part, key: string): Part {
  return Array.isArray(part.value) ? (part.items('')[Number(key)] ?? part) : part.get(key)
}

/** Milliseconds, more than 0: a timeout that has passed before it begins is a slip. */
export function readTimeout(part: Part, what = 'timeout'): number | null {
  const ms = part.duration(what)
  if (ms !== 0) return ms
  part.wrong(`${what} must be longer than zero`, 'for example 30s, 5m or 24h')
  return null
}
