/**
 * Fetches of workers with leases of their own, and those that wait for work.
 *
 * Fetches that want the same stand in one line, first come first served, and one claim serves as many of them as it
 * can. A line is idle, or claiming. A fetch or a wake-up makes an idle line claim, and a claiming one claim once more
 * afterwards. After a claim those who got something leave, and those who got nothing leave if they do not wait; the
 * others stay until a wake-up, their time is over, or they go away. Whoever goes away during a claim that then gives him
 * something gives it back. A line that nobody stands in is forgotten.
 */
import type { RunRow } from '../store/rows.ts'
import type { Need } from '../store/store.ts'
import type { Change } from './change.ts'
import { claim } from './claim.ts'
import type { LeaseFetch } from './lease-api.ts'
import { iso } from './lease-story.ts'
import { leasedAlone } from './runs.ts'
import type { Transactor } from './transactor.ts'

/** Runs given out by one claim. */
const MOST = 500

export interface FetchDeps {
  readonly transactor: Transactor
  /** Given out, before the one who asked is told. */
  readonly taken: (runs: readonly RunRow[]) => Promise<void>
  readonly giveBack: (runs: readonly RunRow[]) => Promise<void>
  /** Ends leases that have run out; true: there were some. */
  readonly expire: () => Promise<boolean>
  /** A rate limit refused: look again then. */
  readonly dueAt: (at: number) => void
}

interface Asking {
  readonly params: LeaseFetch
  readonly leave: (runs: readonly RunRow[]) => void
  readonly fail: (error: unknown) => void
  gone: boolean
}

type Filter = Pick<LeaseFetch, 'queues' | 'types' | 'tenant' | 'runtime'>

export class Fetches {
  readonly #deps: FetchDeps
  readonly #lines = new Map<string, Line>()
  #closed = false

  constructor(deps: FetchDeps) {
    this.#deps = deps
  }

  fetch(params: LeaseFetch): Promise<readonly RunRow[]> {
    if (this.#closed || params.limit < 1 || params.signal?.aborted === true) return Promise.resolve([])
    const { queues, types, tenant, runtime, signal } = params
    const key = JSON.stringify([queues, types, tenant, runtime])
    const empty = (): unknown => this.#lines.delete(key)
    const line = this.#lines.get(key) ?? new Line(this.#deps, { queues, types, tenant, runtime }, empty)
    this.#lines.set(key, line)
    return new Promise<readonly RunRow[]>((resolve, reject) => {
      const forget = (): void => {
        asking.gone = true
        clearTimeout(timer)
        signal?.removeEventListener('abort', nothing)
      }
      const leave = (runs: readonly RunRow[]): void => {
        forget()
        resolve(runs)
      }
      const nothing = (): void => line.remove(asking)
      const asking: Asking = {
        params,
        leave,
        fail: (error) => {
          forget()
          reject(error)
        },
        gone: false,
      }
      const timer = params.waitMs > 0 ? setTimeout(nothing, params.waitMs) : undefined
      signal?.addEventListener('abort', nothing, { once: true })
      line.add(asking)
    })
  }

  /** Something may be claimable; null: on any queue. */
  wake(queues: ReadonlySet<string> | null): void {
    for (const line of [...this.#lines.values()]) line.wake(queues)
  }

  /** Whoever waits leaves with nothing. */
  close(): void {
    this.#closed = true
    for (const line of [...this.#lines.values()]) line.removeAll()
  }
}

class Line {
  readonly #deps: FetchDeps
  readonly #filter: Filter
  readonly #empty: () => unknown
  /** Stand in line; those of the claim under way are still among them. */
  #asking: Asking[] = []
  /** Asked since the last claim began, so they have not been looked for yet. */
  readonly #fresh = new Set<Asking>()
  #claiming = false
  #again = false
  /** Queues it got work from, when it takes from all: their settings are loaded with the next claim at once. */
  readonly #queuesSeen = new Set<string>()

  constructor(deps: FetchDeps, filter: Filter, empty: () => unknown) {
    this.#deps = deps
    this.#filter = filter
    this.#empty = empty
  }

  add(asking: Asking): void {
    this.#asking.push(asking)
    this.#fresh.add(asking)
    this.#look()
  }

  wake(queues: ReadonlySet<string> | null): void {
    if (this.#asking.length === 0) return
    if (queues === null || this.#filter.queues === null || this.#filter.queues.some((q) => queues.has(q))) this.#look()
  }

  remove(asking: Asking): void {
    this.#asking = this.#asking.filter((a) => a !== asking)
    this.#fresh.delete(asking)
    if (!asking.gone) asking.leave([])
    if (this.#asking.length === 0 && !this.#claiming) this.#empty()
  }

  removeAll(): void {
    for (const asking of this.#asking) this.remove(asking)
  }

  #look(): void {
    if (this.#claiming) this.#again = true
    else void this.#serve()
  }

  async #serve(): Promise<void> {
    this.#claiming = true
    // Fetches that come in the same turn share the claim.
    await Promise.resolve()
    do {
      this.#again = false
      const served = this.#next()
      if (served.length > 0) await this.#claimFor(served)
    } while ((this.#again || this.#fresh.size > 0) && this.#asking.length > 0)
    this.#claiming = false
    if (this.#asking.length === 0) this.#empty()
  }

  /** The first in line, as many as one claim serves. */
  #next(): readonly Asking[] {
    const served: Asking[] = []
    let room = MOST
    for (const asking of this.#asking) {
      if (served.length > 0 && asking.params.limit > room) break
      served.push(asking)
      room -= asking.params.limit
    }
    for (const asking of served) this.#fresh.delete(asking)
    return served
  }

  async #claimFor(served: readonly Asking[]): Promise<void> {
    try {
      const given = await this.#claim(served)
      let full = true
      for (const asking of served) {
        const runs = given.get(asking) ?? []
        if (runs.length < Math.min(asking.params.limit, MOST)) full = false
        if (runs.length > 0) await this.#hand(asking, runs)
      }
      // Perhaps there is more, and somebody has not got his share.
      if (full && this.#asking.length > 0) this.#again = true
      const empty = served.filter((asking) => !asking.gone)
      if (empty.length > 0 && (await this.#deps.expire())) {
        // What had run out belongs to whoever asks: they are looked for once more.
        for (const asking of empty) if (!asking.gone) this.#fresh.add(asking)
        return
      }
      for (const asking of empty) if (asking.params.waitMs <= 0) this.remove(asking)
    } catch (error) {
      this.#asking = this.#asking.filter((asking) => !served.includes(asking))
      for (const asking of served) if (!asking.gone) asking.fail(error)
    }
  }

  async #hand(asking: Asking, runs: readonly RunRow[]): Promise<void> {
    await this.#deps.taken(runs)
    if (asking.gone) return this.#deps.giveBack(runs)
    this.#asking = this.#asking.filter((a) => a !== asking)
    asking.leave(runs)
  }

  async #claim(served: readonly Asking[]): Promise<ReadonlyMap<Asking, readonly RunRow[]>> {
    const limit = Math.min(
      MOST,
      served.reduce((sum, { params }) => sum + params.limit, 0),
    )
    const inOrder = this.#filter.queues !== null
    const queues = this.#filter.queues ?? [...this.#queuesSeen]
    const need: Need = {
      candidates: { ...this.#filter, limit, skipQueues: [], skipLimitKeys: [], inOrder },
      queues,
      limits: queues.map((queue) => `queue:${queue}`),
      sessions: [...new Set(served.map(({ params }) => params.holder))],
    }
    const { value, change } = await this.#deps.transactor.run({
      roots: [],
      wait: false,
      need,
      fold: (c) => this.#lease(c, served),
    })
    for (const runs of value.values()) for (const { queue } of runs) this.#queuesSeen.add(queue)
    if (change.admission.retryAt !== null) this.#deps.dueAt(change.admission.retryAt)
    return value
  }

  /** In turn: the first is served in full before the second gets anything. A worker told to stop gets nothing. */
  #lease(change: Change, served: readonly Asking[]): ReadonlyMap<Asking, RunRow[]> {
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
    const filter = { ...this.#filter, inOrder: this.#filter.queues !== null }
    claim(change, filter, Math.min(limit, MOST), (run) => {
      while (taker !== undefined && taker[1].length >= taker[0].params.limit) taker = takers.next().value
      const [{ params }, runs] = taker as [Asking, RunRow[]]
      const row = leasedAlone(run, { holder: params.holder, leaseMs: params.leaseMs(run), now: change.now })
      runs.push(row)
      tellStart(change, row)
      return row
    })
    return given
  }
}

/** One event tells lease and start. It has no number of its instance's: a claim locks no instance. */
function tellStart(change: Change, run: RunRow): void {
  const data = {
    leased_at: iso(run.leasedAt),
    leased_by: run.leasedBy,
    worker_id: run.leasedBy,
    attempt: run.attempt + 1,
  }
  change.events.push({
    runId: run.id,
    instanceId: run.instanceId,
    seq: null,
    type: 'started',
    node: run.node,
    actor: run.leasedBy,
    tenant: run.tenant,
    data: JSON.stringify(data),
    at: change.now,
  })
}
