/**
 * Notifies the parts concerned after a commit of this process, and after a wake-up from another one. A lost notification only
 * causes delay, since all of them poll as well.
 */

import type { Logger } from '../kernel/logger.ts'
import type { RunObserver } from '../model/run-observer.ts'
import type { Store, Wake } from '../store/store.ts'
import { plainResults } from './fold/recorded-results.ts'
import type { WorkingSet } from './fold/working-set.ts'
import type { Quotas } from './time/quotas.ts'
import type { Sweeper } from './time/sweeper.ts'
import { consequencesOf } from './transaction/consequences.ts'
import type { Nets } from './transaction/nets.ts'
import { notifyObservers } from './transaction/observers.ts'
import type { Totals } from './transaction/totals.ts'
import type { Committed } from './transaction/transactor.ts'
import type { Waiters } from './transaction/waiters.ts'
import type { StoredCommands } from './workers/commands.ts'
import type { Completions } from './workers/completions.ts'
import type { StoredLeases } from './workers/leases.ts'
import type { Sessions } from './workers/sessions.ts'

export interface AfterCommitDeps {
  readonly store: Store
  readonly nets: Nets
  readonly sessions: Sessions
  readonly leases: StoredLeases
  readonly waiters: Waiters
  readonly sweeper: Sweeper
  readonly quotas: Quotas
  readonly totals: Totals
  readonly completions: Completions
  readonly commands: StoredCommands
  /** Forgets what is remembered of stored rows. */
  readonly forget: () => void
  readonly logger: Logger
}

export class AfterCommit {
  readonly #deps: AfterCommitDeps
  readonly #listeners = new Set<() => void>()
  readonly observers = new Set<RunObserver>()

  constructor(deps: AfterCommitDeps) {
    this.#deps = deps
  }

  /** Calls the listener after every commit, of this process or another. */
  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** After a commit of this process: deliver, wake, and note when to sweep again. */
  committed({ change, handed }: Committed<unknown>): void {
    const { store, nets, sessions, leases, totals, sweeper, quotas } = this.#deps
    nets.stored(change.netRows.keys())
    sessions.handed(handed)
    totals.count(change)
    if (this.observers.size > 0) notifyObservers(this.observers, change)
    const { queues, arrived, urgency, quotas: freed, soonest, lost } = consequencesOf(change)
    for (const { sessionId, runId, late } of lost) sessions.lost(sessionId, runId, late)
    this.#notifyWaiters(change)
    if (soonest < Number.POSITIVE_INFINITY) sweeper.dueAt(soonest)
    if (queues.size > 0) {
      sessions.wake(queues, urgency)
      leases.arrived(arrived)
    }
    if (queues.size > 0 || change.endedIds.length > 0) store.wake({ queues: [...queues], ended: change.endedIds })
    if (change.commands.size > 0) this.#commanded(change)
    quotas.freed(freed)
    if (change.signalled.size > 0) this.controlled()
    for (const listener of this.#listeners) listener()
  }

  #notifyWaiters(change: WorkingSet): void {
    const { waiters } = this.#deps
    for (const run of change.newRuns.values()) if (run.instanceId === null) waiters.created(run.id)
    for (const run of [...change.newRuns.values(), ...change.runs.values()]) {
      if (run.instanceId === null && run.settledAt !== null) waiters.announce(run.id, run.status)
    }
    for (const { row, isNew } of change.members.values()) if (isNew) waiters.created(row.id)
    for (const id of change.endedIds) {
      const member = change.members.get(id)
      if (member !== undefined) waiters.announce(id, member.row.state, plainResults(change, id))
    }
  }

  #commanded(change: WorkingSet): void {
    const { completions, commands, store } = this.#deps
    completions.remember(change)
    commands.announce()
    store.wake({ commands: true })
  }

  /** Runs, queues or workers were directed to stop or pause: sessions compare their runs with the store. */
  controlled(): void {
    const { store, sessions } = this.#deps
    store.wake({ control: true })
    void sessions.beatNow()
  }

  /** Runs of these queues have become claimable without a transaction of the engine; null: of any queue. */
  released(queues: readonly string[] | null): void {
    this.wake(queues === null ? null : new Set(queues))
    this.#deps.store.wake(queues === null ? {} : { queues })
  }

  /** Wakes the workers of this process that take from these queues; null: all of them. */
  wake(queues: ReadonlySet<string> | null): void {
    this.#deps.sessions.wake(queues)
    this.#deps.leases.wake(queues)
  }

  /** Another process has committed; an empty wake-up means that anything may have changed. */
  woken(wake: Wake): void {
    const { commands, sweeper, sessions, waiters, logger } = this.#deps
    if (wake.lost === true) return this.#deps.forget()
    const named = wake.queues !== undefined || wake.ended !== undefined
    const anything = !named && wake.control !== true && wake.outside !== true && wake.commands !== true
    if (anything || wake.commands === true) commands.announce()
    if (anything || wake.outside === true) sweeper.foreignWrites()
    if (anything) sessions.compare()
    if (anything || (wake.queues?.length ?? 0) > 0) this.wake(anything ? null : new Set(wake.queues))
    if (wake.control === true) void sessions.beatNow()
    const look = anything ? waiters.lookAnew() : waiters.look(wake.ended ?? [])
    look.catch((error: unknown) => logger.warn({}, `looking for ended work: ${(error as Error).message}`))
    for (const listener of this.#listeners) listener()
  }
}
