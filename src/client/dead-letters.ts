import type { EngineApi } from '../engine/api.ts'
import type { RunRow } from '../model/rows.ts'
import { type RunFilter, runQuery } from './listing.ts'
import type { By } from './queues.ts'

/** Runs that failed permanently and are kept until a person decides. */
export class DeadLetters {
  readonly #engine: EngineApi

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  /** Newest first. */
  list(filter: Omit<RunFilter, 'status'> = {}): Promise<readonly RunRow[]> {
    return this.#engine.queries.listRuns({ ...runQuery(filter), deadLetter: true })
  }

  /** The run is pending again, from its first attempt. Its workflow continues where it failed. */
  redrive(runId: string, by: By = {}): Promise<RunRow> {
    return this.#engine.redrive({ runId, actor: by.actor ?? null })
  }

  /** Removes the run permanently. */
  dismiss(runId: string, by: By = {}): Promise<void> {
    return this.#engine.dismiss({ id: runId, actor: by.actor ?? null })
  }
}
