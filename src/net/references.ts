/**
 * Arguments that are stored out of line: in a net with `inlineBytes`, arguments whose JSON is longer are in slots of
 * their own, as is what all items of a list share. A token or run carries `{ "$ref": "x:<n>" }`, or its own arguments
 * with `"$shared": "x:<fire>"` among them. Such a slot is written once and never changes. In such a net, an author's
 * own data that looks like either is stored out of line too, so that it is never followed.
 */
import type { Draft } from './firing/draft.ts'
import { isMap } from './json.ts'
import type { Failure } from './marking.ts'
import type { Json } from './net.ts'
import { SLOT, type SlotKey } from './slots.ts'

/**
 * `value`, or a reference to it if it is long or could be mistaken for one. `shares`: it contains a `$shared` of ours.
 */
export function storeOutOfLine(d: Draft, value: Json | null, shares = false): Json | null {
  if (value === null || !d.net.keepsAside) return value
  const mistakable = shares ? null : markIn(value)
  if (mistakable === null && !tooLong(d, value)) return value
  const key = SLOT.storedArgs.key(++d.m.fires)
  d.put(key, value)
  // Behind a `$ref`, one more `$shared` is followed; behind a `$shared` nothing is.
  return mistakable === '$shared' ? { $shared: key } : { $ref: key }
}

/** The arguments of a token, resolved if they are a reference. */
export function resolveReference(d: Draft, args: Json | null): Json | null {
  if (!d.net.keepsAside || !isMap(args)) return args
  const mark = markIn(args)
  return mark === null ? args : d.slot(args[mark] as SlotKey<Json>)
}

export function isReference(value: Json | null): value is { readonly $ref: SlotKey<Json> } {
  if (!isMap(value)) return false
  const { $ref } = value as { readonly $ref?: Json }
  return typeof $ref === 'string' && SLOT.storedArgs.isKey($ref) && Object.keys(value).length === 1
}

/** Which part of the value is shared; null: none. */
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

/** A quick test: few arguments have a mark, and all others can be passed on unread. */
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

/** Stores what all items of a list receive. */
export function share(d: Draft, fire: number, value: Json): void {
  d.put(SLOT.storedArgs.key(fire), value)
}

export function withShared(fire: number, own: Json | null): Json {
  return { ...(own as { readonly [name: string]: Json } | null), $shared: SLOT.storedArgs.key(fire) }
}

/** A code unit takes at most three bytes: most texts need no counting. */
function longer(text: string, bytes: number): boolean {
  if (text.length > bytes) return true
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes
}

/** Without its arguments a run cannot succeed, whatever its attempts. */
export const NOT_AVAILABLE: Failure = {
  code: 'reference_not_available',
  message: 'the arguments of this run were stored separately by its workflow, and no longer exist',
  retryable: false,
}

/** true: the handler needs arguments that are stored out of line. */
export function refersAside(payload: Json): boolean {
  return hasMark(payload) && (isReference(payload) || sharedIn(payload).key !== null)
}
