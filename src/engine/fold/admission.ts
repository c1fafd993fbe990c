import { StoreLockedError } from '../../kernel/store-errors.ts'
import type { LimitParams } from '../../model/limits.ts'
import { holdsRoom, isQuotaKey, limitKeys } from '../../model/limits.ts'
import type { Listing } from '../../model/registry.ts'
import type { LimitRow, QueueRow, RunRow } from '../../model/rows.ts'

const _KEYED = 'key:'

/** A rate window that begins further in the future than this was opened before the clock was set back: it is over. */
const AHEAD_MS = 1_000

export type Refusal = 'closed' | 'paused' | 'queue_limit' | 'key_limit'

export class Admission {
  readonly #queues: ReadonlyMap<string, QueueRow>
  readonly #listing: (type: string) => Listing | null
  readonly #isPaused: (type: string) => boolean
  readonly #limits = new Map<string, LimitRow>()
  /** Limits whose rows another transaction holds: nothing is admitted under them, and nothing is given back. */
  readonly #locked: ReadonlySet<string>
  readonly #now: number
  readonly #changed = new Set<string>()
  /** Keys that had no limit before: runs that are leased already are counted after the commit. */
  readonly newKeys = new Set<string>()
  /** Quotas under which there may be room now: queued instances are started after the commit. */
  readonly freed = new Set<string>()
  /** When a rate window that refused a run opens again. */
  retryAt: number | null = null
  /** A pause or a limit refused a run. */
  refused = false

  constructor(p: {
    readonly queues: ReadonlyMap<string, QueueRow>
    readonly listing: (type: string) => Listing | null
    /** Whether an operator has paused a type. */
    readonly isPaused: (type: string) => boolean
    readonly limits: ReadonlyMap<string, LimitRow>
    readonly lockedLimits?: ReadonlySet<string> | undefined
    readonly now: number
  }) {
    this.#queues = p.queues
    this.#listing = p.listing
    this.#isPaused = p.isPaused
    this.#now = p.now
    this.#locked = p.lockedLimits ?? NONE
    for (const [key, row] of p.limits) this.#limits.set(key, row)
  }

  /** Types in no registry are open to all; listed ones to workers that state their runtime, while they are enabled. */
  isOpen(type: string, runtime: string | null): boolean {
    if (this.#isPaused(type)) return false
    const listing = this.#listing(type)
    return listing === null || (listing.enabled && listing.runtime === runtime)
  }

  /** Takes the room if there is any. `runtime`: that of the worker. */
  take(run: RunRow, runtime: string | null): Refusal | null {
    if (!this.isOpen(run.type, runtime)) return 'closed'
    const keys = limitKeys(run)
    const refusal = this.#refusal(run, keys)
    if (refusal !== null) {
      this.refused = true
      return refusal
    }
    for (const key of keys) this.#add(key, 1)
    return null
  }

  #refusal(run: RunRow, keys: readonly string[]): Refusal | null {
    if (this.#queues.get(run.queue)?.paused === true) return 'paused'
    for (const key of keys) {
      if (!this.hasRoom(key)) return key.startsWith('queue:') ? 'queue_limit' : 'key_limit'
    }
    return null
  }

  /** Gives back the room that `take` took and that was not used. */
  giveBack(run: RunRow): void {
    for (const key of limitKeys(run)) this.#add(key, -1)
  }

  /** A lease ended; `run` as it was leased. The rate stays spent: it counts the beginnings of leases. */
  release(run: RunRow): void {
    if (!holdsRoom(run)) return
    for (const key of limitKeys(run)) this.#add(key, -1)
  }

  /** An instance begins to execute (1) or has ended (-1) under its quota. */
  count(key: string, n: 1 | -1): void {
    this.#add(key, n)
    if (n < 0) this.freed.add(key)
  }

  /** Sets a limit. An unchanged limit is not written again: many runs bring the same one. */
  set(p: LimitParams): void {
    this.#refuseLocked(p.key)
    const before = this.#limits.get(p.key)
    const row: LimitRow = {
      key: p.key,
      maxConcurrent: p.maxConcurrent === undefined ? (before?.maxConcurrent ?? null) : p.maxConcurrent,
      ratePer: p.ratePer === undefined ? (before?.ratePer ?? null) : p.ratePer,
      periodMs: p.periodMs === undefined ? (before?.periodMs ?? null) : p.periodMs,
      inUse: before?.inUse ?? 0,
      windowStart: before?.windowStart ?? 0,
      windowUsed: before?.windowUsed ?? 0,
    }
    const { maxConcurrent, ratePer, periodMs } = row
    if (before?.maxConcurrent === maxConcurrent && before.ratePer === ratePer && before.periodMs === periodMs) return
    // Instances under a quota are counted from the first one on, so there is nothing to recount.
    if (isQuotaKey(p.key)) this.freed.add(p.key)
    else if (before === undefined) this.newKeys.add(p.key)
    this.#limits.set(p.key, row)
    this.#changed.add(p.key)
  }

  changed(): readonly LimitRow[] {
    return [...this.#changed].sort().map((key) => this.#limits.get(key) as LimitRow)
  }

  hasRoom(key: string): boolean {
    if (this.#locked.has(key)) return false
    const row = this.#window(key)
    if (row === undefined) return true
    if (row.maxConcurrent !== null && row.inUse >= row.maxConcurrent) return false
    if (row.ratePer !== null && row.windowUsed >= row.ratePer) {
      const opens = row.windowStart + (row.periodMs ?? 0)
      this.retryAt = this.retryAt === null ? opens : Math.min(this.retryAt, opens)
      return false
    }
    return true
  }

  #refuseLocked(key: string): void {
    if (this.#locked.has(key)) throw new StoreLockedError([{ table: 'limit', key, holder: null }])
  }

  #add(key: string, n: 1 | -1): void {
    this.#refuseLocked(key)
    const row = this.#window(key)
    if (row === undefined) return
    this.#changed.add(key)
    this.#limits.set(key, {
      ...row,
      inUse: Math.max(0, row.inUse + n),
      windowStart: n > 0 && row.windowUsed === 0 ? this.#now : row.windowStart,
      windowUsed: row.windowUsed + (n > 0 && row.ratePer !== null ? 1 : 0),
    })
  }

  #window(key: string): LimitRow | undefined {
    const row = this.#limits.get(key)
    if (row === undefined || row.ratePer === null) return row
    const age = this.#now - row.windowStart
    if (age > -AHEAD_MS && age < (row.periodMs ?? 0)) return row
    const fresh = { ...row, windowStart: this.#now, windowUsed: 0 }
    this.#limits.set(key, fresh)
    return fresh
  }
}

const NONE: ReadonlySet<string> = new Set()
