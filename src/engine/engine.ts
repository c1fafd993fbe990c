/**
 * Opens and closes an engine: puts its parts together (parts.ts) and offers what can be done with them, by noun (verbs/).
 * One transaction moves everything (transaction/); after-commit.ts notifies the parts concerned after each commit. Nothing an
 * engine keeps in memory is the truth: any number of engines work on one store, and any of them may die.
 */

import type { RunRow } from '../model/rows.ts'
import type { Store } from '../store/store.ts'
import type { EngineApi, EngineOptions } from './api.ts'
import { createParts, type Parts } from './parts.ts'
import { recordsOf, storageOf } from './records.ts'
import { bulkVerbs } from './verbs/bulk.ts'
import { definitionVerbs } from './verbs/definitions.ts'
import { errorVerbs } from './verbs/errors.ts'
import { gateVerbs } from './verbs/gates.ts'
import { instanceVerbs } from './verbs/instances.ts'
import { pauseVerbs } from './verbs/pauses.ts'
import { queueVerbs } from './verbs/queues.ts'
import { runVerbs } from './verbs/runs.ts'
import { scheduleVerbs } from './verbs/schedules.ts'
import { workerVerbs } from './verbs/workers.ts'

/** An engine, with the parts that only the code that opened it may use. */
export interface Engine extends EngineApi {
  readonly store: Store
  /** For tests and dry runs, which move the store's clock. */
  readonly simulation: Simulation
  /** One pass of the sweeper now; for tests that moved the clock. */
  sweep(): Promise<void>
}

export const Engine = {
  async open(options: EngineOptions): Promise<Engine> {
    const parts = createParts(options, await options.store.now())
    const stopListening = listen(parts)
    const engine = engineOf(parts, closing(parts, stopListening, options.closeStore === true))
    if (options.sweep !== false) {
      parts.bulkRunner.start()
      await parts.sweeper.start()
    }
    return engine
  },
} as const

function engineOf(parts: Parts, close: () => Promise<void>): Engine {
  const { store, faults, totals, sweeper, afterCommit } = parts
  return {
    ...runVerbs(parts),
    ...instanceVerbs(parts),
    ...definitionVerbs(parts),
    ...errorVerbs(parts),
    ...gateVerbs(parts),
    ...scheduleVerbs(parts),
    ...queueVerbs(parts),
    ...pauseVerbs(parts),
    ...workerVerbs(parts),
    ...bulkVerbs(parts),
    store,
    faults,
    queries: store.read,
    records: recordsOf(store),
    storage: storageOf(store, parts.retention),
    simulation: new Simulation(store, () => sweeper.sweep()),
    counters: () => totals.counters(),
    observe: (observer) => {
      afterCommit.observers.add(observer)
      return () => afterCommit.observers.delete(observer)
    },
    sweep: () => sweeper.sweep(),
    reset: async () => {
      totals.forget()
      await totals.flush()
      await store.reset()
      parts.forget()
    },
    close,
  }
}

/** Listens to wake-ups from other processes, and polls in case one is lost. Returns functions that end either. */
function listen({ store, afterCommit, leases, waiters, pollMs }: Parts): { poll(): void; wakes(): void } {
  const unsubscribe = store.onWake((wake) => afterCommit.woken(wake))
  const poll = setInterval(() => {
    leases.wake(null)
    void waiters.lookAll().catch(() => undefined)
  }, pollMs).unref()
  return { poll: () => clearInterval(poll), wakes: unsubscribe }
}

function closing(parts: Parts, stop: { poll(): void; wakes(): void }, closeStore: boolean): () => Promise<void> {
  const { store, leases, sweeper, bulkRunner, intake, settler, quotas, sessions, totals, queueReports, waiters } = parts
  let closed = false
  return async () => {
    if (closed) return
    closed = true
    stop.poll()
    leases.close()
    await bulkRunner.close()
    await sweeper.close()
    await intake.idle()
    settler.close()
    await settler.idle()
    await quotas.idle()
    await sessions.close()
    await totals.flush()
    await queueReports.idle()
    waiters.close()
    stop.wakes()
    if (closeStore) await store.close()
  }
}

/** For tests and dry runs, which move the store's clock instead of waiting. */
class Simulation {
  readonly #store: Store
  readonly #sweep: () => Promise<void>
  #offsetMs = 0

  constructor(store: Store, sweep: () => Promise<void>) {
    this.#store = store
    this.#sweep = sweep
  }

  now(): Promise<number> {
    return this.#store.now()
  }

  /** Moves the clock forward, for every process on this store. The next sweep finds what has become due. */
  async moveBy(ms: number): Promise<void> {
    this.#offsetMs += ms
    await this.#store.moveClock(this.#offsetMs)
  }

  /** One pass of the sweeper. */
  sweep(): Promise<void> {
    return this.#sweep()
  }

  /** The earliest time at which a sweep has something to do; null: never. */
  async nextDueAt(): Promise<number | null> {
    const [due, bulk] = await Promise.all([this.#store.sweep.nextDueAt(), this.#store.bulk.nextDueAt(0)])
    return due === null || bulk === null ? (due ?? bulk) : Math.min(due, bulk)
  }

  /** Whether transitions of an instance were interrupted, so that a sweep continues them. */
  async isCutOff(): Promise<boolean> {
    return (await this.#store.sweep.unfinishedCascades({ limit: 1 })).length > 0
  }

  /** Records these runs as started at that time: their timeouts begin then. */
  async noteStarts(runs: readonly RunRow[], at: number): Promise<void> {
    await this.#store.sweep.started({ runs: runs.map(({ id, epoch }) => ({ id, epoch, at })) })
  }
}
