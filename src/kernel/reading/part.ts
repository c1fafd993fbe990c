/**
 * Reads an untrusted value part by part: a definition or a request body. A wrong part is noted with its place and the
 * correct form, and reading continues with a stand-in, so that one pass finds every mistake; if any was noted, the
 * result must not be used.
 */
import type { Json } from '../../net/net.ts'
import { parseDuration, parseIsoDuration } from '../duration.ts'
import type { Mistake, Path } from './mistakes.ts'

/** Where mistakes go. */
export interface Notes {
  note(mistake: Mistake): void
}

/** Mistakes of a request body, which has paths but no lines. */
export class BodyNotes implements Notes {
  readonly mistakes: Mistake[] = []

  note(mistake: Mistake): void {
    this.mistakes.push(mistake)
  }

  /** The root of a body. */
  root(value: unknown): Part {
    return new Part(this, value, [])
  }
}

/** One part of the text: a value (undefined: not given) and the path that leads to it. */
export class Part {
  readonly notes: Notes
  readonly value: unknown
  readonly path: Path

  constructor(notes: Notes, value: unknown, path: Path) {
    this.notes = notes
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
    this.notes.note({ path: this.path, message, hint })
  }

  get(key: string): Part {
    const object = this.isObject ? (this.value as Record<string, unknown>) : {}
    return new Part(this.notes, Object.hasOwn(object, key) ? object[key] : undefined, [...this.path, key])
  }

  has(key: string): boolean {
    return this.isObject && Object.hasOwn(this.value as object, key)
  }

  /** Notes every key that is not among these. false: not a mapping at all. */
  hasOnly(keys: readonly string[], what: string): boolean {
    if (!this.isObject) {
      this.wrong(`${what} must be a mapping, not ${kindOf(this.value)}`, `keys: ${keys.join(', ')}`)
      return false
    }
    for (const key of Object.keys(this.value as object)) {
      if (keys.includes(key)) continue
      const close = closest(key, keys)
      this.notes.note({
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
      if (this.given) this.wrong(`${what} must be a mapping, not ${kindOf(this.value)}`, 'write { name: value }')
      return []
    }
    return Object.keys(this.value as object).map((key) => [key, this.get(key)] as const)
  }

  items(what: string): readonly Part[] {
    if (Array.isArray(this.value)) return this.value.map((v, i) => new Part(this.notes, v, [...this.path, i]))
    if (this.given) this.wrong(`${what} must be a list, not ${kindOf(this.value)}`, `write [${shown(this.value)}]`)
    return []
  }

  text(what: string): string | null {
    if (typeof this.value === 'string' && this.value !== '') return this.value
    if (this.given) this.wrong(`${what} must be a string, not ${kindOf(this.value)}`, textHint(this.value))
    return null
  }

  number(what: string, least: number, most = Number.MAX_VALUE): number | null {
    const { value } = this
    if (typeof value === 'number' && value >= least && value <= most) return value
    const range = most === Number.MAX_VALUE ? `of at least ${least}` : `from ${least} to ${most}`
    if (this.given) this.wrong(`${what} must be a number ${range}, not ${kindOf(value)}`, `for example ${least}`)
    return null
  }

  whole(what: string, bounds: { readonly least: number; readonly most?: number }): number | null {
    const { least, most = Number.MAX_SAFE_INTEGER } = bounds
    const { value } = this
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
    const range = bounds.most === undefined ? `of at least ${least}` : `from ${least} to ${most}`
    if (this.given) this.wrong(`${what} must be a whole number ${range}, not ${kindOf(value)}`, `for example ${least}`)
    return null
  }

  flag(what: string): boolean | null {
    if (typeof this.value === 'boolean') return this.value
    if (this.given) this.wrong(`${what} must be true or false, not ${kindOf(this.value)}`, 'write true or false')
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

  /** Milliseconds; texts contain their unit. */
  duration(what: string): number | null {
    const ms = parseDuration(this.value)
    if (ms === null && this.given) {
      this.wrong(
        `${what} must be a duration, not ${kindOf(this.value)}`,
        'for example 500ms, 30s, 5m, 2h or 1d; a bare number is milliseconds',
      )
    }
    return ms
  }

  /** Milliseconds, more than 0, of an ISO 8601 text. */
  isoDuration(what: string): number | null {
    const ms = parseIsoDuration(this.value)
    if (ms !== null && ms > 0) return ms
    if (this.given) {
      this.wrong(
        `${what} must be an ISO 8601 duration longer than zero, not ${kindOf(this.value)}`,
        'for example PT1S, PT5M or PT1H30M; at most 100 years',
      )
    }
    return null
  }

  json(): Json | null {
    return this.given ? this.checkJson(this.value, this.path) : null
  }

  private checkJson(value: unknown, path: Path): Json {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
    if (typeof value === 'number' && Number.isFinite(value)) return value
    if (Array.isArray(value)) return value.map((v, i) => this.checkJson(v, [...path, i]))
    if (isPlain(value)) {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, this.checkJson(v, [...path, k])]))
    }
    this.notes.note({ path, message: `${kindOf(value)} cannot be written as JSON`, hint: 'write it as a string' })
    return null
  }
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (typeof value === 'string')
    return value === '' ? 'an empty string' : `'${value.length > 40 ? `${value.slice(0, 37)}…` : value}'`
  return String(value)
}

/** Shows a single value as the one item of a list. */
function shown(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 40) : '…'
}

function textHint(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return `write it in quotes: '${value}'`
  return value === '' ? 'leave it out, or give a string' : 'write one string'
}

/** The word meant by a typing error; null: none is close. */
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

/** Letters left out, inserted, replaced, or swapped with their neighbour. */
function distance(a: string, b: string): number {
  let before: readonly number[] = []
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = swapped ? (before[j - 2] as number) + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min((next[j - 1] as number) + 1, (row[j] as number) + 1, (row[j - 1] as number) + same, swap))
    }
    before = row
    row = next
  }
  return row[b.length] as number
}
