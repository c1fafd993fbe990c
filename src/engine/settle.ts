/**
 * Settle: records outcomes and advances their instances, a batch in one transaction.
 *   1 lock   the roots, ordered, skipping locked ones; what was skipped joins a later batch
 *   2 fence  each run against the lease its report names
 *   3 fire   per root, outcomes folded one after another in the order they came
 *   4 write  set-based, commit, then reply
 * One bad outcome never fails its neighbours: a batch the store refuses is halved until the offender is alone, and that
 * run fails as `unstorable`. While the store is away batches wait and are sent again; report ids make that safe.
 */
import { StoreDataError, StoreUnavailableError } from '../store/errors.ts'
import type { RunRow } from '../store/rows.ts'
import type { Delivery, Reply, Report } from '../worker/port.ts'
import type { Logger } from './api.ts'
import { type Batch, Batcher } from './batcher.ts'
import type { Change } from './change.ts'
import { deliveryOf } from './deliveries.ts'
import type { Expected, Foresight } from './foresight.ts'
import type { Offer } from './handoff.ts'
import type { Act, Pass, Transactor } from './transactor.ts'

/** One thing to settle. */
export interface Settling {
  readonly runId: string
  readonly rootId: string | null
  readonly instanceId: string | null
  readonly bytes: number
  /** Present on a worker's report: lets the batch load in one go what it will need, and answer a repeat. */
  readonly report: { readonly sessionId: string; readonly report: Report } | null
  /** The run as it was given out, if that is known: serves the same foresight. */
  readonly hint?: Delivery
  /** Called when its outcome is decided, before the caller is told. */
  readonly decided?: () => void
  /** Folds it; the value is what the caller gets. */
  readonly fold: (change: Change) => Reply['status']
  /** The same run, to be failed because its outcome cannot be stored. */
  readonly unstorable: (change: Change) => Reply['status']
}

export interface Settled {
  readonly status: Reply['status']
  readonly next: Delivery | null
}

type Entry = Batch<Settling, Settled>

const MOST = 500
const MOST_BYTES = 8 * 1024 * 1024
/** A root skipped this often is waited for: somebody holds it long, or it is gone. */
const PATIENCE = 20

export class Settler {
  readonly #transactor: Transactor
  readonly #foresight: Foresight
  readonly #logger: Logger
  readonly #offers: (reports: readonly { readonly sessionId: string; readonly reportId: string }[]) => readonly Offer[]
  readonly #lanes: readonly Batcher<Settling, Settled>[]
  readonly #skips = new WeakMap<Entry, number>()
  #closed = false

  constructor(p: {
    readonly transactor: Transactor
    readonly foresight: Foresight
    readonly logger: Logger
    readonly lanes: number
    readonly offers: (reports: readonly { readonly sessionId: string; readonly reportId: string }[]) => readonly Offer[]
  }) {
    this.#transactor = p.transactor
    this.#foresight = p.foresight
    this.#logger = p.logger
    this.#offers = p.offers
    this.#lanes = Array.from(
      { length: p.lanes },
      (_, lane) =>
        new Batcher<Settling, Settled>({
          work: (batch) => this.#settle(lane, batch),
          most: MOST,
          mostBytes: MOST_BYTES,
          sizeOf: (s) => s.bytes,
        }),
    )
  }

  settle(settling: Settling): Promise<Settled> {
    const lane = this.#lanes[laneOf(settling.rootId ?? settling.runId, this.#lanes.length)]
    return (lane as Batcher<Settling, Settled>).add(settling, settling.report?.report.alone === true)
  }

  async idle(): Promise<void> {
    for (const lane of this.#lanes) await lane.idle()
  }

  close(): void {
    this.#closed = true
  }

  async #settle(lane: number, batch: readonly Entry[]): Promise<void> {
    let delay = 5
    for (;;) {
      try {
        return await this.#attempt(lane, batch, false)
      } catch (error) {
        if (error instanceof StoreDataError) return await this.#bisect(lane, batch, error)
        if (!(error instanceof StoreUnavailableError) || this.#closed) throw error
        this.#logger.warn(
          { code: error.code, outcomes: batch.length },
          `store unavailable, outcomes wait: ${error.message}`,
        )
        await new Promise((resolve) => setTimeout(resolve, delay))
        delay = Math.min(delay * 2, 2000)
      }
    }
  }

  async #bisect(lane: number, batch: readonly Entry[], error: StoreDataError): Promise<void> {
    if (batch.length > 1) {
      const half = Math.ceil(batch.length / 2)
      await this.#settle(lane, batch.slice(0, half))
      return this.#settle(lane, batch.slice(half))
    }
    const [only] = batch
    this.#logger.warn({ run: only?.params.runId, code: error.code }, `outcome cannot be stored: ${error.message}`)
    return this.#attempt(lane, batch, true)
  }

  async #attempt(lane: number, batch: readonly Entry[], unstorable: boolean): Promise<void> {
    const roots = new Map<string, Entry[]>()
    for (const entry of batch) {
      const root = entry.params.rootId ?? ''
      const group = roots.get(root)
      if (group === undefined) roots.set(root, [entry])
      else group.push(entry)
    }
    const patient = batch.some((entry) => (this.#skips.get(entry) ?? 0) >= PATIENCE)
    const reports = batch.flatMap(({ params: { report } }) =>
      report?.report.wantNext === true ? [{ sessionId: report.sessionId, reportId: report.report.reportId }] : [],
    )
    const act: Act<{ readonly statuses: Map<Entry, Reply['status']>; readonly skipped: Entry[] }> = {
      roots: [...roots.keys()].filter((root) => root !== ''),
      wait: patient,
      need: this.#foresight.needOf(batch.map(expected)),
      offers: () => this.#offers(reports),
      fold: (change, pass) => foldRoots(change, pass, roots, patient, unstorable),
    }
    const { value, handed, change } = await this.#transactor.run(act)
    const next = new Map<string, Delivery>()
    for (const { run, reportId } of handed)
      if (reportId !== null) next.set(reportId, deliveryOf(run, previousOf(change, run)))
    for (const [entry, status] of value.statuses) {
      const { report } = entry.params
      const reportId = report?.report.reportId
      const given = reportId === undefined ? null : (next.get(reportId) ?? handedBefore(change, report))
      entry.params.decided?.()
      entry.resolve({ status, next: given })
    }
    if (value.skipped.length > 0) {
      for (const entry of value.skipped) this.#skips.set(entry, (this.#skips.get(entry) ?? 0) + 1)
      setTimeout(() => this.#lanes[lane]?.again(value.skipped), 1)
    }
  }
}

function expected({ params: { runId, instanceId, report, hint } }: Entry): Expected {
  return { runId, instanceId, delivery: report?.report.delivery ?? hint }
}

function foldRoots(
  change: Change,
  pass: Pass,
  roots: ReadonlyMap<string, readonly Entry[]>,
  patient: boolean,
  unstorable: boolean,
): { readonly statuses: Map<Entry, Reply['status']>; readonly skipped: Entry[] } {
  const statuses = new Map<Entry, Reply['status']>()
  const skipped: Entry[] = []
  pass.each(roots, ([root, entries]) => {
    if (root !== '' && !change.loaded.locked.has(root)) {
      // Waited for and still not there: the instance is gone, and its runs with it.
      if (patient) for (const entry of entries) statuses.set(entry, 'not_found')
      else {
        skipped.push(...entries)
        for (const { params } of entries) if (params.report !== null) pass.unanswered.add(params.report.report.reportId)
      }
      return
    }
    for (const entry of entries) {
      statuses.set(entry, unstorable ? entry.params.unstorable(change) : entry.params.fold(change))
    }
  })
  return { statuses, skipped }
}

function handedBefore(change: Change, from: Settling['report']): Delivery | null {
  if (from === null) return null
  const [run] = change.loaded.handedBy.get(`${from.sessionId}/${from.report.reportId}`) ?? []
  return run === undefined ? null : deliveryOf(run)
}

/** A chain's next step comes with the result of the one before, which is at hand here. */
function previousOf(change: Change, run: RunRow): string | null | undefined {
  if (run.instanceId === null || run.node === null || run.role !== 'work' || run.item >= 0) return undefined
  const { net } = change.member(run.instanceId)
  const before = net.sources.get(run.node) ?? []
  if (before.length !== 1) return undefined
  return change.results.get(`${run.instanceId}/${before[0]}`)
}

function laneOf(id: string, lanes: number): number {
  // The last hex digits of a UUIDv7 are random.
  return Number.parseInt(id.slice(-4), 16) % lanes
}
