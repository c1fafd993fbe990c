/**
 * Operations on many jobs: in portions, so that none of them locks much or holds much in memory. Each job is decided by
 * itself; one that is refused is counted and does not stop the others. Small ones are answered when they are done; a
 * large one goes on after the answer, and can be looked at under its id on the server that does it. A server that goes
 * down stops it where it is: what is done stays done, and asking again does the rest.
 */

import type { EngineApi } from '../../../engine/api.ts'
import { newId } from '../../../kernel/ids.ts'
import type { RunRow } from '../../../model/rows.ts'
import { timeText } from '../project/time.ts'
import type { JobFilter } from './jobs/job-query.ts'

export interface Operation {
  readonly id: string
  readonly action: string
  readonly tenant: string | null
  readonly startedAt: number
  status: 'running' | 'completed' | 'stopped'
  matched: number
  succeeded: number
  failed: number
  endedAt: number | null
  readonly errors: { readonly job_id: string; readonly error: string }[]
}

export interface BulkParams {
  readonly action: string
  readonly filter: JobFilter
  readonly act: (run: RunRow) => Promise<unknown>
}

const PORTION = 200
const AT_ONCE = 8
const MOST_ERRORS = 20
const KEPT = 100
/** Clients wait about half a minute before they give up. */
const PATIENCE_MS = 5_000

export class BulkOperations {
  readonly #engine: EngineApi
  readonly #closing: AbortSignal
  readonly #operations = new Map<string, Operation>()
  readonly #patienceMs: number

  constructor(params: { readonly engine: EngineApi; readonly closing: AbortSignal; readonly patienceMs?: number }) {
    this.#engine = params.engine
    this.#closing = params.closing
    this.#patienceMs = params.patienceMs ?? PATIENCE_MS
  }

  find(id: string): Operation | null {
    return this.#operations.get(id) ?? null
  }

  /** As it is when it has ended, or after a few seconds. */
  async run(params: BulkParams): Promise<Operation> {
    const operation: Operation = {
      id: newId(),
      action: params.action,
      tenant: params.filter.tenant,
      startedAt: Date.now(),
      status: 'running',
      matched: 0,
      succeeded: 0,
      failed: 0,
      endedAt: null,
      errors: [],
    }
    this.#operations.set(operation.id, operation)
    for (const [id, { status }] of this.#operations) {
      if (this.#operations.size <= KEPT) break
      if (status !== 'running') this.#operations.delete(id)
    }
    const done = this.#work(operation, params)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#patienceMs)
    })
    // A failure after that shows in its status only.
    done.catch(() => undefined)
    await Promise.race([done, late])
    clearTimeout(timer)
    return operation
  }

  async #work(operation: Operation, { filter, act }: BulkParams): Promise<void> {
    let before: string | null = null
    try {
      for (;;) {
        const runs: readonly RunRow[] = await this.#engine.queries.listRuns({
          ...filter,
          limit: PORTION,
          before,
          maxBytes: 0,
        })
        operation.matched += runs.length
        for (let at = 0; at < runs.length; at += AT_ONCE) {
          if (this.#closing.aborted) return
          await Promise.all(runs.slice(at, at + AT_ONCE).map((run) => this.#one(operation, run, act)))
        }
        before = runs.at(-1)?.id ?? null
        if (runs.length < PORTION) {
          operation.status = 'completed'
          return
        }
      }
    } finally {
      if (operation.status === 'running') operation.status = 'stopped'
      operation.endedAt = Date.now()
    }
  }

  async #one(operation: Operation, run: RunRow, act: BulkParams['act']): Promise<void> {
    try {
      await act(run)
      operation.succeeded++
    } catch (error) {
      operation.failed++
      if (operation.errors.length < MOST_ERRORS) {
        operation.errors.push({ job_id: run.id, error: (error as Error).message })
      }
    }
  }
}

export function operationWire(operation: Operation): object {
  const { id, action, status, matched, succeeded, failed, errors, startedAt, endedAt } = operation
  return {
    operation_id: id,
    action,
    status,
    matched,
    succeeded,
    failed,
    errors,
    started_at: timeText(startedAt),
    ...(endedAt === null ? {} : { ended_at: timeText(endedAt) }),
  }
}
