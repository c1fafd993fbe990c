/**
 * The result of a node as a fold sees it: recorded in this transaction, or stored. A nested workflow gives the results of
 * its own nodes, a list those of its items.
 */

import { LIST_BYTES, longListError, TOO_LONG } from '../../model/queries/firings.ts'
import type { Loaded } from '../../model/transaction.ts'
import { type Closed, collected, collects, hasResult, isChildRef, returned } from '../../net/lists.ts'
import type { ChildWork, EachWork, Json, Node } from '../../net/net.ts'
import { SLOT } from '../../net/slots.ts'
import { memberOf } from './members.ts'
import { slotIn, slotsWith } from './slots.ts'
import type { Member, Results } from './working-set.ts'

/** undefined: not loaded. `fire`: of that firing; otherwise of the latest firing that has a result. */
export function resultOf(change: Results, member: Member, node: string, fire?: number): Json | undefined {
  const work = member.net.byKey.get(node)?.work
  if (work?.kind === 'each') {
    return fire === undefined ? latestItems(change, member, node) : itemsAt(change, member, { node, work, fire })
  }
  const value = fire === undefined ? latest(change, member, node) : plainAt(change, member, node, fire)
  if (value === undefined || !isChildRef(value)) return value
  return childResult(change, value.$child, work?.kind === 'child' ? work : null)
}

function latest(change: Results, { row, slots, isNew }: Member, node: string): Json | undefined {
  const key = `${row.id}/${node}`
  const plain = change.results.get(key)
  if (plain !== undefined) return parsed(plain)
  const child = slots.get(SLOT.result.key(node))
  if (child !== undefined) return child
  return isNew ? null : parsed(change.loaded.results.get(key))
}

function plainAt(change: Results, { row, isNew }: Member, node: string, fire: number): Json | undefined {
  const key = `${row.id}/${node}`
  const recorded = change.results.at(key, fire)
  if (recorded !== undefined) return parsed(recorded)
  return isNew ? null : storedAt(change, key, fire)
}

/** Throws if they are too long to be collected: the node that names them then fails. */
function storedAt(change: Results, key: string, fire: number): Json | undefined {
  const text = change.loaded.resultsAt.get(`${key}/${fire}`)
  if (text === TOO_LONG) throw longListError(key.slice(key.indexOf('/') + 1))
  if (text === undefined || text === null) return text
  const values = storedValues.get(change.loaded) ?? new Map<string, Json>()
  storedValues.set(change.loaded, values)
  const value = values.get(`${key}/${fire}`) ?? (JSON.parse(text) as Json)
  values.set(`${key}/${fire}`, value)
  return value
}

/** Parsed once for all passes of a transaction, since the results of a list are long. */
const storedValues = new WeakMap<Loaded, Map<string, Json>>()

/** All items of the latest firing that have ended, by index; failed ones with their errors. */
function latestItems(change: Results, { row, isNew }: Member, node: string): Json | undefined {
  const key = `${row.id}/${node}`
  const stored = isNew ? null : parsed(change.loaded.results.get(key))
  if (stored === undefined) return undefined
  const fire = change.results.latestItems(key)
  if (fire === undefined) return stored
  const known = change.loaded.resultFires.get(key) ?? 0
  if (known > fire) return stored
  return { ...(known === fire ? (stored as Items) : {}), ...recordedItems(change, key, fire) }
}

type Items = { readonly [index: string]: Json }

/** Results of the items that succeeded, by index. */
function itemsAt(
  change: Results,
  member: Member,
  { node, work, fire }: { readonly node: string; readonly work: EachWork; readonly fire: number },
): Json | undefined {
  const key = `${member.row.id}/${node}`
  const stored = member.isNew ? null : storedAt(change, key, fire)
  const children = work.body?.kind === 'run' ? {} : childItems(change, member, node, fire)
  if (stored === undefined || children === undefined) return undefined
  return { ...((stored ?? {}) as Items), ...recordedItems(change, key, fire), ...children }
}

function recordedItems(change: Results, key: string, fire: number): Items {
  const recent = change.results.items(key, fire) ?? new Map<number, string | null>()
  return Object.fromEntries([...recent].map(([item, text]) => [item, parsed(text) ?? null]))
}

/** Items that are nested workflows. Everything they lack is requested in one round. */
function childItems(change: Results, member: Member, node: string, fire: number): Items | undefined {
  const prefix = SLOT.itemResult.prefixOf(node)
  const slots = slotsWith(change, member, prefix)
  if (slots === undefined) {
    change.lacking.push({ slotsWith: [{ instanceId: member.row.id, prefix }] })
    return undefined
  }
  const items: Record<string, Json> = {}
  let lacking = false
  for (const { key, value } of slots) {
    if (!isChildRef(value) || (value.fire !== undefined && value.fire !== fire)) continue
    const work = member.net.byKey.get(node)?.work as EachWork
    const result = childResult(change, value.$child, work.body?.kind === 'child' ? work.body : null)
    if (result === undefined) lacking = true
    else if (result !== null) items[key.slice(prefix.length)] = result
  }
  return lacking ? undefined : items
}

/** A child that did not complete has no result: work that continues without it sees the result of a skipped step. */
function childResult(change: Results, id: string, work: ChildWork | null): Json | undefined {
  // Collected, not thrown, so that a join of many nested workflows requests all of them in one round.
  if (!change.members.has(id) && !change.loaded.instances.has(id)) {
    change.lacking.push({ instances: [id] })
    return undefined
  }
  const child = memberOf(change, id)
  if (child.row.state !== 'completed') return null
  const results: Record<string, Json> = {}
  const nodes = child.net.net.nodes.filter(hasResult)
  for (const node of nodes) {
    const value = nodeResult(change, child, node)
    if (value !== undefined) {
      results[node.key] = value
      continue
    }
    const asked = nodes.filter(({ work }) => !collects(work)).map(({ key }) => ({ instanceId: id, node: key }))
    change.lacking.push({ results: asked, slots: [{ instanceId: id, keys: listKeys(nodes) }] })
    return undefined
  }
  return returned(results, work?.returns)
}

/** Of an ended instance. */
function nodeResult(change: Results, member: Member, { key, work }: Node): Json | undefined {
  if (!collects(work)) return resultOf(change, member, key)
  const closed = slotIn(change, member, SLOT.closedList.key(key))
  if (closed === undefined || closed === null) return closed
  const { fire } = closed as unknown as Closed
  const results = resultOf(change, member, key, fire)
  if (results === undefined) {
    change.lacking.push({ resultsAt: [{ instanceId: member.row.id, node: key, fire, maxBytes: LIST_BYTES }] })
  }
  return results === undefined ? undefined : collected(closed as unknown as Closed, results)
}

function listKeys(nodes: readonly Node[]): readonly string[] {
  return nodes.filter(({ work }) => collects(work)).map(({ key }) => SLOT.closedList.key(key))
}

function parsed(text: string | null | undefined): Json | undefined {
  return text === undefined || text === null ? text : (JSON.parse(text) as Json)
}
