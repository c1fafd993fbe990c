/**
 * Numbers in JSON text that a double cannot hold: beyond its range, or integers that it would round. The sender would
 * get a different number back, so texts of clients that contain one are refused.
 */

export interface InexactNumber {
  readonly path: readonly (string | number)[]
  /** As written in the text. */
  readonly text: string
}

/** Sixteen digits in a row, or an exponent of three: most texts have neither, and need no second look. */
const SUSPICIOUS = /\d{16}|\d[eE]\+?\d{3}/
const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y

/** The first one; null: there is none. `text` is valid JSON. One pass, no recursion. */
export function inexactNumber(text: string): InexactNumber | null {
  if (!SUSPICIOUS.test(text)) return null
  // For each list its index, for each object the place of its key, counted down from -1.
  const at: number[] = []
  let key = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 34) {
      if (key) at[at.length - 1] = -1 - i
      key = false
      i = endOfText(text, i)
    } else if (c === 123 || c === 91) {
      at.push(c === 123 ? -1 : 0)
      key = c === 123
    } else if (c === 125 || c === 93) {
      at.pop()
      key = false
    } else if (c === 44) {
      const last = at.at(-1) as number
      if (last >= 0) at[at.length - 1] = last + 1
      key = last < 0
    } else if (c === 45 || (c >= 48 && c <= 57)) {
      NUMBER.lastIndex = i
      const [number, fraction, exponent] = NUMBER.exec(text) ?? ['']
      if (!isExact(number, fraction === undefined && exponent === undefined)) {
        return { path: at.map((place) => (place >= 0 ? place : keyAt(text, -1 - place))), text: number }
      }
      i += Math.max(number.length - 1, 0)
    }
  }
  return null
}

function keyAt(text: string, from: number): string {
  return JSON.parse(text.slice(from, endOfText(text, from) + 1)) as string
}

/** The problem, for a message. */
export function inexactText({ text }: InexactNumber): string {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return `${shown} is not a number that can be kept exactly`
}

export const INEXACT_HINT = 'whole numbers are exact up to 9007199254740991; send larger ones as text'

function isExact(number: string, whole: boolean): boolean {
  const value = Number(number)
  if (!Number.isFinite(value)) return false
  return !whole || Number.isSafeInteger(value) || BigInt(number) === BigInt(value)
}

function endOfText(text: string, from: number): number {
  let i = from + 1
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 92) i++
    else if (c === 34) break
  }
  return i
}
