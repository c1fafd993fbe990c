/** The intake of bare runs and instances: each call is checked, then many calls are executed in one transaction. */

import { MAX_BATCH_BYTES } from '../../kernel/limits.ts'
import { StoreLockedError } from '../../kernel/store-errors.ts'
import type { Enqueued, EnqueueParams } from '../../model/enqueue.ts'
import type { Started, StartParams } from '../../model/start.ts'
import type { Need } from '../../model/transaction.ts'
import type { Store } from '../../store/store.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import { type Batch, Batcher } from '../transaction/batcher.ts'
import type { Offer } from '../transaction/handoff.ts'
import { retryUntilStored } from '../transaction/retry-until-stored.ts'
import { merge, type Transactor } from '../transaction/transactor.ts'
import { needOfOrders, type Order, orderOf, placeOrder } from './enqueued-runs.ts'
import type { Made, SameTransaction } from './same-transaction.ts'
import { checkGiven } from './start-check.ts'
import { type Creation, type CreationDeps, createStarted, creationOf, needOfCreations } from './started-instances.ts'

/** Calls in one transaction. */
const MOST_CALLS = 1000

export interface IntakeDeps extends CreationDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly offers: () => readonly Offer[]
}

/** How a transaction runs. */
interface How {
  /** An earlier commit of these calls may have happened; rows that exist already are only returned. */
  readonly unsure: boolean
  /** Whether it waits for rows that another transaction holds. */
  readonly wait: boolean
}

const ALONE: How = { unsure: false, wait: true }

export class Intake {
  readonly #deps: IntakeDeps
  readonly #enqueues: Batcher<readonly Order[], readonly Enqueued[]>
  readonly #starts: Batcher<readonly Creation[], readonly Started[]>

  constructor(deps: IntakeDeps) {
    this.#deps = deps
    // In the same turn, since on an idle system the caller waits for the answer. queueMicrotask would record its
    // caller.
    const begin = (run: () => void): void => void Promise.resolve().then(run)
    const sizes = { most: MOST_CALLS, mostBytes: MAX_BATCH_BYTES, sizeOf: bytesOf, begin }
    this.#enqueues = new Batcher<readonly Order[], readonly Enqueued[]>({
      ...sizes,
      work: (batch) => inOneTransaction(batch, (calls, how) => this.#enqueueAll(calls, how)),
    })
    this.#starts = new Batcher<readonly Creation[], readonly Started[]>({
      ...sizes,
      work: (batch) => inOneTransaction(batch, (calls, how) => this.#startAll(calls, how)),
    })
  }

  async enqueue(params: readonly EnqueueParams[], on?: Store['transact']): Promise<readonly Enqueued[]> {
    const orders = params.map((p, i) => orderOf(p, i, this.#deps))
    if (on === undefined) return this.#enqueues.add(orders)
    return (await this.#enqueueAll([orders], ALONE, on))[0] as readonly Enqueued[]
  }

  async start(params: readonly StartParams[], on?: Store['transact']): Promise<readonly Started[]> {
    const creations = params.map((p) => creationOf(p, this.#deps))
    if (on === undefined) return this.#starts.add(creations)
    return (await this.#startAll([creations], ALONE, on))[0] as readonly Started[]
  }

  /** In a transaction of its own, which writes something else as well. null: that did not admit it. */
  enqueueWith(params: EnqueueParams, same: SameTransaction): Promise<Enqueued | null> {
    const order = orderOf(params, 0, this.#deps)
    const { idempotencyKey } = order.run
    return this.#alone(same, {
      need: (unsure) => needOfOrders([order], unsure),
      exists: ({ loaded }) => idempotencyKey !== null && loaded.idempotencyKeys.has(idempotencyKey),
      create: (change, taken, unsure) => placeOrder(change, order, taken, unsure),
    })
  }

  /** The same for an instance. */
  startWith(params: StartParams, same: SameTransaction): Promise<Started | null> {
    const { nets } = this.#deps
    const creation = creationOf(params, this.#deps)
    const { startKey } = creation
    return this.#alone(same, {
      need: (unsure) => needOfCreations([creation], nets, unsure),
      exists: ({ loaded }) => startKey !== null && loaded.startKeys.has(startKey),
      create: (change, taken, unsure) => createStarted(change, creation, { nets, taken, unsure }),
    })
  }

  async idle(): Promise<void> {
    await Promise.all([this.#enqueues.idle(), this.#starts.idle()])
  }

  /** Refuses an input, meta, tags or a key that cannot be stored. */
  checkGiven(given: Parameters<typeof checkGiven>[0]): void {
    checkGiven(given, this.#deps)
  }

  /** Refuses a run that could not be enqueued. */
  checkRun(params: EnqueueParams): void {
    orderOf(params, 0, this.#deps)
  }

  #enqueueAll(
    calls: readonly (readonly Order[])[],
    how: How,
    on?: Store['transact'],
  ): Promise<readonly (readonly Enqueued[])[]> {
    const need = needOfOrders(all(calls), how.unsure)
    return this.#transact({ calls, how, need, on }, (change, order, taken) =>
      placeOrder(change, order, taken, how.unsure),
    )
  }

  #startAll(
    calls: readonly (readonly Creation[])[],
    how: How,
    on?: Store['transact'],
  ): Promise<readonly (readonly Started[])[]> {
    const { nets } = this.#deps
    const { unsure } = how
    const need = needOfCreations(all(calls), nets, unsure)
    return this.#transact({ calls, how, need, on }, (change, creation, taken) =>
      createStarted(change, creation, { nets, taken, unsure }),
    )
  }

  #alone<R extends Made>(
    same: SameTransaction,
    work: {
      need(unsure: boolean): Need
      exists(change: WorkingSet): boolean
      create(change: WorkingSet, taken: Map<string, string>, unsure: boolean): R
    },
  ): Promise<R | null> {
    return retryUntilStored(async (unsure) => {
      const need = merge([work.need(unsure), same.need])
      const act = { calls: [[null]], how: { unsure, wait: true }, need, on: undefined }
      const [results] = await this.#transact(act, (change, _, taken) => {
        const admitted = same.admits(change)
        if (!admitted && !work.exists(change)) return null
        const made = work.create(change, taken, unsure)
        if (admitted) same.write(change, [made])
        return made
      })
      return results?.[0] ?? null
    })
  }

  /** `taken`: keys and ids that other calls of the same transaction have taken. */
  async #transact<T, R>(
    p: {
      readonly calls: readonly (readonly T[])[]
      readonly how: How
      readonly need: Need
      readonly on: Store['transact'] | undefined
    },
    fold: (change: WorkingSet, one: T, taken: Map<string, string>) => R,
  ): Promise<readonly (readonly R[])[]> {
    const { calls, how, need, on } = p
    const { value, change } = await this.#deps.transactor.run(
      {
        roots: [],
        wait: how.wait,
        need,
        // In the caller's own transaction nothing is handed out: only the caller knows when it commits.
        offers: on === undefined ? this.#deps.offers : noOffers,
        fold: (change) => {
          const taken = new Map<string, string>()
          return calls.map((call) => call.map((one) => fold(change, one, taken)))
        },
      },
      on,
    )
    if (on === undefined) await this.#recount(change)
    return value
  }

  /** Runs leased before a limit existed count against it too. */
  async #recount(change: WorkingSet): Promise<void> {
    const { newKeys } = change.admission
    if (newKeys.size > 0) await this.#deps.store.sweep.recountLimits({ keys: [...newKeys] })
  }
}

/**
 * Executes all calls in one transaction. If that is refused, the batcher finds the call that causes it. A call that needs a
 * row which another transaction holds waits for it alone; no batch waits with it.
 */
async function inOneTransaction<P, R>(
  batch: readonly Batch<P, R>[],
  all: (calls: readonly P[], how: How) => Promise<readonly R[]>,
): Promise<void> {
  const work = (wait: boolean): Promise<readonly R[]> =>
    retryUntilStored((unsure) =>
      all(
        batch.map((b) => b.params),
        { unsure, wait },
      ),
    )
  const answer = (results: readonly R[]): void => {
    for (const [i, entry] of batch.entries()) entry.resolve(results[i] as R)
  }
  try {
    answer(await work(false))
  } catch (error) {
    if (!(error instanceof StoreLockedError) || batch.length > 1) throw error
    const [only] = batch as readonly [Batch<P, R>]
    work(true).then(answer, (refused) => only.reject(refused))
  }
}

const noOffers = (): readonly Offer[] => []

/** On an idle system there is one call, which needs no copy. */
function all<T>(calls: readonly (readonly T[])[]): readonly T[] {
  const [only] = calls
  return calls.length === 1 && only !== undefined ? only : calls.flat()
}

function bytesOf(parts: readonly { readonly bytes: number }[]): number {
  return parts.reduce((sum, part) => sum + part.bytes, 0)
}
