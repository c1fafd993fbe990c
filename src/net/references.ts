/**
 * Arguments that are kept aside: in a net with `inlineBytes` those whose JSON is longer lie in slots of their own, as does what
 * all items of a list share. A token or run carries `{ "$ref": "x:<n>" }`, or its own arguments with
 * `"$shared": "x:<fire>"` among them. What lies there is written once and never changes. In such a net an author's own
 * words that look like either are kept aside too, so that nobody follows them.
 */
import type { Draft } from './draft.ts'
import { isMap } from './json.ts'
import type { Failure } from './marking.ts'
import type { Json } from './net.ts'
import { SLOT, type SlotKey } from './slots.ts'

/** `value`, or a reference to it if it is long, or could be taken for one. `shares`: what was shared was put into it here. */
export function aside(d: Draft, value: Json | null, shares = false): Json | null {
  if (value === null || !d.net.keepsAside) return value
  const mistakable = shares ? null : markIn(value)
  if (mistakable === null && !tooLong(d, value)) return value
  const key = SLOT.storedArgs.key(++d.m.fires)
  d.put(key, value)
  // Behind a `$ref`, `$shared` is followed once more; behind a `$shared` nothing is.
  return mistakable === '$shared' ? { $shared: key } : { $ref: key }
}

/** What the arguments of a token are, wherever they lie. */
export function behind(d: Draft, args: Json | null): Json | null {
  if (!d.net.keepsAside || !isMap(args)) return args
  const mark = markIn(args)
  return mark === null ? args : d.slot(args[mark] as SlotKey<Json>)
}

export function isReference(value: Json | null): value is { readonly $ref: SlotKey<Json> } {
  if (!isMap(value)) return false
  const { $ref } = value as { readonly $ref?: Json }
  return typeof $ref === 'string' && SLOT.storedArgs.isKey($ref) && Object.keys(value).length === 1
}

/** Which part of it is shared; null: none. */
export function sharedIn(value: Json): Shared {
  if (!isMap(value)) return { key: null, own: {} }
  const { $shared, ...own } = value as { readonly [name: string]: Json }
  return typeof $shared === 'string' && SLOT.storedArgs.isKey($shared)
    ? { key: $shared, own }
    : { key: null, own: value }
}

interface Shared {
  readonly key: SlotKey<Json> | null
  readonly own: { readonly [name: string]: Json }
}

/** Few have: of all others nothing need be taken apart. */
export function hasMark(value: Json): boolean {
  return markIn(value) !== null
}

function markIn(value: Json): '$shared' | '$ref' | null {
  if (!isMap(value)) return null
  if (Object.hasOwn(value, '$shared')) return '$shared'
  return Object.hasOwn(value, '$ref') ? '$ref' : null
}

function tooLong(d: Draft, value: Json): boolean {
  const { inlineBytes } = d.net.net
  return inlineBytes !== undefined && longer(JSON.stringify(value), inlineBytes)
}

/** Keeps what all items of a list are given. */
export function share(d: Draft, fire: number, value: Json): void {
  d.put(SLOT.storedArgs.key(fire), value)
}

export function withShared(fire: number, own: Json | null): Json {
  return { ...(own as { readonly [name: string]: Json } | null), $shared: SLOT.storedArgs.key(fire) }
}

/** A character is one to three bytes: most texts need no counting. */
function longer(text: string, bytes: number): boolean {
  if (text.length > bytes) return true
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes
}

/** Whatever its attempts, a run without its arguments cannot be done. */
export const NOT_AVAILABLE: Failure = {
  code: 'reference_not_available',
  message: 'the arguments of this run were kept aside by its workflow, and are not there any more',
  retryable: false,
}

/** true: what its handler must be given is not all there. */
export function refersAside(payload: Json): boolean {
  return hasMark(payload) && (isReference(payload) || sharedIn(payload).key !== null)
}
