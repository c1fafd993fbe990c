/** Reads untrusted messages: every part by its type, or a Refusal that names the wrong part. */

import { INEXACT_HINT, inexactNumber, inexactText } from '../../../kernel/exact-numbers.ts'
import { isId } from '../../../kernel/ids.ts'
import { depthOf } from '../../../kernel/json-limits.ts'
import { MAX_JSON_DEPTH } from '../../../kernel/limits.ts'
import type { Json } from '../../../net/net.ts'
import { Refusal } from './refusal.ts'

export type Fields = { readonly [name: string]: Json | undefined }

/** The object that a message holds. */
export function readBody(data: Uint8Array, maxBytes: number): Fields {
  if (data.length > maxBytes) throw new Refusal('too_large', `${data.length} bytes; at most ${maxBytes} are read`)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(data)
  } catch {
    throw new Refusal('invalid_json', 'it is not UTF-8')
  }
  const value = parseJson(text, 'it')
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal('invalid_message', `it is ${kind(value)}, not an object`)
  }
  return value as Fields
}

/** undefined: not given. */
export function textOf(fields: Fields, name: string, longest = 10_000): string | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw wrong(name, `${kind(value)}, not a string`)
  if (value.length > longest) throw wrong(name, `longer than ${longest} characters`)
  if (value.includes('\0') || !value.isWellFormed()) throw wrong(name, 'not text that a database keeps')
  return value
}

export function idOf(fields: Fields, name: string): string | undefined {
  const value = textOf(fields, name)?.toLowerCase()
  if (value !== undefined && !isId(value)) throw wrong(name, 'not a UUID')
  return value
}

export function flagOf(fields: Fields, name: string): boolean | undefined {
  const value = fields[name] ?? undefined
  if (value !== undefined && typeof value !== 'boolean') throw wrong(name, `${kind(value)}, not true or false`)
  return value
}

export function choiceOf<T extends string>(fields: Fields, name: string, choices: readonly T[]): T | undefined {
  const value = textOf(fields, name)
  if (value !== undefined && !choices.includes(value as T)) throw wrong(name, `not one of ${choices.join(', ')}`)
  return value as T | undefined
}

export function wholeOf(
  fields: Fields,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined) return undefined
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    throw wrong(name, `not a whole number from ${least} to ${most}`)
  }
  return value as number
}

/** JSON as a text, as in the protocol, or as a value. Missing, null and '' are null. */
export function jsonOf(fields: Fields, name: string): Json {
  const value = fields[name] ?? null
  if (typeof value !== 'string') return value
  return value.trim() === '' ? null : parseJson(value, name)
}

export function need<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Refusal('invalid_message', `${name} is missing`)
  return value
}

export function wrong(name: string, what: string): Refusal {
  return new Refusal('invalid_message', `${name} is ${what}`)
}

export function kind(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function parseJson(text: string, name: string): Json {
  // Before it is parsed: code that walks it later would overflow the stack.
  if (depthOf(text) > MAX_JSON_DEPTH)
    throw new Refusal('invalid_json', `${name} is nested more than ${MAX_JSON_DEPTH} levels deep`)
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (error) {
    throw new Refusal('invalid_json', `${name} is not JSON: ${(error as Error).message}`)
  }
  const inexact = inexactNumber(text)
  if (inexact === null) return value
  const place = [name, ...inexact.path].join('.')
  throw new Refusal('invalid_json', `${place}: ${inexactText(inexact)}; ${INEXACT_HINT}`)
}
