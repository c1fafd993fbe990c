/** Resolves references to arguments that are stored separately, where a fold needs the arguments themselves. */

import type { Json } from '../../net/net.ts'
import { isReference, sharedIn } from '../../net/references.ts'
import { slotOf } from './slots.ts'
import type { Member, Slots } from './working-set.ts'

/** JSON text; returned unchanged if it contains no reference. */
export function dereferenced(change: Slots, { net, row }: Member, payload: string): string {
  if (!net.keepsAside || !mayRefer(payload)) return payload
  return JSON.stringify(dereferencedJson(change, row.id, JSON.parse(payload) as Json))
}

export function mayRefer(payload: string): boolean {
  return payload.includes('"$ref"') || payload.includes('"$shared"')
}

export function dereferencedJson(change: Slots, instanceId: string, payload: Json): Json {
  const value = isReference(payload) ? slotOf(change, instanceId, payload.$ref) : payload
  const { key, own } = sharedIn(value)
  if (key === null) return value
  return { ...(slotOf(change, instanceId, key) as { readonly [name: string]: Json } | null), ...own }
}
