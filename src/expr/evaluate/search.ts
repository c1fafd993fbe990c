/**
 * Finds a text in another, in time that grows with the sum of the two lengths and not with their product: the host's
 * own search took 20 s for a pattern of 100,000 characters in a text of a million, both of them nearly all one letter.
 */

/** Up to this length the host's search is faster, and its worst case is harmless. */
const SHORT = 64

export function indexIn(text: string, wanted: string): number {
  return finder(wanted)(text, 0)
}

export function lastIndexIn(text: string, wanted: string): number {
  if (wanted.length <= SHORT || wanted.length > text.length) return text.lastIndexOf(wanted)
  return new Pattern(wanted).last(text)
}

/** The same for many searches of one text: the next match at or after a position. */
export function finder(wanted: string): (text: string, from: number) => number {
  if (wanted.length <= SHORT) return (text, from) => text.indexOf(wanted, from)
  let pattern: Pattern | null = null
  return (text, from) => {
    if (wanted.length > text.length - from) return -1
    pattern ??= new Pattern(wanted)
    return pattern.first(text, from)
  }
}

/** Knuth, Morris and Pratt: matched text is never read again. */
class Pattern {
  readonly #wanted: string
  /** After a mismatch behind n characters, how many of them may still be the beginning of a match. */
  readonly #kept: Int32Array

  constructor(wanted: string) {
    this.#wanted = wanted
    this.#kept = new Int32Array(wanted.length + 1)
    for (let at = 1, matched = 0; at < wanted.length; at++) {
      matched = this.#step(matched, wanted.charCodeAt(at))
      this.#kept[at + 1] = matched
    }
  }

  first(text: string, from: number): number {
    for (let at = from, matched = 0; at < text.length; at++) {
      matched = this.#step(matched, text.charCodeAt(at))
      if (matched === this.#wanted.length) return at + 1 - matched
    }
    return -1
  }

  last(text: string): number {
    let last = -1
    for (let at = 0, matched = 0; at < text.length; at++) {
      matched = this.#step(matched, text.charCodeAt(at))
      if (matched < this.#wanted.length) continue
      last = at + 1 - matched
      matched = this.#kept[matched] as number
    }
    return last
  }

  #step(matched: number, code: number): number {
    let length = matched
    while (length > 0 && this.#wanted.charCodeAt(length) !== code) length = this.#kept[length] as number
    return this.#wanted.charCodeAt(length) === code ? length + 1 : length
  }
}
