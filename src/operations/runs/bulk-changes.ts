/**
 * Changes of many runs: in batches, so that none of them locks much or holds much in memory. Each run is decided
 * separately; a refused one is counted and does not stop the others. A small change is answered when it is done; a
 * large one continues after the answer, and can be read by its id in the process that executes it. A process that shuts
 * down stops it: finished changes remain, and the same request again does the rest.
 */
import type { EngineApi } from '../../engine/api.ts'
import { newId } from '../../kernel/ids.ts'
import type { RunRow } from '../../model/rows.ts'
import type { RunFilter } from './search.ts'

const PORTION = 200
const AT_ONCE = 8
const MOST_ERRORS = 20
const KEPT = 100
/** Clients wait about half a minute before they give up. */
const PATIENCE_MS = 5_000

export interface BulkChange {
  readonly id: string
  readonly action: 'retry' | 'cancel' | 'purge'
  readonly tenant: string | null
  readonly startedAt: number
  status: 'running' | 'completed' | 'stopped'
  matched: number
  succeeded: number
  failed: number
  endedAt: number | null
  /** The first few. */
  readonly errors: { readonly runId: string; readonly message: string }[]
}

export interface BulkParams {
  readonly tenant: string | null
  readonly action: BulkChange['action']
  readonly filter: RunFilter
  readonly act: (run: RunRow) => Promise<unknown>
}

/** The changes of this process. */
export class BulkChanges {
  readonly #closing: AbortSignal | null
  readonly #changes = new Map<string, BulkChange>()

  /** `closing`: the process shuts down. */
  constructor(closing: AbortSignal | null) {
    this.#closing = closing
  }

  find(id: string): BulkChange | null {
    return this.#changes.get(id) ?? null
  }

  /** Its final state, or its state after a few seconds. */
  async run(engine: EngineApi, params: BulkParams): Promise<BulkChange> {
    const change = this.#begin(params)
    const done = this.#work(engine, change, params)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS)
    })
    // A failure after that appears in its status only.
    done.catch(() => undefined)
    await Promise.race([done, late])
    clearTimeout(timer)
    return change
  }

  #begin({ action, tenant }: BulkParams): BulkChange {
    const change: BulkChange = {
      id: newId(),
      action,
      tenant,
      startedAt: Date.now(),
      status: 'running',
      matched: 0,
      succeeded: 0,
      failed: 0,
      endedAt: null,
      errors: [],
    }
    this.#changes.set(change.id, change)
    for (const [id, { status }] of this.#changes) {
      if (this.#changes.size <= KEPT) break
      if (status !== 'running') this.#changes.delete(id)
    }
    return change
  }

  async #work({ queries }: EngineApi, change: BulkChange, { filter, act }: BulkParams): Promise<void> {
    const query = { ...filter, tenant: change.tenant, limit: PORTION, maxBytes: 0 }
    let before: string | null = null
    try {
      for (;;) {
        const runs: readonly RunRow[] = await queries.listRuns({ ...query, before })
        change.matched += runs.length
        for (let at = 0; at < runs.length; at += AT_ONCE) {
          if (this.#closing?.aborted === true) return
          await Promise.all(runs.slice(at, at + AT_ONCE).map((run) => changeOne(change, run, act)))
        }
        before = runs.at(-1)?.id ?? null
        if (runs.length < PORTION) {
          change.status = 'completed'
          return
        }
      }
    } finally {
      if (change.status === 'running') change.status = 'stopped'
      change.endedAt = Date.now()
    }
  }
}

async function changeOne(change: BulkChange, run: RunRow, act: BulkParams['act']): Promise<void> {
  try {
    await act(run)
    change.succeeded++
  } catch (error) {
    change.failed++
    if (change.errors.length < MOST_ERRORS) {
      change.errors.push({ runId: run.id, message: (error as Error).message })
    }
  }
}
