/** Records the start of long work in its instance while the work runs, not when it ends. */

import type { RunRow } from '../../model/rows.ts'
import { noteStart } from '../fold/events.ts'
import type { Transactor } from './transactor.ts'

/** Instances known to have begun; forgetting one costs a read. */
const REMEMBERED = 20_000

export class FirstStarts {
  readonly #transactor: Transactor
  readonly #begun = new Set<string>()

  constructor(transactor: Transactor) {
    this.#transactor = transactor
  }

  async note(runs: readonly RunRow[]): Promise<void> {
    const fresh = runs.filter((run) => run.instanceId !== null && !this.#begun.has(run.instanceId))
    if (fresh.length === 0) return
    if (this.#begun.size > REMEMBERED) this.#begun.clear()
    const { value: noted } = await this.#transactor.run({
      roots: [...new Set(fresh.map((run) => run.rootId as string))],
      wait: false,
      need: { instances: fresh.map((run) => run.instanceId as string) },
      fold: (change) => {
        // Instances that no longer exist need no record; in one that is locked, a later start or the outcome records
        // it.
        const free = fresh.filter((run) => change.loaded.locked.has(run.rootId as string))
        for (const run of free) noteStart(change, run, run.startedAt)
        return free
      },
    })
    for (const run of noted) this.#begun.add(run.instanceId as string)
  }

  forget(): void {
    this.#begun.clear()
  }
}
