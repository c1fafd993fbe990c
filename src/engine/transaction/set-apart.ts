/**
 * Outcomes whose rows another transaction holds. Each waits for a while, longer every time, and is tried again; its report
 * is kept in memory only, like any report that is not committed yet.
 */

import type { Logger } from '../../kernel/logger.ts'
import type { StoreLockedError } from '../../kernel/store-errors.ts'
import type { Entry } from './settle.ts'

const FIRST_MS = 5
const MOST_MS = 200

interface Waiting {
  readonly since: number
  delayMs: number
  error: StoreLockedError
  /** null: it is being tried at the moment. */
  timer: NodeJS.Timeout | null
}

export class SetApart {
  readonly #logger: Logger
  readonly #again: (entries: readonly Entry[]) => void
  readonly #waiting = new Map<Entry, Waiting>()
  /** How many entries of a run wait. */
  readonly #runs = new Map<string, number>()
  #closed = false

  constructor(logger: Logger, again: (entries: readonly Entry[]) => void) {
    this.#logger = logger
    this.#again = again
  }

  has(runId: string): boolean {
    return this.#runs.has(runId)
  }

  put(entries: readonly Entry[], error: StoreLockedError): void {
    for (const entry of entries) this.#put(entry, error)
  }

  /** Its outcome was decided. */
  done(entry: Entry): void {
    if (this.#waiting.size === 0 || !this.#waiting.delete(entry)) return
    const { runId } = entry.params
    const left = (this.#runs.get(runId) ?? 1) - 1
    if (left === 0) this.#runs.delete(runId)
    else this.#runs.set(runId, left)
  }

  /** Entries that wait are refused; those being tried get their answer. */
  close(): void {
    this.#closed = true
    for (const [entry, { timer, error }] of [...this.#waiting]) {
      if (timer === null) continue
      clearTimeout(timer)
      this.#giveUp(entry, error)
    }
  }

  #put(entry: Entry, error: StoreLockedError): void {
    const { runId, ifLocked, patienceMs = Number.POSITIVE_INFINITY, waits } = entry.params
    if (ifLocked === 'leave') return entry.reject(error)
    if (ifLocked === 'keep') entry.resolve({ status: 'waiting', next: null })
    const known = this.#waiting.get(entry)
    const waiting = known ?? { since: performance.now(), delayMs: FIRST_MS, error, timer: null }
    if (known === undefined) {
      this.#waiting.set(entry, waiting)
      this.#runs.set(runId, (this.#runs.get(runId) ?? 0) + 1)
      this.#logger.warn({ run: runId, code: error.code }, `an outcome waits: ${error.message}`)
      waits?.()
    }
    waiting.error = error
    if (this.#closed || performance.now() - waiting.since > patienceMs) return this.#giveUp(entry, error)
    waiting.timer = setTimeout(() => {
      waiting.timer = null
      this.#again([entry])
    }, waiting.delayMs)
    waiting.delayMs = Math.min(waiting.delayMs * 2, MOST_MS)
  }

  #giveUp(entry: Entry, error: StoreLockedError): void {
    this.done(entry)
    entry.params.decided?.()
    entry.reject(error)
  }
}
