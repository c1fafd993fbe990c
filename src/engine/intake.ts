/** Work comes in: bare runs and instances, checked at the edge, many calls in one transaction. */
import type { Json, Retry } from '../net/net.ts'
import { StoreConflictError, StoreUnavailableError } from '../store/errors.ts'
import type { RunRow, UniqueRow } from '../store/rows.ts'
import type { Need, Store } from '../store/store.ts'
import { limitKeys } from './admission.ts'
import type { Enqueued, EnqueueParams, Started, StartParams } from './api.ts'
import { INBOX_RETRY } from './backoff.ts'
import { type Batch, Batcher } from './batcher.ts'
import { bear } from './births.ts'
import type { Change } from './change.ts'
import { unstorable } from './edge.ts'
import { PetrelError } from './errors.ts'
import type { Offer } from './handoff.ts'
import { NeedMore } from './need.ts'
import { checkNesting } from './nesting.ts'
import type { Nets } from './nets.ts'
import { newRun } from './runs.ts'
import type { Transactor } from './transactor.ts'

const MOST = 1000
const MOST_BYTES = 8 * 1024 * 1024
const DEFAULT_LIVE = ['pending', 'leased'] as const

export interface IntakeDeps {
  readonly transactor: Transactor
  readonly nets: Nets
  readonly newId: () => string
  readonly maxPayloadBytes: number
  readonly maxDepth: number
  readonly offers: () => readonly Offer[]
}

interface Order {
  readonly params: EnqueueParams
  readonly run: RunRow
  readonly bytes: number
}

interface Birthing {
  readonly params: StartParams
  readonly id: string
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
    const sizes = { most: MOST, mostBytes: MOST_BYTES, sizeOf: bytesOf }
    this.#enqueues = new Batcher<readonly Order[], readonly Enqueued[]>({
      ...sizes,
      work: (batch) => together(batch, (calls, unsure) => this.#enqueueAll(calls, unsure)),
    })
    this.#starts = new Batcher<readonly Birthing[], readonly Started[]>({
      ...sizes,
      work: (batch) => together(batch, (calls, unsure) => this.#startAll(calls, unsure)),
    })
  }

  async enqueue(params: readonly EnqueueParams[], on?: Store['transact']): Promise<readonly Enqueued[]> {
    const orders = params.map((p, i) => this.#order(p, i))
    if (on === undefined) return this.#enqueues.add(orders)
    return (await this.#enqueueAll([orders], false, on))[0] as readonly Enqueued[]
  }

  async start(params: readonly StartParams[], on?: Store['transact']): Promise<readonly Started[]> {
    const births = params.map((p) => this.#birthing(p))
    if (on === undefined) return this.#starts.add(births)
    return (await this.#startAll([births], false, on))[0] as readonly Started[]
  }

  async idle(): Promise<void> {
    await Promise.all([this.#enqueues.idle(), this.#starts.idle()])
  }

  #order(params: EnqueueParams, index: number): Order {
    if (typeof params.type !== 'string' || params.type === '') {
      throw new PetrelError('invalid_request', `enqueue[${index}].type: a run needs a type, e.g. 'email.send'`)
    }
    const payload = this.#text(params.payload, `enqueue[${index}].payload`)
    const retry: Retry = {
      ...INBOX_RETRY,
      ...params.retry,
      ...(params.maxAttempts === undefined ? {} : { maxAttempts: params.maxAttempts }),
    }
    if (!(Number.isInteger(retry.maxAttempts) && retry.maxAttempts >= 1)) {
      throw new PetrelError('invalid_request', `enqueue[${index}].maxAttempts: a whole number of at least 1`)
    }
    if (params.priority !== undefined && !Number.isInteger(params.priority)) {
      throw new PetrelError('invalid_request', `enqueue[${index}].priority: a whole number, smaller runs earlier`)
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
        idempotencyKey: params.idempotencyKey ?? null,
        uniqueKey: params.unique?.key ?? null,
        limitKey: params.limitKey ?? null,
        tenant: params.tenant ?? null,
        meta: params.meta === undefined ? null : this.#text(params.meta, `enqueue[${index}].meta`),
      },
    )
    return { params, run, bytes: payload.length + 300 }
  }

  #text(value: Json, place: string): string {
    const text = JSON.stringify(value) as string | undefined
    if (text === undefined) throw new PetrelError('unstorable', `${place}: ${typeof value} is not JSON`)
    const error = unstorable(text, this.#deps.maxPayloadBytes)
    if (error !== null) throw new PetrelError(error.code as 'unstorable', `${place}: ${error.message}`)
    return text
  }

  /** `unsure`: an earlier commit of these calls may have happened; what is there already is only answered. */
  async #enqueueAll(
    calls: readonly (readonly Order[])[],
    unsure: boolean,
    on?: Store['transact'],
  ): Promise<readonly (readonly Enqueued[])[]> {
    const orders = calls.flat()
    const idempotencyKeys = orders.flatMap((o) => o.run.idempotencyKey ?? [])
    const uniques = orders.flatMap((o) => o.run.uniqueKey ?? [])
    const need: Need = {
      ...(idempotencyKeys.length === 0 ? {} : { idempotencyKeys }),
      ...(uniques.length === 0 ? {} : { uniques }),
      ...(unsure ? { runs: orders.map((o) => o.run.id) } : {}),
      ...rulesOf(orders.map((o) => o.run)),
    }
    const { value } = await this.#deps.transactor.run(
      {
        roots: [],
        wait: true,
        need,
        ...(on === undefined ? { offers: this.#deps.offers } : {}),
        fold: (change) => {
          const taken = new Map<string, string>()
          return calls.map((call) => call.map((order) => place(change, order, taken)))
        },
      },
      on,
    )
    return value
  }

  #birthing(params: StartParams): Birthing {
    const { nets } = this.#deps
    const all = [params.net, ...(params.nets ?? [])]
    const hashes = all.map((net) => nets.admit(net))
    checkNesting(params, hashes, all, this.#deps.maxDepth)
    const bytes = this.#text((params.input ?? null) as Json, 'start.input').length
    this.#text((params.literals ?? null) as unknown as Json, 'start.literals')
    let items = 0
    for (const [node, list] of Object.entries(params.items ?? {})) {
      for (const [i, item] of list.entries()) items += this.#text(item as Json, `start.items.${node}[${i}]`).length
    }
    return {
      params,
      id: params.id ?? this.#deps.newId(),
      hash: hashes[0] as string,
      hashes,
      bytes: bytes + items + 1000,
    }
  }

  async #startAll(
    calls: readonly (readonly Birthing[])[],
    unsure: boolean,
    on?: Store['transact'],
  ): Promise<readonly (readonly Started[])[]> {
    const startKeys = calls.flat().flatMap((b) => b.params.startKey ?? [])
    const { value } = await this.#deps.transactor.run(
      {
        roots: [],
        wait: true,
        need: {
          ...(startKeys.length === 0 ? {} : { startKeys }),
          ...(unsure ? { instances: calls.flat().map((b) => b.id) } : {}),
          ...rulesOf(calls.flat().flatMap((b) => this.#firstOrders(b))),
        },
        ...(on === undefined ? { offers: this.#deps.offers } : {}),
        fold: (change) => {
          const taken = new Map<string, string>()
          return calls.map((call) => call.map((birth) => this.#begin(change, birth, taken)))
        },
      },
      on,
    )
    return value
  }

  /** What the first runs of a new instance will be, as far as its net tells. */
  #firstOrders({ hash, params }: Birthing): { readonly queue: string; readonly limitKey: string | null }[] {
    const net = this.#deps.nets.get(hash)
    return params.net.entry.map((key) => {
      const work = net?.byKey.get(key)?.work
      return work?.kind === 'run' ? work : { queue: 'default', limitKey: null }
    })
  }

  #begin(change: Change, birth: Birthing, taken: Map<string, string>): Started {
    const { params } = birth
    if (change.loaded.instances.has(birth.id)) return { id: birth.id, created: true }
    const key = params.startKey ?? null
    if (key !== null) {
      const holder = change.loaded.startKeys.get(key)?.id ?? taken.get(key)
      if (holder !== undefined) return { id: holder, created: false }
      taken.set(key, birth.id)
    }
    for (const hash of birth.hashes) {
      const row = this.#deps.nets.unstored(hash)
      if (row !== null) change.netRows.set(hash, row)
    }
    const about: Record<string, Json> = {}
    if (params.initiator !== undefined) about.initiator = params.initiator
    if (params.meta !== undefined) about.meta = params.meta
    bear(change, {
      id: birth.id,
      netHash: birth.hash,
      parent: null,
      tenant: params.tenant ?? null,
      startKey: key,
      retryOf: null,
      input: params.input ?? null,
      meta: Object.keys(about).length === 0 ? null : about,
      literals: params.literals ?? null,
      items: (params.items as { readonly [node: string]: readonly Json[] } | undefined) ?? null,
    })
    change.pump()
    return { id: birth.id, created: true }
  }
}

function place(change: Change, order: Order, taken: Map<string, string>): Enqueued {
  const { params } = order
  if (change.loaded.runs.has(order.run.id)) return { id: order.run.id, created: true }
  const { idempotencyKey: key } = order.run
  if (key !== null) {
    const { idempotencyKeys, keptKeys } = change.loaded
    const holder = idempotencyKeys.get(key)?.id ?? keptKeys?.get(key) ?? taken.get(key)
    if (holder !== undefined) return { id: holder, created: false }
    taken.set(key, order.run.id)
  }
  const held = params.unique === undefined ? null : uniqueHolder(change, params.unique, taken)
  if (held !== null) return { id: held, created: false }
  if (params.unique !== undefined) claimUnique(change, order, taken)
  const runAt = params.runAt ?? change.now + (params.delayMs ?? 0)
  const run = { ...order.run, createdAt: change.now, runAt: Math.max(runAt, change.now) }
  change.addRun(run)
  return { id: run.id, created: true }
}

/** The live run that holds the key, if the policy is to answer with it; null: the key is free or was taken away. */
function uniqueHolder(
  change: Change,
  unique: NonNullable<EnqueueParams['unique']>,
  taken: Map<string, string>,
): string | null {
  const inBatch = taken.get(`unique ${unique.key}`)
  const row = change.loaded.uniques.get(unique.key)
  const holderId = inBatch ?? row?.runId
  if (holderId === undefined) return null
  if (inBatch === undefined && row?.expiresAt !== null && row !== undefined && row.expiresAt <= change.now) return null
  const holder = change.run(holderId)
  if (holder === undefined) {
    if (change.asked.has(`run ${holderId}`)) return null
    change.asked.add(`run ${holderId}`)
    throw new NeedMore({ runs: [holderId] })
  }
  const states: readonly string[] = row?.states ?? unique.states ?? DEFAULT_LIVE
  if (!states.includes(holder.status)) return null
  if (unique.onConflict === 'ignore') return holderId
  if (unique.onConflict === 'reject') {
    throw new PetrelError('duplicate', `run ${holderId} already holds the unique key '${unique.key}'`, {
      existing: holderId,
    })
  }
  if (holder.status === 'leased') {
    throw new PetrelError('duplicate', `run ${holderId} holds the unique key '${unique.key}' and is active`, {
      existing: holderId,
    })
  }
  change.finish(holder, {
    status: 'cancelled',
    now: change.now,
    result: null,
    unknown: false,
    startedAt: null,
    reportId: null,
    deadLetter: false,
    failure: false,
    error: { code: 'replaced', message: 'replaced by a later run with the same unique key' },
  })
  return null
}

function claimUnique(change: Change, order: Order, taken: Map<string, string>): void {
  const { unique } = order.params
  if (unique === undefined) return
  taken.set(`unique ${unique.key}`, order.run.id)
  const row: UniqueRow = {
    key: unique.key,
    runId: order.run.id,
    expiresAt: unique.periodMs === undefined ? null : change.now + unique.periodMs,
    states: unique.states ?? DEFAULT_LIVE,
  }
  change.uniques.set(unique.key, row)
}

/** Queue settings and limits, loaded with the first look so that a hand-off needs no second. */
function rulesOf(runs: readonly { readonly queue: string; readonly limitKey: string | null }[]): Need {
  const queues = new Set(runs.map((r) => r.queue))
  const limits = new Set(runs.flatMap(limitKeys))
  return { queues: [...queues], limits: [...limits] }
}

function bytesOf(parts: readonly { readonly bytes: number }[]): number {
  return parts.reduce((sum, part) => sum + part.bytes, 0)
}

/** All calls in one transaction; if that is refused, each alone, so that the guilty one answers for itself. */
async function together<P, R>(
  batch: readonly Batch<P, R>[],
  all: (calls: readonly P[], unsure: boolean) => Promise<readonly R[]>,
): Promise<void> {
  try {
    const results = await persistently((unsure) =>
      all(
        batch.map((b) => b.params),
        unsure,
      ),
    )
    for (const [i, entry] of batch.entries()) entry.resolve(results[i] as R)
  } catch (error) {
    if (batch.length === 1) throw error
    for (const entry of batch) {
      try {
        const [result] = await persistently((unsure) => all([entry.params], unsure))
        entry.resolve(result as R)
      } catch (alone) {
        entry.reject(alone)
      }
    }
  }
}

/** A key taken between load and write, or a store that was away: the next look decides. */
async function persistently<T>(work: (unsure: boolean) => Promise<T>): Promise<T> {
  let unsure = false
  for (let tries = 0; ; tries++) {
    try {
      return await work(unsure)
    } catch (error) {
      if (error instanceof StoreUnavailableError && tries < 8) {
        if (error.code === 'commit_unknown') unsure = true
        await new Promise((resolve) => setTimeout(resolve, 20 * 2 ** tries))
      } else if (!(error instanceof StoreConflictError)) throw error
      else if (tries >= 3) throw new PetrelError('duplicate', error.message)
    }
  }
}
