/** The facts fire asks for: what was loaded, with this transaction's own changes on top. */

import type { InstanceRow, SlotRow } from '../../model/rows.ts'
import type { Facts, Ran } from '../../net/facts.ts'
import type { Json } from '../../net/net.ts'
import { SLOT, type SlotKey, type SlotPrefix } from '../../net/slots.ts'
import type { Change, Member } from './change.ts'
import { NeedMore } from './need.ts'
import { resultOf } from './node-results.ts'

export function factsOf(change: Change, member: Member): Facts {
  const { loaded } = change
  const { id } = member.row

  const slotsWith = (prefix: SlotPrefix): { key: string; value: Json }[] | undefined => {
    const stored = member.isNew ? [] : loaded.slotsWith.get(`${id}/${prefix}`)
    if (stored === undefined) return undefined
    const merged = new Map<string, Json>(stored.map((s) => [s.key, JSON.parse(s.value) as Json]))
    for (const [key, value] of member.slots) {
      if (!key.startsWith(prefix)) continue
      if (value === null) merged.delete(key)
      else merged.set(key, value)
    }
    return [...merged].map(([key, value]) => ({ key, value }))
  }

  return {
    instance: id,
    slot(key) {
      const own = member.slots.get(key)
      if (own !== undefined) return own
      if (member.isNew) return null
      const text = loaded.slots.get(`${id}/${key}`)
      if (text === undefined || text === null) return text
      return key.startsWith(SLOT.literals.prefix) ? literals(text) : (JSON.parse(text) as Json)
    },
    slotsWith,
    topSlot(prefix) {
      let top: { key: string; value: Json } | null = null
      for (const [key, value] of member.slots) {
        if (value !== null && key.startsWith(prefix) && (top === null || key > top.key)) top = { key, value }
      }
      if (member.isNew) return top
      const stored = loaded.topSlot.get(`${id}/${prefix}`)
      if (stored === undefined) return undefined
      if (stored === null || (top !== null && top.key > stored.key)) return top
      if (member.slots.get(stored.key as SlotKey) !== null) return parsedSlot(stored)
      // The loaded top was used up in this transaction: the next one is only known from the whole list.
      const rest = slotsWith(prefix)
      if (rest === undefined) throw new NeedMore({ slotsWith: [{ instanceId: id, prefix }] })
      return rest.sort((a, b) => (a.key < b.key ? 1 : -1))[0] ?? null
    },
    result: (node, fire) => resultOf(change, member, node, fire),
    ran: () => ranOf(change, member),
    childId: (node, fire) => change.detached.at(member, node, fire).id,
    items(node, fire, from, count) {
      const hand = member.items.get(`${node}/${fire}`)
      if (hand !== undefined && from >= hand.first)
        return hand.values.slice(from - hand.first, from - hand.first + count)
      const values: Json[] = []
      for (let i = from; i < from + count; i++) {
        const text = loaded.items.get(`${id}/${node}/${fire}/${i}`)
        if (text === undefined) return undefined
        values.push(JSON.parse(text) as Json)
      }
      return values
    },
    unstarted(limit) {
      const stored = member.isNew ? [] : loaded.unstarted.get(id)
      if (stored === undefined) return undefined
      const ids = stored.filter((r) => (change.runs.get(r.id) ?? r).status === 'pending').map((r) => r.id)
      for (const run of change.newRuns.values()) {
        if (run.instanceId === id && run.status === 'pending') ids.push(run.id)
      }
      // What went back or will be tried again in this very transaction still lies in the store as leased.
      const known = new Set(ids)
      for (const run of change.runs.values()) {
        if (run.instanceId === id && run.status === 'pending' && !known.has(run.id)) ids.push(run.id)
      }
      return ids.slice(0, limit)
    },
    openChildren(limit) {
      const stored = member.isNew ? [] : loaded.openChildren.get(id)
      if (stored === undefined) return undefined
      const free = (row: InstanceRow): boolean => row.phase === 'forward' || row.phase === 'final'
      const ids = stored.filter((c) => free(change.members.get(c.id)?.row ?? c)).map((c) => c.id)
      for (const other of change.members.values()) {
        const { row } = other
        if (other.isNew && row.parentId === id && row.parentNode !== null && free(row)) ids.push(row.id)
      }
      return ids.slice(0, limit)
    },
    openGates(limit) {
      const stored = member.isNew ? [] : loaded.openGates.get(id)
      if (stored === undefined) return undefined
      const ids = stored.filter((g) => !change.gates.has(g.id)).map((g) => g.id)
      for (const gate of change.newGates.values())
        if (gate.instanceId === id && gate.state === 'open') ids.push(gate.id)
      return ids.slice(0, limit)
    },
  }
}

/** Of an instance that takes part in this change, or of any other. What is not loaded is asked for. */
export function slotOf<V>(change: Change, instanceId: string, key: SlotKey<V>): V | null {
  const member = change.members.get(instanceId)
  const stored = change.loaded.slots.get(`${instanceId}/${key}`)
  const value = member === undefined ? parsedText(stored) : change.facts(member).slot(key)
  if (value === undefined) throw new NeedMore({ slots: [{ instanceId, keys: [key] }] })
  return value as V | null
}

/** null removes it. */
export function putSlot<V>(member: Member, key: SlotKey<V>, value: NoInfer<V> | null): void {
  member.slots.set(key, value as Json | null)
}

function parsedSlot({ key, value }: SlotRow): { key: string; value: Json } {
  return { key, value: JSON.parse(value) as Json }
}

function parsedText(text: string | null | undefined): Json | undefined {
  return typeof text === 'string' ? (JSON.parse(text) as Json) : text
}

const parsed = new Map<string, Json>()
const REMEMBERED_LITERALS = 2000

/** Every step of a chain reads the same chunk of literal arguments; often those of many chains are equal too. */
function literals(text: string): Json {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const value = JSON.parse(text) as Json
  if (parsed.size >= REMEMBERED_LITERALS) parsed.clear()
  if (text.length < 10_000) parsed.set(text, value)
  return value
}

/** What the store counts, with what was born or has ended in this very transaction. */
function ranOf(change: Change, { row, isNew }: Member): readonly Ran[] | undefined {
  const stored = isNew ? [] : change.loaded.ran.get(row.id)
  if (stored === undefined) return undefined
  const ran = new Map(stored.map((one) => [one.node, one]))
  // Firings up to this number have their first row in the store.
  const known = isNew ? 0 : (change.loaded.instances.get(row.id)?.fires ?? 0)
  const fresh = new Set<string>()
  const count = (node: string, fire: number, runs: number, done: boolean): void => {
    const before = ran.get(node) ?? { node, fires: 0, runs: 0, done: false }
    const first = fire > known && !fresh.has(`${node}/${fire}`)
    fresh.add(`${node}/${fire}`)
    const fires = before.fires + (first ? 1 : 0)
    ran.set(node, { node, fires, runs: before.runs + runs, done: before.done || done })
  }
  for (const run of change.newRuns.values()) {
    if (run.instanceId === row.id && run.role === 'work') count(run.node ?? '', run.fire, 1, run.status === 'succeeded')
  }
  for (const run of change.runs.values()) {
    if (run.instanceId === row.id && run.role === 'work') count(run.node ?? '', 0, 0, run.status === 'succeeded')
  }
  for (const { row: child, isNew: born } of change.members.values()) {
    if (child.parentId !== row.id || child.parentNode === null || child.parentRole !== 'work') continue
    count(child.parentNode, born ? child.parentFire : 0, 0, child.state === 'completed')
  }
  return [...ran.values()]
}
