/** Slots of instances: the loaded ones, with the changes of this transaction on top. undefined: not loaded. */

import type { SlotRow } from '../../model/rows.ts'
import type { Json } from '../../net/net.ts'
import { SLOT, type SlotKey, type SlotPrefix } from '../../net/slots.ts'
import { NeedMore } from './need.ts'
import type { Member, Slots } from './working-set.ts'

interface Slot {
  readonly key: string
  readonly value: Json
}

/** A slot of a member; null: there is none. */
export function slotIn({ loaded }: Pick<Slots, 'loaded'>, member: Member, key: SlotKey): Json | undefined {
  const own = member.slots.get(key)
  if (own !== undefined) return own
  if (member.isNew) return null
  const text = loaded.slots.get(`${member.row.id}/${key}`)
  if (text === undefined || text === null) return text
  return key.startsWith(SLOT.literals.prefix) ? literals(text) : (JSON.parse(text) as Json)
}

export function slotsWith({ loaded }: Pick<Slots, 'loaded'>, member: Member, prefix: SlotPrefix): Slot[] | undefined {
  const stored = member.isNew ? [] : loaded.slotsWith.get(`${member.row.id}/${prefix}`)
  if (stored === undefined) return undefined
  const merged = new Map<string, Json>(stored.map((s) => [s.key, JSON.parse(s.value) as Json]))
  for (const [key, value] of member.slots) {
    if (!key.startsWith(prefix)) continue
    if (value === null) merged.delete(key)
    else merged.set(key, value)
  }
  return [...merged].map(([key, value]) => ({ key, value }))
}

/** The slot with the greatest key; null: there is none. */
export function topSlot(change: Pick<Slots, 'loaded'>, member: Member, prefix: SlotPrefix): Slot | null | undefined {
  let top: Slot | null = null
  for (const [key, value] of member.slots) {
    if (value !== null && key.startsWith(prefix) && (top === null || key > top.key)) top = { key, value }
  }
  if (member.isNew) return top
  const instanceId = member.row.id
  const stored = change.loaded.topSlot.get(`${instanceId}/${prefix}`)
  if (stored === undefined) return undefined
  if (stored === null || (top !== null && top.key > stored.key)) return top
  if (member.slots.get(stored.key as SlotKey) !== null) return parsedSlot(stored)
  // This transaction has removed the loaded top slot: the next one is only known from the complete list.
  const rest = slotsWith(change, member, prefix)
  if (rest === undefined) throw new NeedMore({ slotsWith: [{ instanceId, prefix }] })
  return rest.sort((a, b) => (a.key < b.key ? 1 : -1))[0] ?? null
}

/** A slot of any instance, a member of the transaction or not. One that is not loaded is requested. */
export function slotOf<V>(change: Slots, instanceId: string, key: SlotKey<V>): V | null {
  const member = change.members.get(instanceId)
  const value =
    member === undefined ? parsedText(change.loaded.slots.get(`${instanceId}/${key}`)) : slotIn(change, member, key)
  if (value === undefined) throw new NeedMore({ slots: [{ instanceId, keys: [key] }] })
  return value as V | null
}

/** null removes it. */
export function putSlot<V>(member: Member, key: SlotKey<V>, value: NoInfer<V> | null): void {
  member.slots.set(key, value as Json | null)
}

function parsedSlot({ key, value }: SlotRow): Slot {
  return { key, value: JSON.parse(value) as Json }
}

function parsedText(text: string | null | undefined): Json | undefined {
  return typeof text === 'string' ? (JSON.parse(text) as Json) : text
}

const parsed = new Map<string, Json>()
const REMEMBERED_LITERALS = 2000

/** Parsed once: every step of a chain reads the same chunk of literal arguments, and many chains have equal ones. */
function literals(text: string): Json {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const value = JSON.parse(text) as Json
  if (parsed.size >= REMEMBERED_LITERALS) parsed.clear()
  if (text.length < 10_000) parsed.set(text, value)
  return value
}
