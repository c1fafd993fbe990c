/**
 * Work for clients that hold a lease of their own, renewed per run, instead of a session: workers over HTTP. A lease
 * ends by its holder's report, or at its time, or with a holder that had sent heartbeats and fell silent. At that moment
 * it is over for everybody: a report that comes later changes nothing, even if nobody had looked yet.
 */
import type { Failure } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import type { RunRow, WorkerRow } from '../store/rows.ts'
import type { Store } from '../store/store.ts'
import type { Delivery } from '../worker/port.ts'
import type { Logger } from './api.ts'
import type { Change } from './change.ts'
import { deliveryOf } from './deliveries.ts'
import { unstorable } from './edge.ts'
import { PetrelError } from './errors.ts'
import { Fetches } from './fetches.ts'
import { checkFilter } from './filter.ts'
import type { LeaseBeat, LeaseFetch, LeaseReport, LeaseSettled, Leases } from './lease-api.ts'
import { type CheckedReport, missing, settleLease } from './lease-report.ts'
import { type Chance, leaseExpired, unclaimed } from './outcomes.ts'
import { NOT_AVAILABLE, type References, refersAside } from './references.ts'
import { checkSaid, isRefused } from './said.ts'
import type { Settler } from './settle.ts'
import type { Transactor } from './transactor.ts'

/** Runs given out here whose root and place are remembered: a report then needs no look-up. */
const REMEMBERED = 20_000
/** Leases ended on the way of one fetch; the sweeper does the rest. */
const EXPIRED_AT_ONCE = 100

export interface LeaseDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly settler: Settler
  readonly newId: () => string
  readonly chance: Chance
  readonly logger: Logger
  readonly maxPayloadBytes: number
  readonly references: References
  readonly noteStarts: (runs: readonly RunRow[]) => Promise<void>
  readonly dueAt: (at: number) => void
  /** Notes that a worker asked for work; the fetch goes on as it is. */
  readonly polled: <T>(worker: string, fetch: Promise<T>) => Promise<T>
}

type Key = Pick<Delivery, 'runId' | 'rootId' | 'instanceId'>

export class LeaseDesk implements Leases {
  readonly #deps: LeaseDeps
  readonly #fetches: Fetches
  readonly #known = new Map<string, Delivery>()

  constructor(deps: LeaseDeps) {
    this.#deps = deps
    this.#fetches = new Fetches({
      transactor: deps.transactor,
      taken: (runs) => this.#taken(runs),
      giveBack: (runs) => this.#giveBack(runs),
      expire: () => this.#expire(),
      dueAt: deps.dueAt,
    })
  }

  async fetch(params: LeaseFetch): Promise<readonly RunRow[]> {
    checkFilter(params)
    const runs = await this.#deps.polled(params.holder, this.#fetches.fetch(params))
    const whole = await Promise.all(runs.map((run) => this.#whole(run)))
    return whole.filter((run) => run !== null)
  }

  /** With all of its arguments, as a handler is given them; null: they are gone, and the run has failed. */
  async #whole(run: RunRow): Promise<RunRow | null> {
    if (run.instanceId === null || !run.payload.includes('"$')) return run
    const payload = JSON.parse(run.payload) as Json
    if (!refersAside(payload)) return run
    const args = await this.#deps.references.resolve(run.instanceId, payload)
    if (args !== undefined) return { ...run, payload: JSON.stringify(args) }
    const held = { runId: run.id, holder: run.leasedBy, epoch: run.epoch, attempt: null }
    await this.settle([{ ...held, outcome: { kind: 'failed', error: NOT_AVAILABLE, how: 'policy' } }])
    return null
  }

  async settle(reports: readonly LeaseReport[]): Promise<readonly (LeaseSettled | PetrelError)[]> {
    const unknown = reports.map((report) => report.runId).filter((id) => !this.#known.has(id))
    const rows = unknown.length === 0 ? [] : await this.#deps.store.read.runs({ ids: unknown })
    const found = new Map(rows.map((run) => [run.id, deliveryOf(run)]))
    return Promise.all(
      reports.map((report) => this.#settle(report, this.#known.get(report.runId) ?? found.get(report.runId))),
    )
  }

  extend(p: Parameters<Leases['extend']>[0]): Promise<readonly string[]> {
    return this.#deps.store.sweep.extendLeases(p)
  }

  async beat(p: LeaseBeat): Promise<{ readonly state: WorkerRow['state']; readonly extended: readonly string[] }> {
    checkFilter({ types: p.types, runtime: null })
    const { sweep } = this.#deps.store
    const { holder, host, pid, runtime, queues, types, concurrency, state, tenant, ttlMs } = p
    const about = { name: holder, host, pid, runtime, queues, types, concurrency, state, tenant }
    const at = { startedAt: 0, heartbeatAt: 0, expiresAt: 0 }
    // Alive before its leases are renewed: a sweep in between must not find it dead.
    const stands = await sweep.beatLease({ worker: { id: holder, holds: 'lease', ...about, ...at }, ttlMs })
    const extended = p.runIds.length === 0 ? [] : await this.extend(p)
    return { state: stands, extended }
  }

  wake(queues: ReadonlySet<string> | null): void {
    this.#fetches.wake(queues)
  }

  forget(): void {
    this.#known.clear()
  }

  close(): void {
    this.#fetches.close()
  }

  async #taken(runs: readonly RunRow[]): Promise<void> {
    if (this.#known.size + runs.length > REMEMBERED) this.#known.clear()
    for (const run of runs) this.#known.set(run.id, deliveryOf(run))
    // Best effort: the report tells the instance too.
    await this.#deps.noteStarts(runs).catch((error: unknown) => {
      this.#deps.logger.warn({}, `noting starts: ${(error as Error).message}`)
    })
  }

  async #giveBack(runs: readonly RunRow[]): Promise<void> {
    await Promise.all(runs.map((run) => this.#apply({ ...run, runId: run.id }, (c) => unclaimed(c, run.id, run.epoch))))
  }

  async #expire(): Promise<boolean> {
    const found = await this.#deps.store.sweep.expiredLeases({ limit: EXPIRED_AT_ONCE })
    const { chance } = this.#deps
    await Promise.all(
      found.map((key) => this.#apply({ ...key, runId: key.id }, (c) => leaseExpired(c, key.id, chance))),
    )
    return found.length > 0
  }

  async #apply({ runId, rootId, instanceId }: Key, work: (change: Change) => void): Promise<void> {
    const fold = (change: Change): 'recorded' => {
      work(change)
      return 'recorded'
    }
    const settling = { runId, rootId, instanceId, bytes: 400, report: null, fold, unstorable: fold }
    await this.#deps.settler.settle(settling)
  }

  async #settle(report: LeaseReport, delivery: Delivery | undefined): Promise<LeaseSettled | PetrelError> {
    if (delivery === undefined) return missing(report.runId)
    const checked = this.#checked(report, delivery)
    if (checked instanceof PetrelError) return checked
    const reportId = report.reportId ?? this.#deps.newId()
    let answer: LeaseSettled | PetrelError | null = null
    const { runId, rootId, instanceId } = delivery
    await this.#deps.settler.settle({
      runId,
      rootId,
      instanceId,
      bytes: (checked.result?.length ?? 0) + JSON.stringify(checked.said).length + 400,
      report: null,
      hint: delivery,
      fold: (change) => {
        answer = settleLease(change, { ...checked, reportId }, this.#deps.chance)
        return answer instanceof PetrelError ? 'stale' : 'recorded'
      },
      unstorable: () => {
        answer = new PetrelError('unstorable', `the outcome of run ${runId} cannot be stored in this database`)
        return 'stale'
      },
    })
    this.#known.delete(runId)
    return answer ?? missing(runId)
  }

  /** Checked before anything is touched: what cannot be stored changes nothing. */
  #checked(report: LeaseReport, { instanceId }: Delivery): Omit<CheckedReport, 'reportId'> | PetrelError {
    const { runId, outcome } = report
    const error = 'error' in outcome ? outcome.error : undefined
    const given = 'result' in outcome ? outcome.result : undefined
    const texts = { error: JSON.stringify(error), result: JSON.stringify(given) } as const
    for (const [what, text] of Object.entries(texts)) {
      const refusal = text === undefined ? null : unstorable(text, this.#deps.maxPayloadBytes)
      if (refusal === null) continue
      return refused(refusal, what, `the ${what} of run ${runId} ${refusal.message}`)
    }
    const limits = { inWorkflow: instanceId !== null, maxBytes: this.#deps.maxPayloadBytes }
    const said = checkSaid(report, limits)
    if (isRefused(said)) return refused(said, 'set', said.message)
    return { report, said, result: texts.result ?? (outcome.kind === 'succeeded' ? 'null' : null) }
  }
}

/** `field`: which part of the report it is about. */
function refused({ code }: Failure, field: string, message: string): PetrelError {
  return new PetrelError(code as 'unstorable', message, { field })
}
