/** The facts fire asks for: what was loaded, with this transaction's own changes on top. */
import type { Facts } from '../net/facts.ts'
import type { Json, Node } from '../net/net.ts'
import type { InstanceRow } from '../store/rows.ts'
import type { Change, Member } from './change.ts'
import { NeedMore } from './need.ts'

export function factsOf(change: Change, member: Member): Facts {
  const { loaded } = change
  const { id } = member.row

  const slotsWith = (prefix: string): { key: string; value: Json }[] | undefined => {
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
    slot(key) {
      const own = member.slots.get(key)
      if (own !== undefined) return own
      if (member.isNew) return null
      const text = loaded.slots.get(`${id}/${key}`)
      if (text === undefined || text === null) return text
      return key.startsWith('a:') ? literals(text) : (JSON.parse(text) as Json)
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
      if (member.slots.get(stored.key) !== null) return { key: stored.key, value: JSON.parse(stored.value) as Json }
      // The loaded top was used up in this transaction: the next one is only known from the whole list.
      const rest = slotsWith(prefix)
      if (rest === undefined) throw new NeedMore({ slotsWith: [{ instanceId: id, prefix }] })
      return rest.sort((a, b) => (a.key < b.key ? 1 : -1))[0] ?? null
    },
    result: (node) => resultOf(change, member, node),
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

/** Result of a node: recorded in this transaction, or stored; of a nested workflow, its own results by node. */
function resultOf(change: Change, member: Member, node: string): Json | undefined {
  const key = `${member.row.id}/${node}`
  const plain = change.results.get(key)
  if (plain !== undefined) return plain === null ? null : (JSON.parse(plain) as Json)
  const child = member.slots.get(`r:${node}`)
  let value: Json
  if (child !== undefined) value = child
  else if (member.isNew) value = null
  else {
    const text = change.loaded.results.get(key)
    if (text === undefined) return undefined
    value = text === null ? null : (JSON.parse(text) as Json)
  }
  if (isChildRef(value)) return childResults(change, value.$child)
  const recent = change.itemResults.get(key)
  if (recent === undefined) return value
  const items: Record<string, Json> = { ...((value as { [k: string]: Json } | null) ?? {}) }
  for (const [item, text] of recent) items[String(item)] = text === null ? null : (JSON.parse(text) as Json)
  return items
}

/** Of one that did not complete, nothing: whoever goes on without it gets what a skipped step leaves. */
function childResults(change: Change, id: string): Json | undefined {
  // Noted, not thrown: a join of many nested workflows asks for all of them at once.
  if (!change.members.has(id) && !change.loaded.instances.has(id)) {
    change.lacking.push({ instances: [id] })
    return undefined
  }
  const child = change.member(id)
  if (child.row.state !== 'completed') return null
  const results: Record<string, Json> = {}
  const nodes = child.net.net.nodes.filter(hasResult)
  for (const node of nodes) {
    const value = resultOf(change, child, node.key)
    if (value === undefined) {
      change.lacking.push({ results: nodes.map((n) => ({ instanceId: id, node: n.key })) })
      return undefined
    }
    results[node.key] = value
  }
  return results
}

/** A pass only routes. */
export function hasResult(node: Node | undefined): boolean {
  return node?.work.kind !== 'pass'
}

export function isChildRef(value: Json): value is { $child: string } {
  return value !== null && typeof value === 'object' && typeof (value as { $child?: Json }).$child === 'string'
}
