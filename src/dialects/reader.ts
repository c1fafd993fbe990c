/**
 * Reads a definition part by part. A wrong part is noted with its place and what would be right, and reading goes on
 * with a stand-in, so that one pass finds every mistake; nothing read may be used if any was noted.
 */
import type { Json } from '../net/net.ts'
import { DefinitionError, type Mistake, type Path } from './mistakes.ts'
import { locateMistakes, type Source } from './source.ts'

export class Reader {
  readonly source: Source
  private readonly mistakes: Mistake[] = []

  constructor(source: Source) {
    this.source = source
  }

  get root(): Part {
    return new Part(this, this.source.value, [])
  }

  note(mistake: Mistake): void {
    this.mistakes.push(mistake)
  }

  get clean(): boolean {
    return this.mistakes.length === 0
  }

  throwIfWrong(): void {
    if (this.clean) return
    throw new DefinitionError(this.source.file, locateMistakes(this.source, this.mistakes))
  }
}

/** One part of the file: a value (undefined: not given) and the path that leads to it. */
export class Part {
  readonly reader: Reader
  readonly value: unknown
  readonly path: Path

  constructor(reader: Reader, value: unknown, path: Path) {
    this.reader = reader
    this.value = value
    this.path = path
  }

  get given(): boolean {
    return this.value !== undefined && this.value !== null
  }

  get isObject(): boolean {
    return typeof this.value === 'object' && this.value !== null && !Array.isArray(this.value)
  }

  wrong(message: string, hint: string | null = null): void {
    this.reader.note({ path: this.path, message, hint })
  }

  get(key: string): Part {
    const object = this.isObject ? (this.value as Record<string, unknown>) : {}
    return new Part(this.reader, Object.hasOwn(object, key) ? object[key] : undefined, [...this.path, key])
  }

  has(key: string): boolean {
    return this.isObject && Object.hasOwn(this.value as object, key)
  }

  /** Notes every key that is not among these. False: this is no mapping at all. */
  hasOnly(keys: readonly string[], what: string): boolean {
    if (!this.isObject) {
      this.wrong(`${what} is a mapping, this is ${kindOf(this.value)}`, `keys: ${keys.join(', ')}`)
      return false
    }
    for (const key of Object.keys(this.value as object)) {
      if (keys.includes(key)) continue
      const close = closest(key, keys)
      this.reader.note({
        path: [...this.path, key],
        onKey: true,
        message: `${what} has no key '${key}'`,
        hint: close === null ? `keys: ${keys.join(', ')}` : `did you mean '${close}'?`,
      })
    }
    return true
  }

  entries(what: string): readonly (readonly [string, Part])[] {
    if (!this.isObject) {
      if (this.given) this.wrong(`${what} is a mapping, this is ${kindOf(this.value)}`)
      return []
    }
    return Object.keys(this.value as object).map((key) => [key, this.get(key)] as const)
  }

  items(what: string): readonly Part[] {
    if (Array.isArray(this.value)) return this.value.map((v, i) => new Part(this.reader, v, [...this.path, i]))
    if (this.given) this.wrong(`${what} is a list, this is ${kindOf(this.value)}`)
    return []
  }

  text(what: string): string | null {
    if (typeof this.value === 'string' && this.value !== '') return this.value
    if (this.given) this.wrong(`${what} is a text, this is ${kindOf(this.value)}`)
    return null
  }

  number(what: string, least: number): number | null {
    if (typeof this.value === 'number' && this.value >= least) return this.value
    if (this.given) this.wrong(`${what} is a number of at least ${least}, this is ${kindOf(this.value)}`)
    return null
  }

  flag(what: string): boolean | null {
    if (typeof this.value === 'boolean') return this.value
    if (this.given) this.wrong(`${what} is true or false, this is ${kindOf(this.value)}`)
    return null
  }

  choice<T extends string>(what: string, choices: readonly T[]): T | null {
    if (choices.includes(this.value as T)) return this.value as T
    if (this.given) {
      const close = typeof this.value === 'string' ? closest(this.value, choices) : null
      this.wrong(
        `${what} cannot be ${kindOf(this.value)}`,
        close === null ? `one of: ${choices.join(', ')}` : `did you mean '${close}'?`,
      )
    }
    return null
  }

  /** Milliseconds; texts carry their unit. */
  duration(what: string): number | null {
    const ms = parseDuration(this.value)
    if (ms === null && this.given) {
      this.wrong(
        `${what} is a duration, this is ${kindOf(this.value)}`,
        'for example 500ms, 30s, 5m, 2h or 1d; a bare number is milliseconds',
      )
    }
    return ms
  }

  json(): Json | null {
    return this.given ? this.checkJson(this.value, this.path) : null
  }

  private checkJson(value: unknown, path: Path): Json {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
    if (typeof value === 'number' && Number.isFinite(value)) return value
    if (Array.isArray(value)) return value.map((v, i) => this.checkJson(v, [...path, i]))
    if (typeof value === 'object' && (value.constructor === Object || value.constructor === undefined)) {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, this.checkJson(v, [...path, k])]))
    }
    this.reader.note({ path, message: `${kindOf(value)} cannot be written as JSON`, hint: null })
    return null
  }
}

const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function parseDuration(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : null
  if (typeof value !== 'string') return null
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(value.trim())
  if (match !== null) return Math.round(Number(match[1]) * (UNITS[match[2] as string] as number))
  // ISO 8601, without years and months: they have no fixed length.
  const iso = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(value.trim())
  if (iso === null || !/\d/.test(value)) return null
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = iso.slice(1).map((n) => Number(n ?? 0))
  return Math.round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (typeof value === 'string')
    return value === '' ? 'an empty text' : `'${value.length > 40 ? `${value.slice(0, 37)}…` : value}'`
  return String(value)
}

/** The name meant by a slip of the keyboard; null: none is near. */
export function closest(word: string, words: readonly string[]): string | null {
  let best: string | null = null
  let least = Math.max(1, Math.floor(word.length * 0.45)) + 1
  for (const candidate of words) {
    const cut = word.length >= 3 && candidate.toLowerCase().startsWith(word.toLowerCase())
    const d = cut ? 1 : distance(word.toLowerCase(), candidate.toLowerCase())
    if (d < least) [best, least] = [candidate, d]
  }
  return best
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      next.push(Math.min((next[j - 1] as number) + 1, (row[j] as number) + 1, (row[j - 1] as number) + same))
    }
    row = next
  }
  return row[b.length] as number
}
