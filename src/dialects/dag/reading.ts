/** One file being read: mistakes refuse it, warnings only tell. */
import type { LocatedMistake, Mistake, Path } from '../mistakes.ts'
import { closest, kindOf, type Part, Reader } from '../reader.ts'
import { locateMistakes, type Source } from '../source.ts'

export class Reading {
  readonly reader: Reader
  readonly #warnings: Mistake[] = []

  constructor(source: Source) {
    this.reader = new Reader(source)
  }

  get warnings(): readonly LocatedMistake[] {
    return locateMistakes(this.reader.source, this.#warnings)
  }

  warn(path: Path, message: string, hint: string | null = null): void {
    this.#warnings.push({ path, message, hint })
  }

  /** Warns of every field that is not among these. False: this is no mapping at all, which is a mistake. */
  fields(part: Part, names: readonly string[], what: string): boolean {
    if (!part.isObject) {
      part.wrong(`${what} is a mapping, this is ${kindOf(part.value)}`, `fields: ${names.join(', ')}`)
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
      })
    }
    return true
  }
}

/** Milliseconds, more than 0: a clock that is over before it begins is a slip. */
export function readTimeout(part: Part, what = 'timeout'): number | null {
  const ms = part.duration(what)
  if (ms !== 0) return ms
  part.wrong(`${what} is longer than nothing`, 'for example 30s, 5m or 24h')
  return null
}
