/**
 * An instance that retries another begins where that one failed: finished work is not repeated. Where every node fires
 * once, the work of a node is found by its name. Where nodes fire several times, the firings of a node are matched in
 * their order (a slot records how far), and work is taken over only if its arguments are the same.
 */

import type { PlaceAt } from '../../../model/queries/firings.ts'
import type { InstanceRow, RunRow } from '../../../model/rows.ts'
import { transitionOf } from '../../../model/run-transitions.ts'
import type { CompiledNet } from '../../../net/compile.ts'
import type { Entries, Place } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'
import { sharedIn } from '../../../net/references.ts'
import { SLOT, type SlotKey } from '../../../net/slots.ts'
import { findCycle } from '../../../net/validate/validate.ts'
import { dereferencedJson, mayRefer } from '../dereference.ts'
import { NeedMore } from '../need.ts'
import { putSlot, slotOf } from '../slots.ts'
import type { Member, Slots, WorkingSet } from '../working-set.ts'

/** The run as the earlier instance finished it; null: the work must be done again. */
export function takenOver(
  change: Slots & Pick<WorkingSet, 'taken' | 'shared' | 'now'>,
  member: Member,
  run: RunRow,
): RunRow | null {
  const { retryOf } = member.row
  if (retryOf === null || run.role !== 'work') return null
  const once = firesOnce(member.net)
  const before = once ? onlyRun(change, member, run, retryOf) : matchingRun(change, member, run, retryOf)
  if (before === null || before.status !== 'succeeded' || wasUndone(change, member, before, once)) return null
  if (!once && !hasSameArguments(change, member, run, before)) return null
  const set = entriesOf(change, before)
  if (set !== null) change.taken.set(run.id, set)
  return {
    ...run,
    // Arguments that are stored separately are stored in the other instance.
    payload: member.net.keepsAside && mayRefer(before.payload) ? run.payload : before.payload,
    status: transitionOf(run.status, 'take_over').to,
    result: before.result,
    attempt: before.attempt,
    startedAt: before.startedAt,
    firstStartedAt: before.firstStartedAt,
    finishedAt: before.finishedAt,
    settledAt: change.now,
    doneSeq: member.seq + 2,
  }
}

/** The child that the earlier instance had at this place; null: there was none, or it must not be taken over. */
export function childBefore(change: Slots, parent: Member, place: Place): InstanceRow | null {
  const { retryOf } = parent.row
  if (retryOf === null || place.role !== 'work') return null
  const once = firesOnce(parent.net)
  const found = once ? onlyChild(change, parent, place, retryOf) : matchingChild(change, parent, place, retryOf)
  if (found?.state !== 'completed') return found
  const { parentFire: fire, parentItem: item } = found
  return wasUndone(change, parent, { node: place.node, fire, item, instanceId: retryOf }, once) ? null : found
}

function onlyRun(change: Pick<WorkingSet, 'loaded'>, member: Member, run: RunRow, instanceId: string): RunRow | null {
  const key = { instanceId, node: run.node as string, item: run.item }
  const found = change.loaded.places.get(`${key.instanceId}/${key.node}/${key.item}`)
  if (found === undefined) throw new NeedMore({ places: placesAround(member, key) })
  return found
}

function onlyChild(
  change: Pick<WorkingSet, 'loaded'>,
  parent: Member,
  { node, item }: Place,
  instanceId: string,
): InstanceRow | null {
  const key = { instanceId, node, item }
  const found = change.loaded.childPlaces.get(`${key.instanceId}/${key.node}/${key.item}`)
  if (found === undefined) throw new NeedMore({ childPlaces: placesAround(parent, key) })
  return found
}

function matchingRun(change: Slots, member: Member, run: RunRow, instanceId: string): RunRow | null {
  const node = run.node as string
  const fire = earlierFire(change, member, node, run.fire)
  if (fire === null) return null
  const found = change.loaded.placesAt.get(`${instanceId}/${node}/${fire}/${run.item}`)
  if (found === undefined) throw new NeedMore({ placesAt: itemsAround({ instanceId, node, fire, item: run.item }) })
  return found
}

function matchingChild(
  change: Slots,
  parent: Member,
  { node, fire, item }: Place,
  instanceId: string,
): InstanceRow | null {
  const earlier = earlierFire(change, parent, node, fire)
  if (earlier === null) return null
  const found = change.loaded.childPlacesAt.get(`${instanceId}/${node}/${earlier}/${item}`)
  if (found === undefined) throw new NeedMore({ childPlacesAt: itemsAround({ instanceId, node, fire: earlier, item }) })
  return found
}

/** How many firings of a list may be open at the same time and still be matched. */
const PAIRS_KEPT = 20

/** The firing of the earlier instance that this firing repeats: the first one not matched yet. */
function earlierFire(change: Slots, member: Member, node: string, fire: number): number | null {
  const { id, retryOf } = member.row
  const key = SLOT.matchedFirings.key(node)
  const matched = slotOf(change, id, key) ?? { last: 0, pairs: [] }
  const pair = matched.pairs.find(([own]) => own === fire)
  if (pair !== undefined) return pair[1]
  if (matched.last === null) return null
  const wanted = { instanceId: retryOf as string, node, after: matched.last }
  const next = change.loaded.nextFires.get(`${wanted.instanceId}/${node}/${wanted.after}`)
  if (next === undefined) throw new NeedMore({ nextFires: [wanted] })
  const pairs = [...matched.pairs.slice(1 - PAIRS_KEPT), [fire, next] as const]
  putSlot(member, key, { last: next, pairs })
  return next
}

/** Whether it is the same type of work with the same arguments, apart from the instance they name. */
function hasSameArguments(
  change: Slots & Pick<WorkingSet, 'shared'>,
  { net }: Member,
  run: RunRow,
  before: RunRow,
): boolean {
  const ids = { own: run.instanceId as string, earlier: before.instanceId as string }
  if (run.type !== before.type) return false
  const payloads = [JSON.parse(run.payload) as Json, JSON.parse(before.payload) as Json] as const
  if (!net.keepsAside) return equal(...payloads, ids)
  const [own, earlier] = [sharedIn(payloads[0]), sharedIn(payloads[1])]
  if (own.key === null || earlier.key === null) {
    return equal(
      dereferencedJson(change, ids.own, payloads[0]),
      dereferencedJson(change, ids.earlier, payloads[1]),
      ids,
    )
  }
  return equal(own.own, earlier.own, ids) && sharesTheSame(change, own.key, earlier.key, ids)
}

interface Ids {
  readonly own: string
  readonly earlier: string
}

/** Compared once per transaction, however many items share the arguments. */
function sharesTheSame(
  change: Slots & Pick<WorkingSet, 'shared'>,
  own: SlotKey<Json>,
  earlier: SlotKey<Json>,
  ids: Ids,
): boolean {
  const pair = `${ids.own}/${own} ${ids.earlier}/${earlier}`
  const known = change.shared.get(pair)
  if (known !== undefined) return known
  const same = equal(slotOf(change, ids.own, own), slotOf(change, ids.earlier, earlier), ids)
  change.shared.set(pair, same)
  return same
}

function equal(own: Json, earlier: Json, ids: Ids): boolean {
  if (typeof own === 'string' && typeof earlier === 'string') {
    return own === earlier || own === earlier.replaceAll(ids.earlier, ids.own)
  }
  if (own === null || earlier === null || typeof own !== 'object' || typeof earlier !== 'object') return own === earlier
  if (Array.isArray(own) !== Array.isArray(earlier)) return false
  const keys = Object.keys(own)
  if (keys.length !== Object.keys(earlier).length) return false
  const [a, b] = [own, earlier] as [Entries, Entries]
  return keys.every((key) => Object.hasOwn(b, key) && equal(a[key] as Json, b[key] as Json, ids))
}

/** Context entries that its worker wrote. */
function entriesOf(change: Pick<WorkingSet, 'loaded'>, run: RunRow): Entries | null {
  const instanceId = run.instanceId as string
  const text = change.loaded.slots.get(`${instanceId}/${SLOT.entries.key(run)}`)
  if (text === undefined) throw new NeedMore({ slots: [{ instanceId, keys: entriesKeys(change, instanceId) }] })
  return text === null ? null : (JSON.parse(text) as Entries)
}

/** Loads the entries of all loaded work of that instance, since they are needed next. */
function entriesKeys({ loaded }: Pick<WorkingSet, 'loaded'>, instanceId: string): readonly string[] {
  const done = [...loaded.places.values(), ...loaded.placesAt.values()].flatMap((run) =>
    run?.instanceId === instanceId && run.status === 'succeeded' ? SLOT.entries.key(run) : [],
  )
  return [...new Set(done)].filter((key) => !loaded.slots.has(`${instanceId}/${key}`))
}

type Done = Pick<RunRow, 'instanceId' | 'node' | 'fire' | 'item'>

/**
 * Whether a rollback of the earlier instance undid this work, or tried to: a place leaves the undo list when its undo
 * begins.
 */
function wasUndone(change: Pick<WorkingSet, 'loaded'>, { net }: Member, done: Done, once: boolean): boolean {
  const { node, fire, item } = done
  const instanceId = done.instanceId as string
  if (net.byKey.get(node ?? '')?.undo === null) return false
  const earlier = change.loaded.instances.get(instanceId)
  if (earlier === undefined) throw new NeedMore({ instances: [instanceId] })
  if (earlier.outcome !== 'rolled_back_partial') return earlier.outcome === 'rolled_back'
  const left = change.loaded.slotsWith.get(`${instanceId}/${SLOT.undo.prefix}`)
  if (left === undefined) throw new NeedMore({ slotsWith: [{ instanceId, prefix: SLOT.undo.prefix }] })
  return !left.some(({ value }) => {
    const place = JSON.parse(value) as Place
    return place.node === node && place.item === item && (once || place.fire === fire)
  })
}

/** How many places of an earlier instance are looked up at once, since its neighbours are needed next. */
const PLACES_AT_ONCE = 500

interface PlaceKey {
  readonly instanceId: string
  readonly node: string
  readonly item: number
}

/** A place and its neighbours: nodes in the order of the net, or items of the same list. */
function placesAround({ net }: Pick<Member, 'net'>, { instanceId, node, item }: PlaceKey): readonly PlaceKey[] {
  if (item >= 0) return portion(item).map((at) => ({ instanceId, node, item: at }))
  const at = net.position.get(node) ?? 0
  const first = at - (at % PLACES_AT_ONCE)
  return net.net.nodes.slice(first, first + PLACES_AT_ONCE).map(({ key }) => ({ instanceId, node: key, item: -1 }))
}

function itemsAround(place: PlaceAt): readonly PlaceAt[] {
  return place.item < 0 ? [place] : portion(place.item).map((item) => ({ ...place, item }))
}

function portion(item: number): readonly number[] {
  const first = item - (item % PLACES_AT_ONCE)
  return Array.from({ length: PLACES_AT_ONCE }, (_, i) => first + i)
}

const once = new WeakMap<CompiledNet, boolean>()

/** Whether every node fires at most once: no cycle, and no node that more than one token can reach. */
function firesOnce(net: CompiledNet): boolean {
  const known = once.get(net)
  if (known !== undefined) return known
  const { nodes, entry } = net.net
  const entries = new Set(entry)
  const several = nodes.some(({ key, join }) => {
    const ways = (net.inDegree.get(key) ?? 0) + (entries.has(key) ? 1 : 0)
    return join === 'scope' || (join !== 'count' && ways > 1)
  })
  const targets = (key: string) => (net.byKey.get(key)?.next.arcs ?? []).flatMap(({ to }) => net.byKey.get(to) ?? [])
  const answer = !several && findCycle(nodes, ({ key }) => targets(key)) === null
  once.set(net, answer)
  return answer
}
