/** Creates the row of a run for a place: its type and queue, its arguments, its policies. */

import { tenantLimitKey } from '../../../model/limits.ts'
import { storedFairKey } from '../../../model/queues/fair.ts'
import type { RunRow } from '../../../model/rows.ts'
import { transitionOf } from '../../../model/run-transitions.ts'
import type { ItemRun, Literal } from '../../../model/start.ts'
import type { Effect, Failure, Place } from '../../../net/marking.ts'
import type { EachWork, Json, Node, RunWork, Timeout } from '../../../net/net.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import { SLOT } from '../../../net/slots.ts'
import { dereferenced } from '../dereference.ts'
import { repeated } from '../instance/carry-over.ts'
import { NeedMore } from '../need.ts'
import { inputFailure } from '../node-schemas.ts'
import { slotOf } from '../slots.ts'
import type { Member, Members, Slots, WorkingSet } from '../working-set.ts'
import { INBOX_RETRY } from './retry-policy.ts'
import { blankRun } from './runs.ts'

type Creating = Members & Pick<WorkingSet, 'now' | 'results' | 'newRuns' | 'counted' | 'taken' | 'shared'>

/**
 * Literal arguments are stored in slots by chunks of nodes, so that a step reads a bounded amount however long the
 * chain is.
 */
const NODES_PER_CHUNK = 32

type RunEffect = Extract<Effect, { do: 'run' }>

export function runOf(change: Creating, member: Member, effect: RunEffect): RunRow {
  const { place } = effect
  const node = member.net.byKey.get(place.node) as Node
  const order =
    place.role === 'undo' ? undoOrder(change, member, node, effect) : workOrder(change, member, node, effect)
  const { work, retry } = order
  const { row } = member
  const unwritable = order.payload === null ? UNWRITABLE : null
  const run = blankRun()
  run.id = change.deps.newId()
  run.type = work.type
  run.status = transitionOf(null, 'create').to
  run.payload = order.payload ?? 'null'
  run.priority = work.priority
  run.runAt = Math.max(change.now + work.delayMs, order.runAt ?? 0)
  run.maxAttempts = (retry ?? INBOX_RETRY).maxAttempts
  run.createdAt = change.now
  run.queue = work.queue
  run.tenant = row.tenant
  run.instanceId = row.id
  run.rootId = row.rootId
  run.node = place.node
  run.fire = place.fire
  run.item = place.item
  run.role = place.role
  run.scope = place.scope
  run.timeoutMs = order.timeout?.ms ?? null
  run.timeoutPer = order.timeout?.per ?? 'attempt'
  run.expiresAt = order.expiresAt ?? null
  // The policy of the node is in the net; only that of an item may differ.
  run.retry = order.ownRetry === null ? null : JSON.stringify(order.ownRetry)
  run.limitKey = work.limitKey === null ? null : tenantLimitKey(work.limitKey, row.tenant)
  run.fairKey = work.fairKey === undefined ? row.fairKey : storedFairKey(work.fairKey, row.tenant)
  run.meta = order.meta === null ? null : JSON.stringify(order.meta)
  if (work.delayMs > 0 && run.runAt !== order.runAt) change.counted.set(run.id, { delay_ms: work.delayMs })
  if (unwritable !== null) return refused(change, member, run, unwritable)
  const given = repeated(change, member, run)
  if (given.status === 'succeeded') return given
  const misfit = inputFailure(change, given)
  return misfit === null ? given : refused(change, member, given, misfit)
}

/** Results of foreign clients may be nested more deeply than this process can serialise. */
const UNWRITABLE: Failure = {
  code: 'unstorable',
  message: 'its arguments cannot be written as JSON: a value in them is nested too deeply',
  retryable: false,
}

function textOf(value: Json | null): string | null {
  try {
    return JSON.stringify(value)
  } catch {
    return null
  }
}

/** Its arguments are not valid, or cannot be given to it: the run fails when it is created. */
function refused(change: Pick<WorkingSet, 'now'>, member: Member, run: RunRow, error: Failure): RunRow {
  return {
    ...run,
    status: transitionOf(run.status, 'refuse').to,
    lastError: error.message,
    error: JSON.stringify(error),
    finishedAt: change.now,
    settledAt: change.now,
    doneSeq: member.seq + 2,
  }
}

interface Order {
  readonly work: RunWork
  /** null: it cannot be serialised. */
  readonly payload: string | null
  readonly retry: Retry | null
  readonly ownRetry: Retry | null
  readonly timeout: Timeout | null
  readonly meta: Json | null
  readonly runAt?: number | undefined
  readonly expiresAt?: number | undefined
}

function workOrder(change: Slots, member: Member, node: Node, effect: RunEffect): Order {
  if (effect.place.item >= 0) {
    const body = (node.work as EachWork).body
    if (body !== null) return renderedOrder(node, body as RunWork, effect)
    return itemOrder(node, (effect.item as unknown as { readonly run: ItemRun }).run)
  }
  const work = node.work as RunWork
  if (effect.rendered) return renderedOrder(node, work, effect)
  const literal = literalOf(change, member, node.key)
  // Written out, because a spread with additions takes ten times as long, and every step of a chain passes here.
  return {
    work,
    payload: textOf(literal?.args ?? effect.args),
    retry: node.retry,
    ownRetry: null,
    timeout: node.timeout,
    meta: literal?.meta ?? null,
    runAt: literal?.runAt,
    expiresAt: literal?.expiresAt,
  }
}

function renderedOrder({ retry, timeout }: Node, work: RunWork, { args }: RunEffect): Order {
  return { work, payload: textOf(args), retry, ownRetry: null, timeout, meta: null }
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
      ...(item.fairKey === undefined ? {} : { fairKey: item.fairKey }),
    },
    payload: textOf(item.args ?? null),
    retry,
    ownRetry: item.retry ?? null,
    timeout: item.timeoutMs === undefined ? node.timeout : { ms: item.timeoutMs, per: 'attempt' },
    meta: item.meta ?? null,
    runAt: item.runAt,
    expiresAt: item.expiresAt,
  }
}

/** An undo receives the arguments and the result of the work, unless its author specifies other arguments. */
function undoOrder(
  change: Slots & Pick<WorkingSet, 'results' | 'newRuns'>,
  member: Member,
  node: Node,
  effect: RunEffect,
): Order {
  const { undo } = node
  if (undo === null) throw new Error(`node '${node.key}' has no undo`)
  const policy = { work: undo.work, retry: undo.retry, ownRetry: null, timeout: undo.timeout, meta: null }
  if (effect.rendered && undo.given === undefined) return { ...policy, payload: textOf(effect.args) }
  const { item, fire } = effect.place
  const done = doneAt(change, member, effect.place)
  const given = dereferenced(change, member, done?.payload ?? 'null')
  if (effect.rendered) {
    return { ...policy, payload: textOf(withAt(effect.args, undo.given ?? [], JSON.parse(given) as Json)) }
  }
  const key = `${member.row.id}/${node.key}`
  const fresh = item < 0 ? change.results.at(key, fire) : change.results.items(key, fire)?.get(item)
  const result = fresh ?? done?.result ?? 'null'
  return { ...policy, payload: `{"args":${given},"result":${result}}` }
}

/** The run whose work is undone; one that was created in this transaction is not stored yet. */
function doneAt(
  change: Pick<WorkingSet, 'loaded' | 'newRuns'>,
  member: Member,
  { node, fire, item }: Place,
): RunRow | null {
  const instanceId = member.row.id
  const stored = change.loaded.placesAt.get(`${instanceId}/${node}/${fire}/${item}`)
  if (stored === undefined) throw new NeedMore({ placesAt: [{ instanceId, node, fire, item }] })
  if (stored !== null) return stored
  for (const run of change.newRuns.values()) {
    if (run.instanceId === instanceId && run.node === node && run.fire === fire && run.item === item) {
      if (run.role === 'work') return run
    }
  }
  return null
}

function withAt(value: Json | null, path: readonly string[], given: Json): Json {
  const [key, ...rest] = path
  if (key === undefined) return given
  const object = (value ?? {}) as { readonly [key: string]: Json }
  return { ...object, [key]: withAt(object[key] ?? null, rest, given) }
}

export function literalOf(change: Slots, member: Member, node: string): Literal | null {
  const chunk = slotOf(change, member.row.id, SLOT.literals.key(chunkOf(member, node)))
  return (chunk?.[node] ?? null) as Literal | null
}

export function chunkOf(member: { readonly net: Member['net'] }, node: string): number {
  return Math.floor((member.net.position.get(node) ?? 0) / NODES_PER_CHUNK)
}
