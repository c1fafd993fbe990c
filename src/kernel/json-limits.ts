/** JSON from clients, checked before it joins a batch: a value that a store cannot hold must not fail the others. */

import type { Failure } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import { PetrelError } from './errors.ts'
import { MAX_JSON_BYTES, MAX_JSON_DEPTH } from './limits.ts'

const LEAST_PAYLOAD_BYTES = 64 * 1024

/** Behind an even number of backslashes. */
const ESCAPED_NUL = /(^|[^\\])(\\\\)*\\u0000/

/** The limit for a payload, from the operator's setting. */
export function payloadLimit(maxPayloadBytes: number = MAX_JSON_BYTES): number {
  if (maxPayloadBytes >= LEAST_PAYLOAD_BYTES) return maxPayloadBytes
  throw new PetrelError(
    'invalid_request',
    `maxPayloadBytes: ${maxPayloadBytes}; at least ${LEAST_PAYLOAD_BYTES} are always accepted`,
  )
}

/** null: storable. `text` is valid JSON. */
export function unstorable(text: string, maxBytes: number): Failure | null {
  if (text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes)) {
    const message = `${Buffer.byteLength(text)} bytes; at most ${maxBytes} are stored: keep large results elsewhere and return a reference`
    return { code: 'payload_too_large', message, retryable: false }
  }
  const { depth, plain } = scan(text)
  if (depth > MAX_JSON_DEPTH) {
    return {
      code: 'unstorable',
      message: `nested ${depth} levels deep; at most ${MAX_JSON_DEPTH} are stored`,
      retryable: false,
    }
  }
  if (plain) return null
  if (text.includes('\u0000') || (text.includes('\\u0000') && ESCAPED_NUL.test(text))) {
    return { code: 'unstorable', message: 'contains a NUL character, which the database cannot hold', retryable: false }
  }
  if (!text.isWellFormed() || loneEscape(text)) {
    return { code: 'unstorable', message: 'contains half of a surrogate pair, which is not text', retryable: false }
  }
  return null
}

/** A value from a client as the text that is stored. `place`: the caller's name for it, for the message. */
export function storableText(
  value: unknown,
  place: string,
  maxBytes: number,
  details: Readonly<Record<string, unknown>> = {},
): string {
  const unfit = (code: 'unstorable', problem: string): PetrelError =>
    new PetrelError(code, `${place}: ${problem}`, { ...details, problem })
  const text = JSON.stringify(value) as string | undefined
  if (text === undefined) throw unfit('unstorable', `${typeof value} is not JSON`)
  const error = unstorable(text, maxBytes)
  if (error !== null) throw unfit(error.code as 'unstorable', error.message)
  return text
}

/**
 * Stored values that are nested more deeply are neither shown nor returned. They are older than the limit.
 * `JSON.stringify` takes time by the square of the depth, and fails a few thousand levels down; readers in other
 * languages fail at about this depth, with everything else that is in the same reply.
 */
const MOST_READ = 1_000

/** Stored JSON as its value. */
export function readStored(text: string): Json {
  if (isTooDeep(text)) throw new Error(`nested more than ${MOST_READ} levels deep`)
  return JSON.parse(text) as Json
}

/** The same for a reply that continues without it. */
export function shownStored(text: string): Json {
  if (!isTooDeep(text)) return JSON.parse(text) as Json
  return { error: { code: 'unreadable', message: `this value is nested more than ${MOST_READ} levels deep` } }
}

/** Most texts cost only a look at the length, the others one pass over the text. */
export function isTooDeep(text: string): boolean {
  return text.length > 2 * MOST_READ && depthOf(text) > MOST_READ
}

/** Deepest nesting; strings are skipped. */
export function depthOf(text: string): number {
  return scan(text).depth
}

/**
 * One pass over the text: how deep it is nested, and whether it is plain, with no NUL, half of a surrogate pair or
 * escape that could be one. Most texts are plain, and need no second pass.
 */
function scan(text: string): { readonly depth: number; readonly plain: boolean } {
  let depth = 0
  let deepest = 0
  let plain = true
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0 || (c >= 0xd800 && c <= 0xdfff)) plain = false
    if (c === 34) inString = !inString
    else if (inString) {
      if (c !== 92) continue
      const next = text.charCodeAt(i + 1)
      if (next === 34 || next === 92) i++
      else if (next === 117) plain = false
    } else if (c === 91 || c === 123) {
      depth++
      if (depth > deepest) deepest = depth
    } else if (c === 93 || c === 125) depth--
  }
  return { depth: deepest, plain }
}

function loneEscape(text: string): boolean {
  if (!text.includes('\\ud') && !text.includes('\\uD')) return false
  try {
    return !wellFormed(JSON.parse(text))
  } catch {
    return true
  }
}

function wellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(wellFormed)
  if (value !== null && typeof value === 'object') {
    return Object.entries(value).every(([k, v]) => k.isWellFormed() && wellFormed(v))
  }
  return true
}

/** Whether a database can hold this text. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed()
}
