/**
 * A line of fetches with the same filter, first come first served: one claim serves as many of them as it can.
 *
 * A line is idle or claiming. A fetch, an offer or a wake-up makes an idle line claim, and makes a claiming line claim again
 * afterwards. After a claim the fetches that got runs leave, and those without runs leave if they do not wait; the others stay
 * until the next claim, until their time is over, or until the client disconnects. The runs of a client that disconnected
 * during the claim are given back. A claim ends early when it has as many payload bytes as one answer may contain; the
 * remaining fetches are served by the next claim.
 */

import { MAX_BATCH_BYTES } from '../../kernel/limits.ts'
import { unscopedName } from '../../kernel/scoped-names.ts'
import type { LeaseFetch } from '../../model/leases.ts'
import type { RunRow } from '../../model/rows.ts'
import { transitionOf } from '../../model/run-transitions.ts'
import type { Need } from '../../model/transaction.ts'
import { iso } from '../fold/run/lease-events.ts'
import { leasedAlone } from '../fold/run/runs.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Arrival } from '../transaction/consequences.ts'
import type { Transactor } from '../transaction/transactor.ts'
import type { Looked, Offer } from './arrivals.ts'
import { claim } from './claim.ts'
import { accepting } from './filter.ts'

/** How many runs one claim hands out. */
const MOST = 500

export interface FetchDeps {
  readonly transactor: Transactor
  /** Called with the leased runs before the fetch is answered. */
  readonly taken: (runs: readonly RunRow[]) => Promise<void>
  readonly giveBack: (runs: readonly RunRow[]) => Promise<void>
  /** Ends leases that have run out; true: there were some. */
  readonly expire: () => Promise<boolean>
  /** Fails a run that cannot be handed out; false: that failed too, so the run is still pending. */
  readonly undeliverable: (run: RunRow, error: unknown) => Promise<boolean>
  /** A rate limit refused work: to be looked for again at that time. */
  readonly dueAt: (at: number) => void
}

export interface Asking {
  readonly params: LeaseFetch
  readonly leave: (runs: readonly RunRow[]) => void
  readonly fail: (error: unknown) => void
  gone: boolean
  /** A claim has looked for it without success. */
  looked: boolean
}

export interface LineEvents {
  /** After each claim. */
  readonly looked: (looked: Looked) => void
  /** Called when no fetch is left, with the offers that it has not looked for. */
  readonly empty: (offers: readonly Offer[]) => void
}

type Filter = Pick<LeaseFetch, 'queues' | 'types' | 'tenant' | 'runtime'>

interface Given {
  readonly runs: ReadonlyMap<Asking, readonly RunRow[]>
  /** A limit or a pause refused runs that it wants. */
  readonly refused: boolean
  /** Runs that could not be handed out no longer precede the others. */
  readonly removed: boolean
  /** It ended early: it did not look for runs for the fetches that got none. */
  readonly cut: boolean
}

/** The result of one claim. */
interface Leased {
  readonly runs: ReadonlyMap<Asking, readonly RunRow[]>
  readonly cut: boolean
}

export class Line {
  readonly #deps: FetchDeps
  readonly #filter: Filter
  readonly #events: LineEvents
  readonly #accepts: ReturnType<typeof accepting>
  /** The waiting fetches, including those of the current claim. */
  #asking: Asking[] = []
  /** Fetches that joined since the last claim began, so no claim has looked for runs for them. */
  readonly #fresh = new Set<Asking>()
  /** Offered since the last claim began. */
  #offers: Offer[] = []
  #offersUnderWay = 0
  #claiming: Promise<void> | null = null
  #again = false
  /** Its last claim found runs that a limit or a pause refused, so it must look again when there is room. */
  #refused = false
  fedAt: number
  /** Queues it got work from, if it takes from all: their settings are loaded with the next claim's first read. */
  readonly #queuesSeen = new Set<string>()

  constructor(deps: FetchDeps, filter: Filter, fedAt: number, events: LineEvents) {
    this.#deps = deps
    this.#filter = filter
    this.#accepts = accepting(filter)
    this.#events = events
    this.fedAt = fedAt
  }

  get runtime(): string | null {
    return this.#filter.runtime
  }

  get room(): number {
    let room = -this.#offers.length - this.#offersUnderWay
    for (const { params } of this.#asking) room += params.limit
    return Math.min(room, MOST)
  }

  wants(arrival: Arrival): boolean {
    if (this.#asking.length === 0) return false
    if (arrival.runId !== null) return this.#accepts(arrival)
    return this.#refused && this.takesFrom(new Set([arrival.queue]))
  }

  takesFrom(queues: ReadonlySet<string> | null): boolean {
    return queues === null || this.#filter.queues === null || this.#filter.queues.some((q) => queues.has(q))
  }

  offer(offer: Offer): void {
    this.#offers.push(offer)
    void this.look()
  }

  add(asking: Asking): void {
    this.#asking.push(asking)
    this.#fresh.add(asking)
    void this.look()
  }

  remove(asking: Asking): void {
    this.#asking = this.#asking.filter((a) => a !== asking)
    this.#fresh.delete(asking)
    if (!asking.gone) asking.leave([])
    this.#forgetIfEmpty()
  }

  removeAll(): void {
    for (const asking of this.#asking) this.remove(asking)
  }

  look(): Promise<void> {
    this.#again = true
    this.#claiming ??= this.#serve()
    return this.#claiming
  }

  #forgetIfEmpty(): void {
    if (this.#asking.length > 0 || this.#claiming !== null) return
    const offers = this.#offers
    this.#offers = []
    this.#events.empty(offers)
  }

  async #serve(): Promise<void> {
    // Fetches that arrive in the same turn share the claim.
    await Promise.resolve()
    do {
      const served = this.#next(this.#again ? this.#asking : this.#fresh)
      this.#again = false
      if (served.length > 0) await this.#claimFor(served)
    } while ((this.#again || this.#fresh.size > 0) && this.#asking.length > 0)
    this.#claiming = null
    this.#forgetIfEmpty()
  }

  /** The first of these fetches, as many as one claim serves. */
  #next(line: Iterable<Asking>): readonly Asking[] {
    const served: Asking[] = []
    let room = MOST
    for (const asking of line) {
      if (served.length > 0 && asking.params.limit > room) break
      served.push(asking)
      room -= asking.params.limit
    }
    return served
  }

  async #claimFor(served: readonly Asking[]): Promise<void> {
    const standing = this.#asking
    for (const asking of served) this.#fresh.delete(asking)
    const offers = this.#offers
    this.#offers = []
    this.#offersUnderWay = offers.length
    const takenIds = new Set<string>()
    let sawAll = false
    try {
      const { runs: given, refused, removed, cut } = await this.#claim(served)
      this.#refused = refused
      let full = true
      for (const asking of served) {
        const runs = given.get(asking)
        if (runs === undefined || runs.length < Math.min(asking.params.limit, MOST)) full = false
        for (const { id } of runs ?? []) takenIds.add(id)
        if (runs !== undefined && runs.length > 0) await this.#hand(asking, runs)
      }
      const early = cut && takenIds.size > 0
      sawAll = given.size > 0 && !full && !removed && !early
      // There may be more runs, and a fetch has fewer than it asked for.
      if ((full || early) && this.#asking.length > 0) this.#again = true
      // Then there is nothing for later fetches either.
      if (!early) await this.#leaveEmpty(sawAll ? standing : served, removed)
    } catch (error) {
      this.#asking = this.#asking.filter((asking) => !served.includes(asking))
      for (const asking of served) if (!asking.gone) asking.fail(error)
    }
    this.#offersUnderWay = 0
    this.#events.looked({ offers, takenIds, sawAll })
  }

  /** Looks again after leases that have run out were ended, or after a run that could not be handed out failed. */
  async #leaveEmpty(looked: readonly Asking[], removed: boolean): Promise<void> {
    const empty = looked.filter((asking) => !asking.gone)
    const came = empty.filter((asking) => !asking.looked)
    for (const asking of empty) {
      asking.looked = true
      this.#fresh.delete(asking)
    }
    if (removed || (came.length > 0 && (await this.#deps.expire()))) {
      for (const asking of removed ? empty : came) if (!asking.gone) this.#fresh.add(asking)
      return
    }
    for (const asking of empty) if (!asking.gone && asking.params.waitMs <= 0) this.remove(asking)
  }

  async #hand(asking: Asking, runs: readonly RunRow[]): Promise<void> {
    await this.#deps.taken(runs)
    if (asking.gone) return this.#deps.giveBack(runs)
    this.fedAt = performance.now()
    this.#asking = this.#asking.filter((a) => a !== asking)
    asking.leave(runs)
  }

  async #claim(served: readonly Asking[]): Promise<Given> {
    const limit = Math.min(
      MOST,
      served.reduce((sum, { params }) => sum + params.limit, 0),
    )
    const inOrder = this.#filter.queues !== null
    const queues = this.#filter.queues ?? [...this.#queuesSeen]
    const need: Need = {
      candidates: { ...this.#filter, limit, skipQueues: [], skipLimitKeys: [], inOrder, maxBytes: MAX_BATCH_BYTES },
      queues,
      limits: queues.map((queue) => `queue:${queue}`),
      sessions: [...new Set(served.map(({ params }) => params.holder))],
    }
    const failed = new Map<RunRow, unknown>()
    const { value, change } = await this.#deps.transactor.run({
      roots: [],
      wait: false,
      need,
      fold: (c) => this.#lease(c, served, failed),
    })
    let removed = false
    for (const [run, error] of failed) if (await this.#deps.undeliverable(run, error)) removed = true
    for (const runs of value.runs.values()) for (const { queue } of runs) this.#queuesSeen.add(queue)
    if (change.admission.retryAt !== null) this.#deps.dueAt(change.admission.retryAt)
    return { ...value, refused: change.admission.refused, removed }
  }

  /**
   * In order: the first fetch is served in full before the second gets anything. A worker that was directed to stop
   * gets nothing.
   */
  #lease(change: WorkingSet, served: readonly Asking[], failed: Map<RunRow, unknown>): Leased {
    failed.clear()
    const given = new Map<Asking, RunRow[]>()
    let limit = 0
    for (const asking of served) {
      const state = change.loaded.sessions.get(asking.params.holder)?.state
      if (asking.gone || state === 'quiet' || state === 'terminate') continue
      given.set(asking, [])
      limit += asking.params.limit
    }
    const takers = given.entries()
    let taker = takers.next().value
    const filter = { ...this.#filter, inOrder: this.#filter.queues !== null, maxBytes: MAX_BATCH_BYTES }
    const lease = (run: RunRow): RunRow | null => {
      while (taker !== undefined && taker[1].length >= taker[0].params.limit) taker = takers.next().value
      const [{ params }, runs] = taker as [Asking, RunRow[]]
      try {
        const row = leasedAlone(run, { holder: params.holder, leaseMs: params.leaseMs(run), now: change.now })
        recordStart(change, row)
        runs.push(row)
        return row
      } catch (error) {
        failed.set(run, error)
        return null
      }
    }
    const { cut } = claim(change, filter, Math.min(limit, MOST), lease)
    return { runs: given, cut }
  }
}

/** One event records lease and start. It has no sequence number of its instance, because a claim locks no instance. */
function recordStart(change: WorkingSet, run: RunRow): void {
  const worker = unscopedName(run.leasedBy)
  const data = {
    leased_at: iso(run.leasedAt),
    leased_by: worker,
    worker_id: worker,
    attempt: run.attempt + 1,
  }
  change.events.push({
    runId: run.id,
    instanceId: run.instanceId,
    seq: null,
    type: transitionOf('pending', 'claim', 'own_lease').event,
    node: run.node,
    actor: worker,
    tenant: run.tenant,
    data,
    at: change.now,
  })
}
