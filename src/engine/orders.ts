/** From "run this place" to a row: which type and queue, which arguments, which policies. */
import type { Effect } from '../net/marking.ts'
import type { EachWork, Json, Node, Retry, RunWork, Timeout } from '../net/net.ts'
import type { RunRow } from '../store/rows.ts'
import type { ItemRun, Literal } from './api.ts'
import { INBOX_RETRY } from './backoff.ts'
import type { Change, Member } from './change.ts'
import { NeedMore } from './need.ts'
import { inputFailure } from './node-schemas.ts'

/** Literal arguments lie in slots by chunks of nodes, so that a step reads a bounded piece however long the chain. */
const NODES_PER_CHUNK = 32

type RunEffect = Extract<Effect, { do: 'run' }>

export function runOf(change: Change, member: Member, effect: RunEffect): RunRow {
  const { place } = effect
  const node = member.net.byKey.get(place.node) as Node
  const order =
    place.role === 'undo' ? undoOrder(change, member, node, effect) : workOrder(change, member, node, effect)
  const { work, retry } = order
  const { row } = member
  // Written out, not spread over defaults: every step makes one.
  const run: RunRow = {
    id: change.deps.newId(),
    type: work.type,
    payload: order.payload,
    status: 'pending',
    priority: work.priority,
    runAt: Math.max(change.now + work.delayMs, order.runAt ?? 0),
    idempotencyKey: null,
    attempt: 0,
    maxAttempts: (retry ?? INBOX_RETRY).maxAttempts,
    leasedBy: null,
    leaseUntil: null,
    leaseMs: null,
    lastError: null,
    result: null,
    createdAt: change.now,
    deletedAt: null,
    queue: work.queue,
    tenant: row.tenant,
    instanceId: row.id,
    rootId: row.rootId,
    node: place.node,
    fire: place.fire,
    item: place.item,
    role: place.role,
    scope: place.scope,
    epoch: 0,
    sessionId: null,
    deliveries: 0,
    leasedAt: null,
    startedAt: null,
    firstStartedAt: null,
    finishedAt: null,
    settledAt: null,
    doneSeq: null,
    reportId: null,
    deferred: false,
    unknown: false,
    timeoutMs: order.timeout?.ms ?? null,
    timeoutPer: order.timeout?.per ?? 'attempt',
    timeoutAt: null,
    expiresAt: order.expiresAt ?? null,
    // The net has the node's own policy; only an item's differs from it.
    retry: order.ownRetry === null ? null : JSON.stringify(order.ownRetry),
    error: null,
    limitKey: work.limitKey,
    uniqueKey: null,
    deadLetter: false,
    cancelRequestedAt: null,
    meta: order.meta === null ? null : JSON.stringify(order.meta),
    inbox: false,
  }
  return takenOver(change, member, run) ?? refused(change, member, run) ?? run
}

/** What it would be given does not fit: it has failed as it is born. */
function refused(change: Change, member: Member, run: RunRow): RunRow | null {
  const error = inputFailure(change, run)
  if (error === null) return null
  return {
    ...run,
    status: 'failed',
    lastError: error.message,
    error: JSON.stringify(error),
    finishedAt: change.now,
    settledAt: change.now,
    doneSeq: member.seq + 2,
  }
}

interface Order {
  readonly work: RunWork
  readonly payload: string
  readonly retry: Retry | null
  readonly ownRetry: Retry | null
  readonly timeout: Timeout | null
  readonly meta: Json | null
  readonly runAt?: number | undefined
  readonly expiresAt?: number | undefined
}

function workOrder(change: Change, member: Member, node: Node, effect: RunEffect): Order {
  const policy = { retry: node.retry, ownRetry: null, timeout: node.timeout, meta: null }
  if (effect.place.item >= 0) {
    const body = (node.work as EachWork).body
    if (body !== null) {
      const payload = JSON.stringify(effect.rendered ? effect.args : effect.item)
      return { ...policy, work: body as RunWork, payload }
    }
    return itemOrder(node, (effect.item as unknown as { readonly run: ItemRun }).run)
  }
  const work = node.work as RunWork
  if (effect.rendered) return { ...policy, work, payload: JSON.stringify(effect.args) }
  const literal = literalOf(change, member, node.key)
  return {
    ...policy,
    work,
    payload: JSON.stringify(literal?.args ?? effect.args),
    meta: literal?.meta ?? null,
    runAt: literal?.runAt,
    expiresAt: literal?.expiresAt,
  }
}

function itemOrder(node: Node, item: ItemRun): Order {
  const retry = item.retry ?? node.retry
  return {
    work: {
      kind: 'run',
      type: item.type,
      queue: item.queue ?? 'default',
      priority: item.priority ?? 100,
      delayMs: item.delayMs ?? 0,
      args: null,
      limitKey: item.limitKey ?? null,
    },
    payload: JSON.stringify(item.args ?? null),
    retry,
    ownRetry: item.retry ?? null,
    timeout: item.timeoutMs === undefined ? node.timeout : { ms: item.timeoutMs, per: 'attempt' },
    meta: item.meta ?? null,
    runAt: item.runAt,
    expiresAt: item.expiresAt,
  }
}

/** An undo is given what the work was given and what it returned, unless its author says otherwise. */
function undoOrder(change: Change, member: Member, node: Node, effect: RunEffect): Order {
  const { undo } = node
  if (undo === null) throw new Error(`node '${node.key}' has no undo`)
  const policy = { work: undo.work, retry: undo.retry, ownRetry: null, timeout: undo.timeout, meta: null }
  if (effect.rendered && undo.given === undefined) return { ...policy, payload: JSON.stringify(effect.args) }
  const { item } = effect.place
  const done = doneAt(change, member, node.key, item)
  if (effect.rendered) {
    const given = JSON.parse(done?.payload ?? 'null') as Json
    return { ...policy, payload: JSON.stringify(withAt(effect.args, undo.given ?? [], given)) }
  }
  const key = `${member.row.id}/${node.key}`
  const fresh = item < 0 ? change.results.get(key) : change.itemResults.get(key)?.get(item)
  const result = fresh ?? done?.result ?? 'null'
  return { ...policy, payload: `{"args":${done?.payload ?? 'null'},"result":${result}}` }
}

/** The run whose work is undone; one born in this very transaction is not in the store yet. */
function doneAt(change: Change, member: Member, node: string, item: number): RunRow | null {
  const instanceId = member.row.id
  const stored = change.loaded.places.get(`${instanceId}/${node}/${item}`)
  if (stored === undefined) throw new NeedMore({ places: [{ instanceId, node, item }] })
  if (stored !== null) return stored
  for (const run of change.newRuns.values()) {
    if (run.instanceId === instanceId && run.node === node && run.item === item && run.role === 'work') return run
  }
  return null
}

function withAt(value: Json | null, path: readonly string[], given: Json): Json {
  const [key, ...rest] = path
  if (key === undefined) return given
  const object = (value ?? {}) as { readonly [key: string]: Json }
  return { ...object, [key]: withAt(object[key] ?? null, rest, given) }
}

/** An instance that retries another begins where that one failed: what it had finished is not done again. */
function takenOver(change: Change, member: Member, run: RunRow): RunRow | null {
  const { retryOf } = member.row
  if (retryOf === null || run.role !== 'work') return null
  const key = { instanceId: retryOf, node: run.node as string, item: run.item }
  const before = change.loaded.places.get(`${key.instanceId}/${key.node}/${key.item}`)
  if (before === undefined) throw new NeedMore({ places: placesAround(member, key) })
  if (before === null || before.status !== 'succeeded' || wasUndone(change, member, key)) return null
  return {
    ...run,
    payload: before.payload,
    status: 'succeeded',
    result: before.result,
    attempt: before.attempt,
    startedAt: before.startedAt,
    firstStartedAt: before.firstStartedAt,
    finishedAt: before.finishedAt,
    settledAt: change.now,
    doneSeq: member.seq + 2,
  }
}

/** Whether a rollback of the earlier instance took this back, or tried to: a place leaves its list when its undo begins. */
export function wasUndone(change: Change, { net }: Member, { instanceId, node, item }: PlaceKey): boolean {
  if (net.byKey.get(node)?.undo === null) return false
  const earlier = change.loaded.instances.get(instanceId)
  if (earlier === undefined) throw new NeedMore({ instances: [instanceId] })
  if (earlier.outcome !== 'rolled_back_partial') return earlier.outcome === 'rolled_back'
  const left = change.loaded.slotsWith.get(`${instanceId}/u:`)
  if (left === undefined) throw new NeedMore({ slotsWith: [{ instanceId, prefix: 'u:' }] })
  return !left.some(({ value }) => {
    const place = JSON.parse(value) as { readonly node: string; readonly item: number }
    return place.node === node && place.item === item
  })
}

/** Places of an earlier instance looked up at a time: every one of thousands will be asked for next. */
const PLACES_AT_ONCE = 500

export interface PlaceKey {
  readonly instanceId: string
  readonly node: string
  readonly item: number
}

/** The place asked for and its neighbours: nodes in the order of the net, or items of the same list. */
export function placesAround({ net }: Pick<Member, 'net'>, { instanceId, node, item }: PlaceKey): readonly PlaceKey[] {
  const portion = (at: number): number => at - (at % PLACES_AT_ONCE)
  if (item >= 0) {
    return Array.from({ length: PLACES_AT_ONCE }, (_, i) => ({ instanceId, node, item: portion(item) + i }))
  }
  const first = portion(net.position.get(node) ?? 0)
  return net.net.nodes.slice(first, first + PLACES_AT_ONCE).map(({ key }) => ({ instanceId, node: key, item: -1 }))
}

export function literalOf(change: Change, member: Member, node: string): Literal | null {
  const key = `a:${chunkOf(member, node)}`
  const chunk = change.facts(member).slot(key)
  if (chunk === undefined) throw new NeedMore({ slots: [{ instanceId: member.row.id, keys: [key] }] })
  return ((chunk as { readonly [node: string]: Literal } | null)?.[node] ?? null) as Literal | null
}

export function chunkOf(member: { readonly net: Member['net'] }, node: string): number {
  return Math.floor((member.net.position.get(node) ?? 0) / NODES_PER_CHUNK)
}
