/**
 * JSON read as JSON, with the place of each part. It is YAML, too, but that reader takes a hundred times as long and
 * as much memory: a workflow of thousands of steps that a program wrote comes as JSON.
 */
import { MAX_JSON_DEPTH } from '../../kernel/limits.ts'
import type { Path } from './mistakes.ts'

export interface JsonText {
  readonly value: unknown
  /** Of the nearest part that is there; `onKey`: of its key instead of its value. */
  offsetOf(path: Path, onKey: boolean): number
}

/** A part: where it begins, and what is in it. A scalar is only its place. */
type Spot = number | ListSpot | MapSpot
interface ListSpot {
  readonly at: number
  readonly items: readonly Spot[]
}
interface MapSpot {
  readonly at: number
  readonly keys: ReadonlyMap<string, { readonly at: number; readonly value: Spot }>
}

const SPACE = /[ \t\r\n]*/y
const SCALAR = /[^,\]}\s]*/y

/** null: this is not plain JSON, or a key stands twice in it; the other reader says what is wrong, and where. */
export function readJson(text: string): JsonText | null {
  if (!/^\s*[{[]/.test(text)) return null
  try {
    const value: unknown = JSON.parse(text)
    const root = new Scanner(text).root()
    return { value, offsetOf: (path, onKey) => offsetOf(root, path, onKey) }
  } catch {
    return null
  }
}

/** The text is valid JSON: only places and keys are of interest. */
class Scanner {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  root(): Spot {
    return this.#value(0)
  }

  #value(depth: number): Spot {
    if (depth > MAX_JSON_DEPTH) throw new Error('too deep')
    this.#skip(SPACE)
    const at = this.#at
    const first = this.#text[at]
    if (first === '{') return { at, keys: this.#keys(depth) }
    if (first === '[') return { at, items: this.#items(depth) }
    if (first === '"') this.#string()
    else this.#skip(SCALAR)
    return at
  }

  #keys(depth: number): MapSpot['keys'] {
    const keys = new Map<string, { readonly at: number; readonly value: Spot }>()
    for (this.#at++; this.#next() !== '}'; ) {
      const at = this.#at
      const key = this.#string()
      if (keys.has(key)) throw new Error('twice')
      this.#skip(SPACE)
      this.#at++ // the colon
      keys.set(key, { at, value: this.#value(depth + 1) })
    }
    this.#at++
    return keys
  }

  #items(depth: number): readonly Spot[] {
    const items: Spot[] = []
    for (this.#at++; this.#next() !== ']'; ) items.push(this.#value(depth + 1))
    this.#at++
    return items
  }

  /** What comes after spaces and the comma. */
  #next(): string | undefined {
    this.#skip(SPACE)
    if (this.#text[this.#at] === ',') this.#at++
    this.#skip(SPACE)
    return this.#text[this.#at]
  }

  #string(): string {
    const start = this.#at
    let end = this.#text.indexOf('"', start + 1)
    while (this.#escaped(end)) end = this.#text.indexOf('"', end + 1)
    this.#at = end + 1
    const inner = this.#text.slice(start + 1, end)
    return inner.includes('\\') ? (JSON.parse(`"${inner}"`) as string) : inner
  }

  #escaped(at: number): boolean {
    let slashes = 0
    while (this.#text[at - 1 - slashes] === '\\') slashes++
    return slashes % 2 === 1
  }

  #skip(what: RegExp): void {
    what.lastIndex = this.#at
    what.exec(this.#text)
    this.#at = Math.max(this.#at, what.lastIndex)
  }
}

function offsetOf(root: Spot, path: Path, onKey: boolean): number {
  let spot = root
  let offset = beginning(root)
  for (const [i, part] of path.entries()) {
    if (typeof spot === 'number') return offset
    if ('keys' in spot) {
      const entry = spot.keys.get(String(part))
      if (entry === undefined) return offset
      spot = entry.value
      offset = onKey && i === path.length - 1 ? entry.at : beginning(spot)
    } else {
      const item: Spot | undefined = spot.items[Number(part)]
      if (item === undefined) return offset
      spot = item
      offset = beginning(spot)
    }
  }
  return offset
}

function beginning(spot: Spot): number {
  return typeof spot === 'number' ? spot : spot.at
}
