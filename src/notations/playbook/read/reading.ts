/**
 * One playbook being read. Text that is understood although it should be written differently is a leniency: a warning
 * that shows the correct form, or a mistake if the reader is strict.
 */
import { parseDuration } from '../../../kernel/duration.ts'
import type { Mistake, Path } from '../../../kernel/reading/mistakes.ts'
import { closest, kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { LocatedMistake } from '../../source/mistakes.ts'
import { once, Reader } from '../../source/reader.ts'
import { locateMistakes, type Source } from '../../source/source.ts'
import type { Templates } from './playbook.ts'

export class Reading {
  readonly reader: Reader
  readonly strict: boolean
  readonly #warnings: Mistake[] = []
  readonly #elsewhere: LocatedMistake[] = []

  constructor(source: Source, strict: boolean) {
    this.reader = new Reader(source)
    this.strict = strict
  }

  get warnings(): readonly LocatedMistake[] {
    return [...locateMistakes(this.reader.source, this.#warnings), ...once(this.#elsewhere)]
  }

  wrong(path: Path, message: string, hint: string | null, rule: string | null = null): void {
    this.reader.note({ path, message, hint, ...(rule === null ? {} : { rule }) })
  }

  warn(path: Path, message: string, hint: string | null, rule: string): void {
    this.#warnings.push({ path, message, hint, rule })
  }

  /** Warnings about a file that this one is made of. */
  warnElsewhere(warnings: readonly LocatedMistake[]): void {
    this.#elsewhere.push(...warnings)
  }

  lenient(path: Path, message: string, hint: string, onKey = false): void {
    const mistake: Mistake = { path, message, hint, rule: 'lenient', ...(onKey ? { onKey } : {}) }
    if (this.strict) this.reader.note(mistake)
    else this.#warnings.push(mistake)
  }

  /** A known field that has no effect here. */
  idle(part: Part, why: string, hint: string): void {
    if (part.value !== undefined) {
      this.lenient(part.path, `'${part.path.at(-1)}' has no effect: ${why}`, hint, true)
    }
  }

  line(path: Path): number {
    return this.reader.source.locate(path).line
  }

  /** Unknown fields are leniencies: they are ignored. false: not a mapping at all. */
  fields(part: Part, names: readonly string[], what: string, forbidden: Forbidden = {}): boolean {
    if (!part.isObject) {
      part.wrong(`${what} must be a mapping, not ${kindOf(part.value)}`, `fields: ${names.join(', ')}`)
      return false
    }
    for (const key of Object.keys(part.value as object)) {
      if (names.includes(key)) continue
      const path = [...part.path, key]
      const instead = Object.hasOwn(forbidden, key) ? forbidden[key] : undefined
      if (instead !== undefined) {
        this.reader.note({ path, onKey: true, message: `${what} has no field '${key}'`, hint: instead })
        continue
      }
      const near = closest(key, names)
      const hint = near === null ? `fields: ${names.join(', ')}` : `did you mean '${near}'?`
      this.lenient(path, `${what} has no field '${key}'; it is ignored`, hint, true)
    }
    return true
  }

  /** The given one of two names: the notation has renamed some of its fields. */
  either(part: Part, name: string, older: string): Part {
    const [one, other] = [part.get(name), part.get(older)]
    if (one.given && other.given) {
      other.wrong(`'${name}' and '${older}' are two names of the same field`, 'keep one of the two')
    }
    return one.given || !other.given ? one : other
  }
}

/** Fields of other versions of the notation that would change the behaviour, and what to write instead. */
export type Forbidden = { readonly [field: string]: string }

export function templatesOf(part: Part, what: string): Templates | null {
  if (!part.given) return null
  if (part.isObject) return part.json() as Templates
  part.wrong(`${what} must be a mapping, not ${kindOf(part.value)}`, 'write { name: value }')
  return null
}

/** Milliseconds, more than 0. A bare number is seconds; texts contain their unit. */
export function readSeconds(part: Part, what: string): number | null {
  if (!part.given) return null
  const { value } = part
  const ms = parseDuration(typeof value === 'number' ? value * 1000 : value)
  if (ms !== null && ms > 0) return Math.ceil(ms)
  part.wrong(
    `${what} must be a time longer than zero, not ${kindOf(value)}`,
    'seconds as a number, or for example 500ms, 30s, 5m',
  )
  return null
}
