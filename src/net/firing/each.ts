/** A list: one node whose items are issued in order, a limited number at a time; it ends when all of them have. */

import { closedOf, collects } from '../lists.ts'
import type { Failure, Place } from '../marking.ts'
import type { EachWork, Json, Node } from '../net.ts'
import { share, withShared } from '../references.ts'
import { SLOT } from '../slots.ts'
import { noteFailure, noteFired } from '../summary.ts'
import { failNode, succeedNode } from './arcs.ts'
import type { Draft } from './draft.ts'
import { Abandoned } from './draft.ts'
import {
  type ItemAt,
  type Payload,
  payloadOf,
  render,
  runPayload,
  type Surroundings,
  value,
  wholePayload,
} from './guards.ts'
import { closeScope, type EachScope, inner, readScope, writeScope } from './scopes.ts'

export function openEach(d: Draft, node: Node, work: EachWork, place: Place, args: Json | null): void {
  const around: Surroundings = { args: () => args, event: null }
  const list = work.items === null ? null : itemsOf(d, node, work.items, around)
  const total = list?.length ?? d.slot(SLOT.givenItems.key(node.key)) ?? 0
  const max = typeof work.maxInFlight === 'string' ? roomOf(d, node, work.maxInFlight, around) : work.maxInFlight
  if (d.net.net.tells === true) d.event('each.opened', node.key, { fire: place.fire, total, max })
  const s: EachScope = {
    kind: 'each',
    up: place.scope,
    node: node.key,
    fire: place.fire,
    args,
    live: total,
    total,
    next: 0,
    inFlight: 0,
    failed: 0,
    ...(typeof work.maxInFlight === 'string' && max !== null ? { max } : {}),
  }
  if (total === 0) {
    noteFired(d, node.key)
    return closeEach(d, node, work, s)
  }
  if (work.shared !== undefined) {
    share(d, place.fire, render(d, work.shared, around, { node: node.key, what: 'shared' }))
  }
  if (list !== null) d.fresh.set(place.fire, list)
  const scope = inner(place.scope, place.fire)
  writeScope(d, scope, s)
  issueItems(d, place.fire)
  if (list === null) return
  const { next } = readScope(d, scope) as EachScope
  d.fresh.delete(place.fire)
  if (next < total) {
    d.effects.push({ do: 'items', node: node.key, fire: place.fire, from: next, values: list.slice(next) })
  }
}

function itemsOf(d: Draft, node: Node, items: string, around: Surroundings): readonly Json[] {
  const list = value(d, items, around, { node: node.key, what: 'items' })
  if (Array.isArray(list)) return list
  throw wrong(node, `items: expected a list, got ${kindOf(list)}`)
}

function roomOf(d: Draft, node: Node, maxInFlight: string, around: Surroundings): number {
  const max = value(d, maxInFlight, around, { node: node.key, what: 'maxInFlight' })
  if (typeof max === 'number' && Number.isInteger(max) && max >= 1) return max
  throw wrong(node, `maxInFlight: expected a whole number of at least 1, got ${JSON.stringify(max)}`)
}

function wrong({ key }: Node, message: string): Abandoned {
  return new Abandoned(key, { code: 'guard_error', message: `node '${key}', ${message}` })
}

export function issueItems(d: Draft, fire: number): void {
  const slot = SLOT.scope.key(fire)
  const s = d.slot(slot)
  if (s === null || s.kind !== 'each' || s.next >= s.total) return
  const node = d.node(s.node)
  const work = node.work as EachWork
  if (work.failFast && s.failed > 0) return
  const max = maxOf(work, s)
  const wanted = Math.min(s.total - s.next, max === null ? s.total : max - s.inFlight)
  const count = Math.min(wanted, Math.max(d.moves, 1))
  if (count <= 0) return
  const literal = work.items === null
  const values = d.fresh.get(fire)?.slice(s.next, s.next + count) ?? d.items(s.node, literal ? 0 : fire, s.next, count)
  values.forEach((item, i) => {
    issue(d, node, work, s, { value: item, index: s.next + i, total: s.total, as: work.as ?? null })
  })
  d.m.open += count
  d.moves -= count
  d.put(slot, { ...s, next: s.next + count, inFlight: s.inFlight + count })
  if (count < wanted) d.todo.push({ t: 'issue', fire })
}

function issue(d: Draft, node: Node, work: EachWork, s: EachScope, item: ItemAt): void {
  const { fire } = s
  const place: Place = { node: s.node, fire, item: item.index, role: 'work', scope: inner(s.up, fire) }
  const child = childOf(work, item.value)
  const template = work.body === null ? null : work.body.kind === 'run' ? work.body.args : work.body.input
  const spot = { node: s.node, what: `args of item ${item.index}` }
  const payload = payloadOf(d, template, { args: s.args, item }, spot)
  if (child !== null) {
    if (d.net.net.tells === true) d.event('node.fired', node.key, { fire, item: item.index, kind: 'child' })
    const given = wholePayload(d, payload)
    d.effects.push({ do: 'child', place, net: child, attached: true, ...given, item: item.value })
    return
  }
  const shares = work.shared !== undefined
  const given = shares ? { args: withShared(fire, payload.args), rendered: true } : withItem(work, payload, item)
  d.run(place, runPayload(d, given, shares), item.value)
}

/** A body without arguments of its own receives the item. */
function withItem({ body }: EachWork, payload: Payload, item: ItemAt): Payload {
  return body === null || payload.rendered ? payload : { args: item.value, rendered: true }
}

function maxOf(work: EachWork, { max }: EachScope): number | null {
  return typeof work.maxInFlight === 'string' ? (max ?? null) : work.maxInFlight
}

/** If the node has no body, the item names its own work: `{ child: hash, … }` or a run. */
function childOf(work: EachWork, item: Json): string | null {
  if (work.body !== null) return work.body.kind === 'child' ? work.body.net : null
  const named = (item as { child?: Json } | null)?.child
  return typeof named === 'string' ? named : null
}

export function isChildItem(d: Draft, work: EachWork, { node, item }: Place): boolean {
  if (work.body !== null) return work.body.kind === 'child'
  return childOf(work, d.items(node, 0, item, 1)[0] ?? null) !== null
}

/** Work of an item has ended; the node ends when its last item has. */
export function itemEnded(d: Draft, place: Place, failed: boolean): void {
  const path = place.scope
  const s = readScope(d, path) as EachScope
  const node = d.node(place.node)
  const work = node.work as EachWork
  if (d.net.net.tells === true && work.body?.kind === 'child') {
    const { fire, item } = place
    d.event('node.item_ended', node.key, { fire, item, status: failed ? 'failed' : 'succeeded' })
  }
  let after: EachScope = { ...s, live: s.live - 1, inFlight: s.inFlight - 1, failed: s.failed + (failed ? 1 : 0) }
  if (work.failFast && after.failed > 0 && after.next < after.total) {
    const dropped = after.total - after.next
    after = { ...after, live: after.live - dropped, next: after.total, dropped }
  }
  if (after.live > 0) {
    writeScope(d, path, after)
    if (maxOf(work, after) !== null && after.next < after.total) d.todo.push({ t: 'issue', fire: s.fire })
    return
  }
  closeScope(d, path)
  closeEach(d, node, work, after)
}

function closeEach(d: Draft, node: Node, work: EachWork, s: EachScope): void {
  const closed = closedOf(s)
  if (collects(work)) d.put(SLOT.closedList.key(node.key), closed)
  if (d.net.net.tells === true) d.event('each.closed', node.key, { ...closed })
  const at = { fire: s.fire, scope: s.up }
  const args = (): Json | null => s.args
  if (s.failed === 0) return succeedNode(d, node, at, args)
  const error: Failure = { code: 'items_failed', message: `${s.failed} of ${s.total} items failed` }
  if (work.tolerant !== true) return failNode(d, node, at, error, args)
  noteFailure(d, node.key, error, true)
  succeedNode(d, node, at, args)
}

function kindOf(json: Json): string {
  return json === null ? 'null' : typeof json
}
