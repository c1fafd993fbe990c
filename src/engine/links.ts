/**
 * Calls from one part of the engine to another that is created after it: the settler offers new runs to sessions, which
 * themselves need the settler. Connected once all parts exist; nothing calls before.
 */

import type { AfterCommit } from './after-commit.ts'
import type { Sweeper } from './time/sweeper.ts'
import type { Offer } from './transaction/handoff.ts'
import { notePoll } from './transaction/observers.ts'
import type { Committed } from './transaction/transactor.ts'
import type { Sessions } from './workers/sessions.ts'

interface Targets {
  readonly sessions: Sessions
  readonly sweeper: Sweeper
  readonly afterCommit: AfterCommit
  readonly committed: (committed: Committed<unknown>) => void
}

export class Links {
  #targets: Targets | null = null

  connect(targets: Targets): void {
    this.#targets = targets
  }

  readonly committed = (committed: Committed<unknown>): void => this.#connected.committed(committed)

  readonly offers = (): readonly Offer[] => this.#connected.sessions.offers([])

  readonly offersFor = (reports: Parameters<Sessions['offers']>[0]): readonly Offer[] =>
    this.#connected.sessions.offers(reports)

  readonly wakeAll = (): void => this.#connected.afterCommit.wake(null)

  readonly sweepAt = (at: number): void => this.#connected.sweeper.dueAt(at)

  readonly polled = <T>(worker: string, claim: Promise<T>): Promise<T> => {
    const { observers } = this.#connected.afterCommit
    return observers.size === 0 ? claim : notePoll(observers, worker, claim)
  }

  get #connected(): Targets {
    if (this.#targets === null) throw new Error('the engine is not complete yet')
    return this.#targets
  }
}
