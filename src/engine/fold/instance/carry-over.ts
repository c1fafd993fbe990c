/**
 * An instance that repeats another begins where that one failed, or at the place it goes back to: other finished work is
 * not repeated. Where every node fires once, the work of a node is found by its name. Where nodes fire several times, the
 * firings of a node are matched in their order (a slot records how far), and work is taken over only if its arguments are
 * the same.
 */

import type { PlaceAt } from '../../../model/queries/firings.ts'
import { markedMeta, marksOf } from '../../../model/retried-runs.ts'
import type { InstanceRow, RunRow } from '../../../model/rows.ts'
import { transitionOf } from '../../../model/run-transitions.ts'
import { type EarlierPlace, type GoingBack, partOf } from '../../../net/going-back.ts'
import { isChildRef } from '../../../net/lists.ts'
import type { Entries, Place } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'
import { firesOnce } from '../../../net/reach.ts'
import { sharedIn } from '../../../net/references.ts'
import { SLOT, type SlotKey } from '../../../net/slots.ts'
import { dereferencedJson, mayRefer } from '../dereference.ts'
import { NeedMore } from '../need.ts'
import { putSlot, slotIn, slotOf } from '../slots.ts'
import type { Member, Slots, WorkingSet } from '../working-set.ts'

type Repeating = Slots & Pick<WorkingSet, 'taken' | 'shared' | 'now'>

/**
 * A new run of an instance that repeats another: finished, if the earlier instance did this work; with edited arguments, if it
 * is the chosen place; otherwise as it was rendered.
 */
export function repeated(change: Repeating, member: Member, run: RunRow): RunRow {
  const { retryOf } = member.row
  if (retryOf === null || run.role !== 'work') return run
  const once = firesOnce(member.net)
  const back = goingBackOf(change, member, run, once)
  if (back?.path === null) return run
  const before = once ? onlyRun(change, member, run, retryOf) : matchingRun(change, member, run, retryOf)
  if (before === null) return run
  const part = partOf(member.net, back, placeIn(before))
  if (part === 'later') return run
  if (part === 'chosen' && back?.args !== undefined) return edited(run, JSON.stringify(back.args), retryOf)
  const marks = marksOf(before.meta)
  const again = marks.edited === true ? edited(run, before.payload, retryOf) : run
  if (part === 'chosen' || before.status !== 'succeeded') return again
  if (marks.kept !== true && wasUndone(change, member, before, once)) return again
  if (!once && marks.edited !== true && !hasSameArguments(change, member, run, before)) return run
  return takenOver(change, member, again, before, back?.fork === true || marks.kept === true)
}

/** `kept`: the earlier instance, or one before it, keeps the work, so it is not undone here. */
function takenOver(change: Repeating, member: Member, run: RunRow, before: RunRow, kept: boolean): RunRow {
  const set = entriesOf(change, before)
  const undoable = member.net.byKey.get(run.node ?? '')?.undo !== null
  if (set !== null || kept) {
    change.taken.set(run.id, { ...(set === null ? {} : { set }), ...(kept ? { kept } : {}) })
  }
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
    ...(kept && undoable ? { meta: markedMeta(run.meta, { kept: true }) } : {}),
  }
}

/** Marked, so that a retry of this instance keeps the edit. Arguments may name the instance that they are for. */
function edited(run: RunRow, args: string, earlierId: string): RunRow {
  const payload = args.replaceAll(earlierId, run.instanceId as string)
  return { ...run, payload, meta: markedMeta(run.meta, { edited: true }) }
}

function placeIn({ node, fire, item }: RunRow): EarlierPlace {
  return { node: node as string, fire, item }
}

/** Loaded together with what is needed next; null: it only begins where the earlier instance failed. */
function goingBackOf(
  change: Slots,
  member: Member,
  place: { readonly node: string | null; readonly item: number },
  once: boolean,
): GoingBack | null {
  const { id, retryOf } = member.row
  const back = slotIn(change, member, SLOT.goingBack.key)
  if (back !== undefined) return back as GoingBack | null
  const node = place.node as string
  const places = placesAround(member, { instanceId: retryOf as string, node, item: place.item })
  const keys = once ? [SLOT.goingBack.key] : [SLOT.goingBack.key, SLOT.matchedFirings.key(node)]
  throw new NeedMore({ slots: [{ instanceId: id, keys }], ...(once ? { places } : {}) })
}

/** What an instance that repeats another knows about a nested workflow at one of its places. */
export interface EarlierChild {
  /** It completed, and is taken over. `fork`: the earlier instance keeps it. */
  readonly done: { readonly id: string; readonly kept: boolean } | null
  /** It is repeated by the new one. */
  readonly row: InstanceRow | null
  readonly back: GoingBack | null
  /** Replaces its input. */
  readonly input?: Json
}

const NO_CHILD: EarlierChild = { done: null, row: null, back: null }

type Earlier = Slots & Pick<WorkingSet, 'asked'>

export function childBefore(change: Earlier, parent: Member, place: Place): EarlierChild {
  const { retryOf } = parent.row
  if (retryOf === null || place.role !== 'work') return NO_CHILD
  const once = firesOnce(parent.net)
  const back = goingBackOf(change, parent, place, once)
  if (back?.path === null) return NO_CHILD
  const found = once
    ? (onlyChild(change, parent, place, retryOf) ?? childTakenOver(change, place, retryOf))
    : matchingChild(change, parent, place, retryOf)
  const fire = found?.parentFire ?? 0
  const part = partOf(parent.net, back, { node: place.node, fire, item: place.item })
  if (part === 'later') return NO_CHILD
  if (part === 'chosen') return chosenChild(back as GoingBack, found)
  if (found === null) return NO_CHILD
  if (found.state !== 'completed') return unfinishedChild(change, found, back)
  const done = { node: place.node, fire, item: found.parentItem, instanceId: retryOf }
  const kept = back?.fork === true || keptBefore(change, found, retryOf)
  if (!kept && wasUndone(change, parent, done, once)) return NO_CHILD
  return { ...NO_CHILD, done: { id: found.id, kept } }
}

/** The earlier instance is a fork and did not do this work itself. */
function keptBefore(change: Slots, found: InstanceRow, retryOf: string): boolean {
  return found.parentId !== retryOf && slotOf(change, retryOf, SLOT.goingBack.key)?.fork === true
}

function chosenChild({ fork, path, args }: GoingBack, found: InstanceRow | null): EarlierChild {
  const inner = path?.slice(1) ?? []
  if (inner.length > 0 && found !== null) {
    return { done: null, row: found, back: { fork, path: inner, ...(args === undefined ? {} : { args }) } }
  }
  if (args === undefined) return NO_CHILD
  return { done: null, row: null, back: { fork, path: null, edited: true }, input: args }
}

/** Its own retry, with the input it had if that was edited. */
function unfinishedChild(change: Slots, found: InstanceRow, back: GoingBack | null): EarlierChild {
  const before = slotOf(change, found.id, SLOT.goingBack.key)
  const edited = before?.edited === true
  const own = back?.fork === true || edited
  return {
    done: null,
    row: found,
    back: own ? { fork: back?.fork === true, path: [], ...(edited ? { edited } : {}) } : null,
    ...(edited ? { input: slotOf(change, found.id, SLOT.input.key) } : {}),
  }
}

/** A nested workflow that the earlier instance had itself taken over belongs to a still earlier one. */
function childTakenOver(change: Earlier, { node, item }: Place, instanceId: string): InstanceRow | null {
  const key = item < 0 ? SLOT.result.key(node) : SLOT.itemResult.key(node, item)
  const value = slotOf<Json>(change, instanceId, key as SlotKey<Json>)
  if (value === null || !isChildRef(value)) return null
  const row = change.loaded.instances.get(value.$child)
  if (row !== undefined) return row.state === 'completed' ? row : null
  if (change.asked.has(value.$child)) return null
  change.asked.add(value.$child)
  throw new NeedMore({ instances: [value.$child] })
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
