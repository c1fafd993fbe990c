/**
 * Settle: records outcomes and advances their instances, a batch in one transaction.
 *   1 lock   the roots, ordered, skipping locked ones; what was skipped joins a later batch
 *   2 fence  each run against the lease its report names
 *   3 fire   per root, outcomes folded one after another in the order they came
 *   4 write  set-based, commit, then reply
 * One bad outcome never fails its neighbours: a batch that the store refuses, or that throws while it is folded or
 * written as JSON, is halved until the offender is alone, and that run fails as `unstorable`. If even that throws, its
 * caller alone gets the error. While the store is away batches wait and are sent again; report ids make that safe.
 *
 * Nothing waits for a row that another transaction holds: its outcome is set apart (set-apart.ts) and tried again in a lane
 * of its own, and the batch is settled without it.
 */

import { MAX_BATCH_BYTES } from '../../kernel/limits.ts'
import type { Logger } from '../../kernel/logger.ts'
import { sleep } from '../../kernel/sleep.ts'
import {
  type LockedRow,
  StoreConflictError,
  StoreLockedError,
  StoreUnavailableError,
  StoreUnusableError,
} from '../../kernel/store-errors.ts'
import { holdsRoom, limitKeys } from '../../model/limits.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Delivery, Reply, Report } from '../../worker/port.ts'
import { memberOf } from '../fold/members.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import { type Batch, Batcher } from './batcher.ts'
import { deliveryOf } from './deliveries.ts'
import type { Faults } from './faults.ts'
import type { Offer } from './handoff.ts'
import type { Expected, Prefetch } from './prefetch.ts'
import { SetApart } from './set-apart.ts'
import type { Act, Pass, Transactor } from './transactor.ts'

/** One thing to settle. */
export interface Settling {
  readonly runId: string
  readonly rootId: string | null
  readonly instanceId: string | null
  readonly bytes: number
  /** Present for a worker's report: the batch loads what it will need in one read, and can answer a repeated report. */
  readonly report: { readonly sessionId: string; readonly report: Report } | null
  /** The run as it was handed out, if that is known: for the same prefetch. */
  readonly hint?: Delivery
  /**
   * While another transaction holds its rows, the caller waits for `patienceMs` (left out: without limit), then gets a
   * StoreLockedError. 'keep': the caller gets 'waiting' at once, and it is settled when the rows are free. 'leave': the caller
   * gets a StoreLockedError at once, and it is not settled.
   */
  readonly ifLocked?: 'keep' | 'leave'
  readonly patienceMs?: number
  /** Called when the wait for such rows begins. */
  readonly waits?: () => void
  /** Called when its outcome is decided or refused, before the caller gets the answer. */
  readonly decided?: () => void
  /** Folds it; its value is returned to the caller. */
  readonly fold: (change: WorkingSet) => Reply['status']
  /** Fails the run instead, because its outcome cannot be stored. */
  readonly unstorable: (change: WorkingSet) => Reply['status']
}

export interface Settled {
  readonly status: Reply['status']
  readonly next: Delivery | null
}

export type Entry = Batch<Settling, Settled>

/**
 * How long a report from another process waits for a row that another transaction holds; then its sender must send it
 * again.
 */
export const LOCK_PATIENCE_MS = 10_000

const MOST = 500
/** A root that was skipped this often is set apart: another transaction holds it for long, or it no longer exists. */
const SKIPS = 20

export class Settler {
  readonly #transactor: Transactor
  readonly #prefetch: Prefetch
  readonly #logger: Logger
  readonly #faults: Faults
  readonly #offers: (reports: readonly { readonly sessionId: string; readonly reportId: string }[]) => readonly Offer[]
  readonly #lanes: readonly Batcher<Settling, Settled>[]
  /** The lane of entries that were set apart, where they do not delay others. */
  readonly #late: Batcher<Settling, Settled>
  readonly #setApart: SetApart
  readonly #skips = new WeakMap<Entry, number>()
  #closed = false

  constructor(p: {
    readonly transactor: Transactor
    readonly prefetch: Prefetch
    readonly logger: Logger
    readonly faults: Faults
    readonly lanes: number
    readonly offers: (reports: readonly { readonly sessionId: string; readonly reportId: string }[]) => readonly Offer[]
  }) {
    this.#transactor = p.transactor
    this.#prefetch = p.prefetch
    this.#logger = p.logger
    this.#faults = p.faults
    this.#offers = p.offers
    const lane = (): Batcher<Settling, Settled> => {
      const made: Batcher<Settling, Settled> = new Batcher<Settling, Settled>({
        work: (batch) => this.#settle(made, batch),
        most: MOST,
        mostBytes: MAX_BATCH_BYTES,
        sizeOf: (s) => s.bytes,
      })
      return made
    }
    this.#lanes = Array.from({ length: p.lanes }, lane)
    this.#late = lane()
    this.#setApart = new SetApart(p.logger, (entries) => this.#late.again(entries))
  }

  settle(settling: Settling): Promise<Settled> {
    // The sweeper found a run whose report waits for the lock: the report came first.
    if (settling.ifLocked === 'leave' && this.#setApart.has(settling.runId)) {
      return Promise.reject(new StoreLockedError([{ table: 'run', key: settling.runId, holder: null }]))
    }
    const lane = this.#lanes[laneOf(settling.rootId ?? settling.runId, this.#lanes.length)]
    return (lane as Batcher<Settling, Settled>).add(settling, settling.report?.report.alone === true)
  }

  async idle(): Promise<void> {
    for (const lane of this.#lanes) await lane.idle()
    await this.#late.idle()
  }

  /** Gives up entries that wait for locked rows. */
  close(): void {
    this.#closed = true
    this.#setApart.close()
  }

  async #settle(lane: Lane, batch: readonly Entry[], unstorable = false): Promise<void> {
    let delay = 5
    let conflicts = 0
    for (;;) {
      try {
        return await this.#attempt(lane, batch, unstorable)
      } catch (error) {
        // A key was taken between load and write: the next attempt decides.
        if (error instanceof StoreConflictError && conflicts++ === 0) continue
        if (error instanceof StoreLockedError) return await this.#around(lane, batch, error, unstorable)
        if (!(error instanceof StoreUnavailableError)) return await this.#contain(lane, batch, error, unstorable)
        if (this.#closed) return reject(batch, error)
        this.#logger.warn(
          { code: error.code, outcomes: batch.length },
          `store unavailable, outcomes wait: ${error.message}`,
        )
        await sleep(delay)
        delay = Math.min(delay * 2, 2000)
      }
    }
  }

  /** Settles the entries that do not need the locked rows. If it is unknown which need them, the batch is halved. */
  async #around(lane: Lane, batch: readonly Entry[], error: StoreLockedError, unstorable: boolean): Promise<void> {
    const held = batch.filter((entry) => needs(entry, error.rows))
    if (held.length === 0 && batch.length > 1) {
      const half = Math.ceil(batch.length / 2)
      await this.#settle(lane, batch.slice(0, half))
      return this.#settle(lane, batch.slice(half))
    }
    this.#setApart.put(held.length === 0 ? batch : held, error)
    const free = held.length === 0 ? [] : batch.filter((entry) => !held.includes(entry))
    if (free.length > 0) await this.#settle(lane, free, unstorable)
  }

  /**
   * Halves until the failing entry is alone. Its run fails as unstorable; if that throws too, the entry is refused and
   * the run is unchanged.
   */
  async #contain(lane: Lane, batch: readonly Entry[], error: unknown, unstorable: boolean): Promise<void> {
    if (error instanceof StoreUnusableError) return reject(batch, error)
    if (batch.length > 1) {
      const half = Math.ceil(batch.length / 2)
      await this.#settle(lane, batch.slice(0, half))
      return this.#settle(lane, batch.slice(half))
    }
    const [only] = batch as readonly [Entry]
    const { runId } = only.params
    if (unstorable) {
      this.#faults.note('settle_failed', runId, error)
      return reject(batch, error)
    }
    const { code = 'engine_error', message } = error as { readonly code?: string; readonly message: string }
    this.#logger.warn({ run: runId, code }, `outcome cannot be stored: ${message}`)
    return this.#settle(lane, batch, true)
  }

  async #attempt(lane: Lane, batch: readonly Entry[], unstorable: boolean): Promise<void> {
    const roots = new Map<string, Entry[]>()
    for (const entry of batch) {
      const root = entry.params.rootId ?? ''
      const group = roots.get(root)
      if (group === undefined) roots.set(root, [entry])
      else group.push(entry)
    }
    const reports = batch.flatMap(({ params: { report } }) =>
      report?.report.wantNext === true ? [{ sessionId: report.sessionId, reportId: report.report.reportId }] : [],
    )
    const act: Act<{ readonly statuses: Map<Entry, Reply['status']>; readonly skipped: Entry[] }> = {
      roots: [...roots.keys()].filter((root) => root !== ''),
      wait: false,
      need: this.#prefetch.needOf(batch.map(expected)),
      offers: () => this.#offers(reports),
      fold: (change, pass) => foldRoots(change, pass, roots, unstorable),
    }
    const { value, handed, change } = await this.#transactor.run(act)
    const next = new Map<string, Delivery>()
    for (const { run, reportId } of handed)
      if (reportId !== null) next.set(reportId, deliveryOf(run, previousOf(change, run)))
    for (const [entry, status] of value.statuses) {
      const { report } = entry.params
      const reportId = report?.report.reportId
      const given = reportId === undefined ? null : (next.get(reportId) ?? handedBefore(change, report))
      this.#setApart.done(entry)
      entry.params.decided?.()
      entry.resolve({ status, next: given })
    }
    if (value.skipped.length > 0) await this.#skipped(lane, value.skipped)
  }

  /** A root that was skipped: held for a moment by this engine, or for long by another transaction, or deleted. */
  async #skipped(lane: Lane, skipped: readonly Entry[]): Promise<void> {
    const often: Entry[] = []
    const again: Entry[] = []
    for (const entry of skipped) {
      const skips = (this.#skips.get(entry) ?? 0) + 1
      this.#skips.set(entry, skips)
      if (lane === this.#late || skips >= SKIPS) often.push(entry)
      else again.push(entry)
    }
    if (again.length > 0) setTimeout(() => lane.again(again), 1)
    if (often.length === 0) return
    const roots = await this.#existing([...new Set(often.flatMap(({ params }) => params.rootId ?? []))])
    for (const entry of often) {
      const { rootId, decided } = entry.params
      if (rootId === null || roots.has(rootId)) {
        const row = { table: 'instance', key: rootId ?? '', holder: null } as const
        this.#setApart.put([entry], new StoreLockedError(rootId === null ? [] : [row]))
        continue
      }
      this.#setApart.done(entry)
      decided?.()
      entry.resolve({ status: 'not_found', next: null })
    }
  }

  async #existing(roots: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const fold: Act<ReadonlyMap<string, unknown>>['fold'] = (change) => change.loaded.instances
    return (await this.#transactor.run({ roots: [], wait: false, need: { instances: roots }, fold })).value
  }
}

type Lane = Batcher<Settling, Settled>

function reject(batch: readonly Entry[], error: unknown): void {
  for (const entry of batch) {
    entry.params.decided?.()
    entry.reject(error)
  }
}

function needs({ params: { runId, rootId, instanceId } }: Entry, rows: readonly LockedRow[]): boolean {
  return rows.some(({ table, key }) =>
    table === 'run' ? key === runId : table === 'instance' && (key === instanceId || key === rootId),
  )
}

/** Whether the room that it gives back is counted in a row that another transaction holds. */
function holdsLockedRoom({ loaded: { lockedLimits, runs } }: WorkingSet, runId: string): boolean {
  if (lockedLimits === undefined || lockedLimits.size === 0) return false
  const run = runs.get(runId)
  return run !== undefined && holdsRoom(run) && limitKeys(run).some((key) => lockedLimits.has(key))
}

function expected({ params: { runId, instanceId, report, hint } }: Entry): Expected {
  return { runId, instanceId, delivery: report?.report.delivery ?? hint }
}

function foldRoots(
  change: WorkingSet,
  pass: Pass,
  roots: ReadonlyMap<string, readonly Entry[]>,
  unstorable: boolean,
): { readonly statuses: Map<Entry, Reply['status']>; readonly skipped: Entry[] } {
  const statuses = new Map<Entry, Reply['status']>()
  const skipped: Entry[] = []
  const skip = (entry: Entry): void => {
    skipped.push(entry)
    const { report } = entry.params
    if (report !== null) pass.unanswered.add(report.report.reportId)
  }
  pass.each(roots, ([root, entries]) => {
    const locked = root === '' || change.loaded.locked.has(root)
    for (const entry of entries) {
      if (!locked || holdsLockedRoom(change, entry.params.runId)) skip(entry)
      else statuses.set(entry, unstorable ? entry.params.unstorable(change) : entry.params.fold(change))
    }
  })
  return { statuses, skipped }
}

function handedBefore(change: WorkingSet, from: Settling['report']): Delivery | null {
  if (from === null) return null
  const [run] = change.loaded.handedBy.get(`${from.sessionId}/${from.report.reportId}`) ?? []
  return run === undefined ? null : deliveryOf(run)
}

/** The result of the previous step, which is delivered with the next step of a chain. */
function previousOf(change: WorkingSet, run: RunRow): string | null | undefined {
  if (run.instanceId === null || run.node === null || run.role !== 'work' || run.item >= 0) return undefined
  const { net } = memberOf(change, run.instanceId)
  const before = net.sources.get(run.node) ?? []
  if (before.length !== 1) return undefined
  return change.results.get(`${run.instanceId}/${before[0]}`)
}

function laneOf(id: string, lanes: number): number {
  // The last hex digits of a UUIDv7 are random.
  return Number.parseInt(id.slice(-4), 16) % lanes
}
