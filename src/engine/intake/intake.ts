/** Work comes in: bare runs and instances, checked at the edge, many calls in one transaction. */

import { inputError, PetrelError } from '../../kernel/errors.ts'
import { isId } from '../../kernel/ids.ts'
import { storableText } from '../../kernel/json-limits.ts'
import { MAX_BATCH_BYTES } from '../../kernel/limits.ts'
import { storedKey, unscopedName } from '../../kernel/scoped-names.ts'
import type { Enqueued, EnqueueParams } from '../../model/enqueue.ts'
import { checkLimit, limitKeys, slotKey, tenantLimit, tenantLimitKey } from '../../model/limits.ts'
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import type { Started, StartParams } from '../../model/start.ts'
import type { Need } from '../../model/transaction.ts'
import type { Json } from '../../net/net.ts'
import { problemsOfRetry, type Retry } from '../../net/retry/retry.ts'
import type { Store } from '../../store/store.ts'
import { foldPending } from '../fold/happenings.ts'
import { createInstance } from '../fold/instance/instance-creation.ts'
import { quotaNeed } from '../fold/quotas.ts'
import { addRun, findRun } from '../fold/run/changed-runs.ts'
import { INBOX_RETRY } from '../fold/run/retry-policy.ts'
import { newRun } from '../fold/run/runs.ts'
import { claimUnique, uniqueKeyOf } from '../fold/run/unique-keys.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import { Batcher } from '../transaction/batcher.ts'
import type { Offer } from '../transaction/handoff.ts'
import type { Nets } from '../transaction/nets.ts'
import type { Transactor } from '../transaction/transactor.ts'
import { checkInboxRun } from './inbox-run.ts'
import { checkGiven, checkStart, type StartLimits } from './start-check.ts'
import { ALONE, type How, together } from './together.ts'

const MOST = 1000

export interface IntakeDeps extends StartLimits {
  readonly store: Store
  readonly transactor: Transactor
  readonly nets: Nets
  readonly newId: () => string
  readonly offers: () => readonly Offer[]
}

interface Order {
  readonly params: EnqueueParams
  readonly run: RunRow
  readonly bytes: number
}

type FirstOrder = { readonly queue: string; readonly limitKey: string | null }

interface Birthing {
  readonly params: StartParams
  readonly id: string
  /** As stored. */
  readonly startKey: string | null
  readonly hash: string
  readonly hashes: readonly string[]
  readonly bytes: number
}

export class Intake {
  readonly #deps: IntakeDeps
  readonly #enqueues: Batcher<readonly Order[], readonly Enqueued[]>
  readonly #starts: Batcher<readonly Birthing[], readonly Started[]>

  constructor(deps: IntakeDeps) {
    this.#deps = deps
    // In the same turn: on an idle system somebody waits for the answer. queueMicrotask would keep track of who called.
    const begin = (run: () => void): void => void Promise.resolve().then(run)
    const sizes = { most: MOST, mostBytes: MAX_BATCH_BYTES, sizeOf: bytesOf, begin }
    this.#enqueues = new Batcher<readonly Order[], readonly Enqueued[]>({
      ...sizes,
      work: (batch) => together(batch, (calls, how) => this.#enqueueAll(calls, how)),
    })
    this.#starts = new Batcher<readonly Birthing[], readonly Started[]>({
      ...sizes,
      work: (batch) => together(batch, (calls, how) => this.#startAll(calls, how)),
    })
  }

  async enqueue(params: readonly EnqueueParams[], on?: Store['transact']): Promise<readonly Enqueued[]> {
    const orders = params.map((p, i) => this.#order(p, i))
    if (on === undefined) return this.#enqueues.add(orders)
    return (await this.#enqueueAll([orders], ALONE, on))[0] as readonly Enqueued[]
  }

  async start(params: readonly StartParams[], on?: Store['transact']): Promise<readonly Started[]> {
    const births = params.map((p) => this.#birthing(p))
    if (on === undefined) return this.#starts.add(births)
    return (await this.#startAll([births], ALONE, on))[0] as readonly Started[]
  }

  async idle(): Promise<void> {
    await Promise.all([this.#enqueues.idle(), this.#starts.idle()])
  }

  #order(params: EnqueueParams, index: number): Order {
    const place = `enqueue[${index}]`
    if (typeof params.type !== 'string' || params.type === '') {
      throw inputError('invalid_request', `${place}.type`, "a run needs a type, e.g. 'email.send'")
    }
    if (params.inbox === true) checkInboxRun(params, place)
    const path = `${place}.payload`
    const payload = storableText(params.payload, path, this.#deps.maxPayloadBytes, { path })
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
      throw inputError('invalid_request', `${place}.id`, `a UUID in lower case, e.g. ${this.#deps.newId()}`)
    }
    for (const limit of params.limits ?? []) checkLimit(limit)
    if (params.priority !== undefined && !Number.isInteger(params.priority)) {
      throw inputError('invalid_request', `${place}.priority`, 'a whole number, smaller runs earlier')
    }
    const now = params.runAt ?? 0
    const run = newRun(
      { id: params.id ?? this.#deps.newId(), type: params.type, payload, now },
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
        tenant: params.tenant ?? null,
        meta:
          params.meta === undefined
            ? null
            : storableText(params.meta, `enqueue[${index}].meta`, this.#deps.maxPayloadBytes),
        inbox: params.inbox ?? false,
      },
    )
    return { params, run, bytes: payload.length + 300 }
  }

  async #enqueueAll(
    calls: readonly (readonly Order[])[],
    { unsure, wait }: How,
    on?: Store['transact'],
  ): Promise<readonly (readonly Enqueued[])[]> {
    const orders = all(calls)
    const idempotencyKeys = orders.flatMap((o) => o.run.idempotencyKey ?? [])
    const uniques = orders.flatMap((o) => o.run.uniqueKey ?? [])
    const need: Need = {
      ...(idempotencyKeys.length === 0 ? {} : { idempotencyKeys }),
      ...(uniques.length === 0 ? {} : { uniques }),
      ...runsToKnow(orders, unsure),
      ...rulesOf(
        orders.map((o) => o.run),
        orders,
      ),
    }
    const { value, change } = await this.#deps.transactor.run(
      {
        roots: [],
        wait,
        need,
        offers: on === undefined ? this.#deps.offers : nobody,
        fold: (change) => {
          const taken = new Map<string, string>()
          return calls.map((call) => call.map((order) => place(change, order, taken, unsure)))
        },
      },
      on,
    )
    if (on === undefined) await this.#recount(change)
    return value
  }

  /** Refuses an input or meta that cannot be stored. */
  checkGiven(given: { readonly input?: Json; readonly meta?: Json }): void {
    checkGiven(given, this.#deps)
  }

  #birthing(params: StartParams): Birthing {
    if (params.id !== undefined && !isId(params.id)) {
      throw new PetrelError('invalid_request', `start.id: a UUID in lower case, e.g. ${this.#deps.newId()}`)
    }
    const { hashes, bytes } = checkStart(params, this.#deps.nets, this.#deps)
    return {
      params,
      id: params.id ?? this.#deps.newId(),
      startKey: storedKey(params.startKey, params.tenant),
      hash: hashes[0] as string,
      hashes,
      bytes,
    }
  }

  async #startAll(
    calls: readonly (readonly Birthing[])[],
    { unsure, wait }: How,
    on?: Store['transact'],
  ): Promise<readonly (readonly Started[])[]> {
    const births = all(calls)
    const { value, change } = await this.#deps.transactor.run(
      {
        roots: [],
        wait,
        need: this.#needOf(births, unsure),
        offers: on === undefined ? this.#deps.offers : nobody,
        fold: (change) => {
          const taken = new Map<string, string>()
          return calls.map((call) => call.map((creation) => this.#begin(change, creation, taken, unsure)))
        },
      },
      on,
    )
    if (on === undefined) await this.#recount(change)
    return value
  }

  #needOf(births: readonly Birthing[], unsure: boolean): Need {
    const orders: FirstOrder[] = []
    const startKeys: string[] = []
    // An id the caller chose may be taken; one of ours only by ourselves.
    const chosen: string[] = []
    const limited: (string | null)[] = []
    for (const creation of births) {
      const { params } = creation
      this.#firstOrders(creation, orders)
      if (creation.startKey !== null) startKeys.push(creation.startKey)
      if (unsure || params.id !== undefined) chosen.push(creation.id)
      if (params.slots !== undefined) limited.push(slotKeyOf(params))
    }
    const need: { -readonly [K in keyof Need]: Need[K] } = rulesOf(orders, births)
    if (startKeys.length > 0) need.startKeys = startKeys
    if (chosen.length > 0) need.instances = chosen
    return limited.length === 0 ? need : { ...need, ...quotaNeed(limited) }
  }

  /** Runs leased before a limit existed count against it too. */
  async #recount(change: WorkingSet): Promise<void> {
    const { born } = change.admission
    if (born.size > 0) await this.#deps.store.sweep.recountLimits({ keys: [...born] })
  }

  /** What the first runs of a new instance will be, as far as its net tells. */
  #firstOrders({ hash, params }: Birthing, orders: FirstOrder[]): void {
    const net = this.#deps.nets.get(hash)
    for (const key of params.net.entry) {
      const work = net?.byKey.get(key)?.work
      orders.push(work?.kind === 'run' ? work : { queue: 'default', limitKey: null })
    }
  }

  #begin(change: WorkingSet, creation: Birthing, taken: Map<string, string>, unsure: boolean): Started {
    const { params } = creation
    const there = change.loaded.instances.get(creation.id)
    // Ours, if a commit that may have happened is what we look for.
    if (there !== undefined && unsure && there.netHash === creation.hash) return { id: creation.id, created: true }
    if (there !== undefined || change.members.has(creation.id)) throw idTaken('instance', creation.id)
    const key = creation.startKey
    if (key !== null) {
      const stored = change.loaded.startKeys.get(key)
      if (stored !== undefined) checkSameStart(stored, params)
      const holder = stored?.id ?? taken.get(key)
      if (holder !== undefined) return { id: holder, created: false }
      taken.set(key, creation.id)
    }
    for (const hash of creation.hashes) {
      const row = this.#deps.nets.unstored(hash)
      if (row !== null) change.netRows.set(hash, row)
    }
    for (const name of params.names ?? []) change.names.push({ name, rootId: creation.id })
    for (const limit of params.limits ?? []) change.admission.set(tenantLimit(limit, params.tenant))
    const slot = slotKeyOf(params)
    if (slot !== null && params.slots !== undefined) change.admission.set({ key: slot, maxConcurrent: params.slots })
    const about: Record<string, Json> = {}
    if (params.initiator !== undefined) about.initiator = params.initiator
    if (params.meta !== undefined) about.meta = params.meta
    createInstance(change, {
      id: creation.id,
      netHash: creation.hash,
      parent: null,
      tenant: params.tenant ?? null,
      startKey: key,
      retryOf: null,
      actor: params.initiator ?? null,
      input: params.input ?? null,
      meta: Object.keys(about).length === 0 ? null : about,
      literals: params.literals ?? null,
      items: (params.items as { readonly [node: string]: readonly Json[] } | undefined) ?? null,
      slotKey: slot,
      idle: params.start === false,
    })
    foldPending(change)
    return { id: creation.id, created: true }
  }
}

function place(change: WorkingSet, order: Order, taken: Map<string, string>, unsure: boolean): Enqueued {
  const { params } = order
  const there = change.loaded.runs.get(order.run.id)
  // Ours, if a commit that may have happened is what we look for.
  if (there !== undefined && unsure && same(there, order.run)) return { id: there.id, created: true, run: there }
  if (there !== undefined) throw idTaken('run', there.id)
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
  return { id: run.id, created: true, run, ...(claimed?.replaced == null ? {} : { replaced: claimed.replaced }) }
}

function slotKeyOf({ slots, net, tenant }: StartParams): string | null {
  return slots === undefined ? null : slotKey(net.name, tenant ?? null)
}

function same(a: RunRow, b: RunRow): boolean {
  return a.type === b.type && a.queue === b.queue && a.idempotencyKey === b.idempotencyKey
}

/** A key answers with the run it was first used for, never with a run of another kind. */
function checkSameRun(holder: RunRow, { type, tenant }: RunRow): void {
  if (holder.type === type && holder.tenant === tenant) return
  const key = unscopedName(holder.idempotencyKey)
  const details = { field: 'idempotency_key', key, ...(holder.tenant === tenant ? { existing: holder.id } : {}) }
  throw new PetrelError('duplicate', `idempotency key '${key}' belongs to another run, of type ${holder.type}`, details)
}

/** Another version of the same workflow is the same start. */
function checkSameStart(holder: InstanceRow, { net, tenant: given }: StartParams): void {
  const tenant = given ?? null
  if (holder.name === net.name && holder.dialect === net.dialect && holder.tenant === tenant) return
  const key = unscopedName(holder.startKey)
  const details = { field: 'start_key', key, ...(holder.tenant === tenant ? { existing: holder.id } : {}) }
  throw new PetrelError('duplicate', `start key '${key}' belongs to another instance, of '${holder.name}'`, details)
}

function idTaken(what: 'run' | 'instance', id: string): PetrelError {
  const message = `there is already ${what === 'run' ? 'a run' : 'an instance'} ${id}`
  return new PetrelError('duplicate', message, { kind: what, id, existing: id })
}

/** An id the caller chose may be taken; one of ours only by ourselves. */
function runsToKnow(orders: readonly Order[], unsure: boolean): Need {
  const ids = orders.filter((o) => unsure || o.params.id !== undefined).map((o) => o.run.id)
  return ids.length === 0 ? {} : { runs: ids }
}

/** Queue settings and limits, loaded with the first look so that a hand-off needs no second. */
function rulesOf(
  runs: readonly FirstOrder[],
  asked: readonly { readonly params: Pick<EnqueueParams, 'limits' | 'tenant'> }[],
): Need {
  const queues = new Set<string>()
  const limits = new Set<string>()
  for (const run of runs) {
    queues.add(run.queue)
    for (const key of limitKeys(run)) limits.add(key)
  }
  for (const { params } of asked) {
    for (const limit of params.limits ?? []) limits.add(tenantLimit(limit, params.tenant).key)
  }
  return { queues: [...queues], limits: [...limits] }
}

/** In the caller's own transaction nothing is handed out: only he knows when it commits. */
const nobody = (): readonly Offer[] => []

/** On an idle system there is one. */
function all<T>(calls: readonly (readonly T[])[]): readonly T[] {
  const [only] = calls
  return calls.length === 1 && only !== undefined ? only : calls.flat()
}

function bytesOf(parts: readonly { readonly bytes: number }[]): number {
  return parts.reduce((sum, part) => sum + part.bytes, 0)
}
