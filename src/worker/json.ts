/**
 * Converts values to JSON text. What JSON cannot represent is refused here, with its place: if it were stored damaged
 * (a Map as `{}`, NaN as null, a function as nothing), the error would surface much later and elsewhere. NUL and lone
 * surrogates are valid JSON, but no database stores them.
 */

import { types } from 'node:util'
import { PetrelError } from '../kernel/errors.ts'
import { MAX_JSON_DEPTH } from '../kernel/limits.ts'

export interface JsonLimits {
  /** Longest text, in bytes of UTF-8. */
  readonly maxBytes: number
  /** What is being written, for messages: 'the result', 'the payload'. */
  readonly what?: string
}

/** JSON text of a value; `undefined` is `null`. Throws PetrelError `unstorable` or `payload_too_large`. */
export function toJsonText(value: unknown, limits: JsonLimits): string {
  // The values that most handlers return need no walk.
  if (value === undefined || value === null) return 'null'
  if (value === true) return 'true'
  if (value === false) return 'false'
  const walk = walkOf(limits)
  const text = reading(walk, () => {
    check(value, walk)
    return JSON.stringify(value) as string | undefined
  })
  if (text === undefined) throw refuse(walk, 'is not JSON')
  // JSON.stringify escapes only control characters and lone surrogates as \uXXXX (and authors may have written "\\u").
  if (text.includes('\\u')) checkText(JSON.parse(text), walk)
  checkSize(text, walk)
  return text
}

/** Refuses what toJsonText would, except for the size in bytes: for values that are serialised elsewhere. */
export function checkJson(value: unknown, limits: JsonLimits): void {
  if (typeof value === 'number' && Number.isFinite(value)) return
  const walk = walkOf(limits)
  reading(walk, () => check(value, walk))
}

interface Walk {
  readonly what: string
  /** Keys from the root to the current position. */
  readonly path: (string | number)[]
  readonly ancestors: object[]
  /** Lower bound of the text's length so far: ends a walk of a huge value early, and of shared structure. */
  size: number
  readonly maxBytes: number
}

function walkOf(limits: JsonLimits): Walk {
  return { what: limits.what ?? 'the value', path: [], ancestors: [], size: 0, maxBytes: limits.maxBytes }
}

function reading<T>(walk: Walk, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof PetrelError) throw error
    // A getter, a proxy or a toJSON of the caller.
    throw refuse(walk, `cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function check(value: unknown, walk: Walk): void {
  switch (typeof value) {
    case 'string':
      walk.size += value.length + 2
      break
    case 'number':
      if (!Number.isFinite(value)) throw refuse(walk, `is ${value}, which is not JSON`)
      walk.size += 1
      break
    case 'boolean':
      walk.size += 4
      break
    case 'undefined':
      break
    case 'object':
      if (value === null) walk.size += 4
      else checkObject(value, walk)
      break
    default:
      throw refuse(walk, `is a ${typeof value}, which is not JSON`)
  }
  if (walk.size > walk.maxBytes) throw tooLarge(walk, `more than ${walk.maxBytes}`)
}

function checkObject(value: object, walk: Walk): void {
  if (value instanceof Date) {
    walk.size += 26
    return
  }
  if (walk.ancestors.length >= MAX_JSON_DEPTH) {
    if (walk.ancestors.includes(value)) throw refuse(walk, 'is circular')
    throw refuse(walk, `is nested more than ${MAX_JSON_DEPTH} levels deep`)
  }
  const last = walk.path.at(-1)
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const plain: unknown = value.toJSON(last === undefined ? '' : String(last))
    if (plain !== value) return check(plain, walk)
  }
  if (walk.ancestors.includes(value)) throw refuse(walk, 'is circular')
  const opaque = opaqueKind(value)
  if (opaque !== null) throw refuse(walk, opaque)
  walk.ancestors.push(value)
  walk.size += 2
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      walk.path.push(i)
      walk.size += 1
      check(value[i], walk)
      walk.path.pop()
    }
  } else {
    for (const key of Object.keys(value)) {
      const member: unknown = (value as Record<string, unknown>)[key]
      if (member === undefined) continue
      walk.path.push(key)
      walk.size += key.length + 4
      check(member, walk)
      walk.path.pop()
    }
  }
  walk.ancestors.pop()
}

/** Objects that JSON.stringify would silently write as `{}` (or as an object of digits). */
function opaqueKind(value: object): string | null {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === Array.prototype || prototype === null) return null
  if (types.isMap(value)) return 'is a Map, which is not JSON: use Object.fromEntries(…)'
  if (types.isSet(value)) return 'is a Set, which is not JSON: use [...set]'
  if (types.isPromise(value)) return 'is a Promise: await it first'
  if (types.isNativeError(value)) return 'is an Error, which is not JSON'
  if (types.isWeakMap(value) || types.isWeakSet(value)) return 'is a weak collection, which is not JSON'
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return 'is binary, which is not JSON: use base64'
  if (types.isRegExp(value)) return 'is a RegExp, which is not JSON'
  return null
}

/** Finds the string or key with a NUL or a lone surrogate in a value from JSON.parse. */
function checkText(value: unknown, walk: Walk): void {
  if (typeof value === 'string') {
    const problem = badText(value)
    if (problem !== null) throw refuse(walk, `contains ${problem}, which cannot be stored`)
  } else if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      walk.path.push(i)
      checkText(value[i], walk)
      walk.path.pop()
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      const problem = badText(key)
      if (problem !== null) throw refuse(walk, `has a key that contains ${problem}, which cannot be stored`)
      walk.path.push(key)
      checkText(member, walk)
      walk.path.pop()
    }
  }
}

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

function badText(text: string): string | null {
  if (text.includes('\0')) return 'a NUL character'
  if (LONE_SURROGATE.test(text)) return 'half of a surrogate pair'
  return null
}

/** Text that any store accepts: without NUL, lone surrogates or excess length. For messages, which must never fail. */
export function storableText(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return badText(cut) === null ? cut : Buffer.from(cut.replaceAll('\0', '\uFFFD')).toString()
}

function checkSize(text: string, walk: Walk): void {
  // UTF-8 takes at most three bytes per UTF-16 unit: most texts need no count.
  if (text.length * 3 <= walk.maxBytes) return
  const bytes = Buffer.byteLength(text)
  if (bytes > walk.maxBytes) throw tooLarge(walk, String(bytes))
}

function tooLarge(walk: Walk, bytes: string): PetrelError {
  return new PetrelError(
    'payload_too_large',
    `${walk.what} takes ${bytes} bytes as JSON; at most ${walk.maxBytes} are allowed: store it elsewhere and pass a reference`,
    { maxBytes: walk.maxBytes },
  )
}

function refuse(walk: Walk, problem: string): PetrelError {
  const path = pathText(walk.path)
  const where = path === '$' ? walk.what : `${walk.what} at ${path}`
  return new PetrelError('unstorable', `${where} ${problem}`, { path })
}

const PLAIN_KEY = /^[A-Za-z_$][\w$]*$/

function pathText(path: readonly (string | number)[]): string {
  const shown = path.length > 12 ? path.slice(0, 12) : path
  let text = '$'
  for (const key of shown) {
    if (typeof key === 'number') text += `[${key}]`
    else text += PLAIN_KEY.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 100))}]`
  }
  return shown === path ? text : `${text}…`
}
