/** Runs that are enqueued: read and checked before the transaction, and added by it unless their key or id is taken. */

import { inputError, PetrelError } from '../../kernel/errors.ts'
import { isId } from '../../kernel/ids.ts'
import { storableText } from '../../kernel/json-limits.ts'
import { MAX_IDEMPOTENCY_KEY_LENGTH, MAX_INBOX_ATTEMPTS, MAX_TYPE_LENGTH } from '../../kernel/limits.ts'
import { storedKey, unscopedName } from '../../kernel/scoped-names.ts'
import type { Enqueued, EnqueueParams } from '../../model/enqueue.ts'
import { VERSIONED } from '../../model/inbox.ts'
import { checkLimit, tenantLimit, tenantLimitKey } from '../../model/limits.ts'
import { checkFairKey, storedFairKey } from '../../model/queues/fair.ts'
import type { RunRow } from '../../model/rows.ts'
import { checkedTags } from '../../model/search/terms.ts'
import type { Need } from '../../model/transaction.ts'
import { problemsOfRetry, type Retry } from '../../net/retry/retry.ts'
import { addRun, findRun } from '../fold/run/changed-runs.ts'
import { INBOX_RETRY } from '../fold/run/retry-policy.ts'
import { newRun } from '../fold/run/runs.ts'
import { claimUnique, uniqueKeyOf } from '../fold/run/unique-keys.ts'
import { recordTags } from '../fold/terms.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import { idTaken, needOfRules } from './first-look.ts'

export interface Order {
  readonly params: EnqueueParams
  readonly run: RunRow
  readonly bytes: number
}

export interface OrderDeps {
  readonly newId: () => string
  readonly maxPayloadBytes: number
}

export function orderOf(params: EnqueueParams, index: number, { newId, maxPayloadBytes }: OrderDeps): Order {
  const place = `enqueue[${index}]`
  if (typeof params.type !== 'string' || params.type === '') {
    throw inputError('invalid_request', `${place}.type`, "a run needs a type, e.g. 'email.send'")
  }
  if (params.inbox === true) checkInboxRun(params, place)
  const path = `${place}.payload`
  const payload = storableText(params.payload, path, maxPayloadBytes, { path })
  const retry: Retry = {
    ...INBOX_RETRY,
    ...params.retry,
    ...(params.maxAttempts === undefined ? {} : { maxAttempts: params.maxAttempts }),
  }
  if (!(Number.isInteger(retry.maxAttempts) && retry.maxAttempts >= 1)) {
    throw inputError('invalid_request', `${place}.maxAttempts`, 'a whole number of at least 1')
  }
  const [problem] = params.retry === undefined ? [] : problemsOfRetry(retry)
  if (problem !== undefined) throw inputError('invalid_request', `${place}.retry.${problem.field}`, problem.rule)
  if (params.id !== undefined && !isId(params.id)) {
    throw inputError('invalid_request', `${place}.id`, `a UUID in lower case, e.g. ${newId()}`)
  }
  for (const limit of params.limits ?? []) checkLimit(limit)
  if (params.fairKey !== undefined) checkFairKey(params.fairKey, `${place}.fairKey`)
  if (params.tags !== undefined) checkedTags(params.tags, `${place}.tags`)
  if (params.priority !== undefined && !Number.isInteger(params.priority)) {
    throw inputError('invalid_request', `${place}.priority`, 'a whole number, smaller runs earlier')
  }
  const now = params.runAt ?? 0
  const run = newRun(
    { id: params.id ?? newId(), type: params.type, payload, now },
    {
      queue: params.queue ?? 'default',
      priority: params.priority ?? 100,
      maxAttempts: retry.maxAttempts,
      retry: params.retry === undefined ? null : JSON.stringify(retry),
      timeoutMs: params.timeoutMs ?? null,
      expiresAt: params.expiresAt ?? null,
      idempotencyKey: storedKey(params.idempotencyKey, params.tenant),
      uniqueKey: params.unique === undefined ? null : uniqueKeyOf(params.unique, params.tenant),
      limitKey: tenantLimitKey(params.limitKey ?? null, params.tenant ?? null),
      fairKey: storedFairKey(params.fairKey, params.tenant),
      tenant: params.tenant ?? null,
      meta: params.meta === undefined ? null : storableText(params.meta, `enqueue[${index}].meta`, maxPayloadBytes),
      inbox: params.inbox ?? false,
    },
  )
  return { params, run, bytes: payload.length + 300 }
}

export function needOfOrders(orders: readonly Order[], unsure: boolean): Need {
  const idempotencyKeys = orders.flatMap((o) => o.run.idempotencyKey ?? [])
  const uniques = orders.flatMap((o) => o.run.uniqueKey ?? [])
  return {
    ...(idempotencyKeys.length === 0 ? {} : { idempotencyKeys }),
    ...(uniques.length === 0 ? {} : { uniques }),
    ...runsToKnow(orders, unsure),
    ...needOfRules(
      orders.map((o) => o.run),
      orders,
    ),
  }
}

/** An id that the caller chose may be taken; a generated one only by an earlier commit of this call. */
function runsToKnow(orders: readonly Order[], unsure: boolean): Need {
  const ids = orders.filter((o) => unsure || o.params.id !== undefined).map((o) => o.run.id)
  return ids.length === 0 ? {} : { runs: ids }
}

export function placeOrder(change: WorkingSet, order: Order, taken: Map<string, string>, unsure: boolean): Enqueued {
  const { params } = order
  const known = change.loaded.runs.get(order.run.id)
  // After an uncertain commit, an equal run is the one that this call created.
  if (known !== undefined && unsure && same(known, order.run)) return { id: known.id, created: true, run: known }
  if (known !== undefined) throw idTaken('run', known.id)
  if (params.id !== undefined) {
    if (taken.has(`id ${params.id}`)) throw idTaken('run', params.id)
    taken.set(`id ${params.id}`, params.id)
  }
  const { idempotencyKey: key } = order.run
  if (key !== null) {
    const { idempotencyKeys, keptKeys } = change.loaded
    const run = idempotencyKeys.get(key) ?? null
    if (run !== null) checkSameRun(run, order.run)
    const holder = run?.id ?? keptKeys?.get(key) ?? taken.get(key)
    if (holder !== undefined) return { id: holder, created: false, run: run ?? findRun(change, holder) ?? null }
    taken.set(key, order.run.id)
  }
  const { uniqueKey } = order.run
  const unique = params.unique === undefined || uniqueKey === null ? null : { ...params.unique, key: uniqueKey }
  const claimed = unique === null ? null : claimUnique(change, order.run.id, unique, taken)
  if (claimed?.holder != null) return { id: claimed.holder.id, created: false, run: claimed.holder }
  const runAt = claimed?.runAt ?? params.runAt ?? change.now + (params.delayMs ?? 0)
  const run: RunRow = {
    ...order.run,
    createdAt: change.now,
    runAt: Math.max(runAt, change.now),
    ...(params.expiresInMs === undefined ? {} : { expiresAt: change.now + params.expiresInMs }),
  }
  for (const limit of params.limits ?? []) change.admission.set(tenantLimit(limit, params.tenant))
  const { delayMs = 0, expiresInMs } = params
  const counted = {
    ...(delayMs > 0 && !claimed?.runAt ? { delay_ms: delayMs } : {}),
    ...(expiresInMs === undefined ? {} : { expires_in_ms: expiresInMs }),
  }
  if (Object.keys(counted).length > 0) change.counted.set(run.id, counted)
  addRun(change, run, params.actor)
  if (params.tags !== undefined) recordTags(change, run, params.tags)
  return { id: run.id, created: true, run, ...(claimed?.replaced == null ? {} : { replaced: claimed.replaced }) }
}

function same(a: RunRow, b: RunRow): boolean {
  return a.type === b.type && a.queue === b.queue && a.idempotencyKey === b.idempotencyKey
}

/** A key returns the run it was first used for, but never a run of another type or tenant. */
function checkSameRun(holder: RunRow, { type, tenant }: RunRow): void {
  if (holder.type === type && holder.tenant === tenant) return
  const key = unscopedName(holder.idempotencyKey)
  const details = { field: 'idempotency_key', key, ...(holder.tenant === tenant ? { existing: holder.id } : {}) }
  throw new PetrelError('duplicate', `idempotency key '${key}' belongs to another run, of type ${holder.type}`, details)
}

/**
 * The rules of the inbox for a run; the triggers of both stores enforce them for an INSERT. `place`: such as
 * `enqueue[0]`.
 */
function checkInboxRun(params: EnqueueParams, place: string): void {
  const { type, queue, idempotencyKey: key, maxAttempts } = params
  if (!VERSIONED.test(type)) refuse(`${place}.type`, `must be dotted and end in a version such as .v1, not "${type}"`)
  for (const [name, value] of Object.entries({ type, queue })) {
    if (value !== undefined && (value === '' || value.length > MAX_TYPE_LENGTH)) {
      refuse(`${place}.${name}`, `must have 1 to ${MAX_TYPE_LENGTH} characters`)
    }
  }
  if (typeof key === 'string' && (key === '' || [...key].length > MAX_IDEMPOTENCY_KEY_LENGTH)) {
    refuse(`${place}.idempotencyKey`, `must have 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} characters`)
  }
  if (maxAttempts !== undefined && maxAttempts > MAX_INBOX_ATTEMPTS) {
    refuse(`${place}.maxAttempts`, `must be at most ${MAX_INBOX_ATTEMPTS}`)
  }
}

function refuse(path: string, rule: string): never {
  throw inputError('invalid_request', path, rule)
}
