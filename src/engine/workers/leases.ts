/**
 * Work for clients that hold a lease of their own, renewed per run, instead of a session: workers over HTTP. A lease ends by
 * its holder's report, at its time, or when a holder that had sent heartbeats stops sending them. From that moment it is over:
 * a later report changes nothing, even if no sweep has found the end yet.
 */

import { missing, PetrelError } from '../../kernel/errors.ts'
import { unstorable } from '../../kernel/json-limits.ts'
import { MAX_BATCH_BYTES } from '../../kernel/limits.ts'
import type { Logger } from '../../kernel/logger.ts'
import { unscopedName } from '../../kernel/scoped-names.ts'
import { isStoreAway, StoreLockedError } from '../../kernel/store-errors.ts'
import type { LeaseBeat, LeaseFetch, LeaseReport, LeaseSettled, Leases, Speaker } from '../../model/leases.ts'
import type { RunRow, WorkerRow } from '../../model/rows.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import { NOT_AVAILABLE, refersAside } from '../../net/references.ts'
import type { Store } from '../../store/store.ts'
import type { RunKey } from '../../store/sweeps.ts'
import type { Delivery } from '../../worker/port.ts'
import { findRun } from '../fold/run/changed-runs.ts'
import { leaseExpired, unclaimed } from '../fold/run/ended-leases.ts'
import { lastExecution } from '../fold/run/late-success.ts'
import { workersWithLostLease } from '../fold/run/lease-events.ts'
import { type Chance, unrecordable } from '../fold/run/outcomes.ts'
import { checkRemarks, isRefused } from '../fold/run/remarks.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Arrival } from '../transaction/consequences.ts'
import { deliveryOf } from '../transaction/deliveries.ts'
import type { Faults } from '../transaction/faults.ts'
import { Findings, idOf } from '../transaction/findings.ts'
import { LOCK_PATIENCE_MS, type Settled, type Settler, type Settling } from '../transaction/settle.ts'
import type { Transactor } from '../transaction/transactor.ts'

import { Fetches } from './fetches.ts'
import { checkFilter } from './filter.ts'
import { ambiguous, type CheckedReport, settleLease } from './lease-report.ts'
import type { References } from './references.ts'

/** How many handed-out runs are remembered with their root and place: their report then needs no look-up. */
const REMEMBERED = 20_000
/** How many leases one fetch ends that have run out; the sweeper ends the rest. */
const EXPIRED_AT_ONCE = 100
/** For how many runs references are resolved at the same time. */
const DEREFERENCED_AT_ONCE = 8
/** The same code as in the sweeper. */
const EXPIRED = 'sweep_expired_lease'

const UNDELIVERABLE: Failure = {
  code: 'unstorable',
  message: 'its payload, or a result it is given, cannot be written as JSON; no worker can get it',
  retryable: false,
}

export interface LeaseDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly settler: Settler
  readonly newId: () => string
  readonly chance: Chance
  readonly logger: Logger
  readonly faults: Faults
  readonly maxPayloadBytes: number
  readonly references: References
  readonly noteStarts: (runs: readonly RunRow[]) => Promise<void>
  readonly dueAt: (at: number) => void
  /** Observes a fetch, which it returns unchanged. */
  readonly polled: <T>(worker: string, fetch: Promise<T>) => Promise<T>
}

type Key = Pick<Delivery, 'runId' | 'rootId' | 'instanceId'>

export class StoredLeases implements Leases {
  readonly #deps: LeaseDeps
  readonly #fetches: Fetches
  readonly #findings: Findings
  readonly #known = new Map<string, Delivery>()
  #expiring: Promise<unknown> = Promise.resolve()
  /** Begins when the current one has ended. */
  #expiringNext: Promise<boolean> | null = null

  constructor(deps: LeaseDeps) {
    this.#deps = deps
    this.#findings = new Findings(deps.faults, () => false)
    this.#fetches = new Fetches({
      transactor: deps.transactor,
      taken: (runs) => this.#taken(runs),
      giveBack: (runs) => this.giveBack(runs),
      expire: () => this.#expire(),
      undeliverable: (run, error) => this.#undeliverable(run, error),
      dueAt: deps.dueAt,
    })
  }

  async fetch(params: LeaseFetch): Promise<readonly RunRow[]> {
    checkFilter(params)
    const runs = await this.#deps.polled(params.holder, this.#fetches.fetch(params))
    if (!runs.some(mayHaveReference)) return runs
    // With their arguments they may be much longer than when they were claimed.
    const whole: RunRow[] = []
    let bytes = 0
    for (let at = 0; at < runs.length; at += DEREFERENCED_AT_ONCE) {
      if (bytes > MAX_BATCH_BYTES) {
        await this.giveBack(runs.slice(at))
        break
      }
      const some = await Promise.all(runs.slice(at, at + DEREFERENCED_AT_ONCE).map((run) => this.#dereferenced(run)))
      for (const run of some) {
        if (run === null) continue
        bytes += Buffer.byteLength(run.payload)
        whole.push(run)
      }
    }
    return whole
  }

  /**
   * The run with all of its arguments, as its handler receives them; null: they are not available, and the run has
   * failed.
   */
  async #dereferenced(run: RunRow): Promise<RunRow | null> {
    if (run.instanceId === null || !mayHaveReference(run)) return run
    try {
      const payload = JSON.parse(run.payload) as Json
      if (!refersAside(payload)) return run
      const args = await this.#deps.references.resolve(run.instanceId, payload)
      if (args !== undefined) return { ...run, payload: JSON.stringify(args) }
      await this.settle([{ ...heldAs(run), outcome: { kind: 'failed', error: NOT_AVAILABLE, how: 'policy' } }])
    } catch (error) {
      await this.refuse([{ run, error }])
    }
    return null
  }

  async refuse(refused: readonly { readonly run: RunRow; readonly error: unknown }[]): Promise<void> {
    for (const { run, error } of refused) this.#deps.faults.note('undeliverable', run.id, error)
    const outcome = { kind: 'failed', error: UNDELIVERABLE, how: 'policy' } as const
    await this.settle(refused.map(({ run }) => ({ ...heldAs(run), outcome })))
  }

  /** Fails a run that cannot even be leased, so that it does not block the others in its queue. */
  async #undeliverable({ id: runId, rootId, instanceId }: RunRow, error: unknown): Promise<boolean> {
    this.#deps.faults.note('undeliverable', runId, error)
    return this.#findings.contained('undeliverable', runId, () =>
      this.#apply({ runId, rootId, instanceId }, 'leave', (change) => {
        if (findRun(change, runId)?.status === 'pending') unrecordable(change, runId)
      }),
    )
  }

  /** Settles each on its own: a report that throws is answered as refused, without effect on the others. */
  async settle(reports: readonly LeaseReport[]): Promise<readonly (LeaseSettled | PetrelError)[]> {
    // Taken before the look-up: what is remembered may be forgotten meanwhile.
    const deliveries = new Map<string, Delivery>()
    const unknown: string[] = []
    for (const { runId } of reports) {
      const known = this.#known.get(runId)
      if (known === undefined) unknown.push(runId)
      else deliveries.set(runId, known)
    }
    const rows = unknown.length === 0 ? [] : await this.#deps.store.read.runs({ ids: unknown })
    for (const run of rows) deliveries.set(run.id, deliveryOf(run))
    return Promise.all(
      reports.map((report) =>
        this.#settleOne(report, deliveries.get(report.runId)).catch((error: unknown) => {
          if (isStoreAway(error)) throw error
          if (error instanceof StoreLockedError) return locked(error)
          return new PetrelError('engine_error', `the outcome of run ${report.runId} could not be recorded`)
        }),
      ),
    )
  }

  /**
   * A report that does not name its lease is about the current one, which is looked up. A first lease that this process handed
   * out needs no look-up.
   */
  async #settleOne(report: LeaseReport, delivery: Delivery | undefined): Promise<LeaseSettled | PetrelError> {
    if (delivery === undefined || !isAnonymous(report, delivery)) return this.#settle(report, delivery)
    if (delivery.epoch === 0) {
      const settled = await this.#settle({ ...report, epoch: 0 }, delivery)
      if (!(settled instanceof PetrelError) || settled.details['given_out_again'] !== true) return settled
    }
    const run = await this.#deps.store.read.run(report.runId)
    if (run === null) return missing('run', report.runId)
    const holder = await this.holderOf(run, report.speaker ?? null)
    if (holder instanceof PetrelError) return holder
    return this.#settle({ ...report, epoch: epochMeant(run, report) }, delivery)
  }

  async holderOf(run: RunRow, speaker: Speaker | null): Promise<string | null | PetrelError> {
    if (run.status !== 'leased' || run.epoch === 0) return run.leasedBy
    const { read } = this.#deps.store
    const lost = await read.leasesLost({ runIds: [run.id] })
    if (!lost.has(run.id)) return run.leasedBy
    if (speaker === null || speaker.name === null || speaker.name !== run.leasedBy) return ambiguous(run)
    const own = unscopedName(run.leasedBy)
    // A client that fetched from another process, or from this one before it was restarted, may have the name of the
    // holder.
    const losers = workersWithLostLease(await read.runHistory(run.id))
    return losers.every((name) => name === own || speaker.knows(name)) ? run.leasedBy : ambiguous(run)
  }

  extend(p: Parameters<Leases['extend']>[0]): Promise<readonly string[]> {
    return this.#deps.store.sweep.extendLeases(p)
  }

  async renew(run: RunRow): Promise<void> {
    if (run.leasedBy === null || run.leaseMs === null) return
    const { sweep } = this.#deps.store
    // The heartbeat comes before the renewal of the lease, so that a sweep in between does not find the worker dead.
    await sweep.keepAlive({ workerId: run.leasedBy })
    await sweep.extendLeases({ holder: run.leasedBy, runIds: [run.id], leaseMs: null, epochs: [run.epoch] })
  }

  async beat(p: LeaseBeat): Promise<{ readonly state: WorkerRow['state']; readonly extended: readonly string[] }> {
    checkFilter({ types: p.types, runtime: null })
    const { sweep } = this.#deps.store
    const { holder, host, pid, runtime, queues, types, concurrency, state, tenant, build = null, ttlMs } = p
    const about = { name: holder, host, pid, runtime, queues, types, concurrency, state, tenant, build }
    const at = { startedAt: 0, heartbeatAt: 0, expiresAt: 0 }
    // The heartbeat comes before the renewal of the leases, so that a sweep in between does not find the worker dead.
    const directed = await sweep.beatLease({ worker: { id: holder, holds: 'lease', ...about, ...at }, ttlMs })
    const extended = p.runIds.length === 0 ? [] : await this.extend(p)
    return { state: directed, extended }
  }

  arrived(arrivals: readonly Arrival[]): void {
    this.#fetches.arrived(arrivals)
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
    // Best effort: the report records the start as well.
    await this.#deps.noteStarts(runs).catch((error: unknown) => {
      this.#deps.logger.warn({}, `noting starts: ${(error as Error).message}`)
    })
  }

  async giveBack(runs: readonly RunRow[]): Promise<void> {
    await this.#findings.together('unclaimed_lease', runs, idOf, (run) =>
      this.#apply({ ...run, runId: run.id }, 'keep', (c) => unclaimed(c, run.id, run.epoch)),
    )
  }

  /** One search at a time; each serves every fetch that asked before it began. */
  #expire(): Promise<boolean> {
    this.#expiringNext ??= this.#expiring.then(() => {
      this.#expiringNext = null
      const look = this.#expireDue()
      this.#expiring = look.catch(() => undefined)
      return look
    })
    return this.#expiringNext
  }

  /** true: some leases were ended. The sweeper tries again if one cannot be ended. */
  async #expireDue(): Promise<boolean> {
    const { store, chance, faults } = this.#deps
    const found = await store.sweep.expiredLeases({ limit: EXPIRED_AT_ONCE })
    const due = found.filter(({ id }) => !faults.rests(EXPIRED, id))
    const expire = (key: RunKey): Promise<unknown> =>
      this.#apply({ ...key, runId: key.id }, 'leave', (c) => leaseExpired(c, key.id, chance))
    await this.#findings.together(EXPIRED, due, idOf, expire)
    return due.some(({ id }) => !faults.rests(EXPIRED, id))
  }

  #apply(
    { runId, rootId, instanceId }: Key,
    ifLocked: NonNullable<Settling['ifLocked']>,
    work: (change: WorkingSet) => void,
  ): Promise<Settled> {
    const fold = (change: WorkingSet): 'recorded' => {
      work(change)
      return 'recorded'
    }
    const unstorable = (change: WorkingSet): 'recorded' => {
      unrecordable(change, runId)
      return 'recorded'
    }
    const key = { runId, rootId, instanceId, bytes: 400, report: null }
    return this.#deps.settler.settle({ ...key, ifLocked, fold, unstorable })
  }

  async #settle(report: LeaseReport, delivery: Delivery | undefined): Promise<LeaseSettled | PetrelError> {
    if (delivery === undefined) return missing('run', report.runId)
    const checked = this.#checked(report, delivery)
    if (checked instanceof PetrelError) return checked
    const reportId = report.reportId ?? this.#deps.newId()
    let answer: LeaseSettled | PetrelError | null = null
    let inTimeAt: number | null = null
    const { runId, rootId, instanceId } = delivery
    await this.#deps.settler.settle({
      runId,
      rootId,
      instanceId,
      bytes: (checked.result?.length ?? 0) + JSON.stringify(checked.remarks).length + 400,
      report: null,
      hint: delivery,
      patienceMs: LOCK_PATIENCE_MS,
      waits: () => {
        inTimeAt = this.#deps.transactor.nowMs
      },
      fold: (change) => {
        answer = settleLease(change, { ...checked, reportId, inTimeAt }, this.#deps.chance)
        return answer instanceof PetrelError ? 'stale' : 'recorded'
      },
      unstorable: () => {
        answer = new PetrelError('unstorable', `the outcome of run ${runId} cannot be stored in this database`)
        return 'stale'
      },
    })
    this.#known.delete(runId)
    return answer ?? missing('run', runId)
  }

  /** Checks a report before anything is changed: one that cannot be stored changes nothing. */
  #checked(report: LeaseReport, { instanceId }: Delivery): Omit<CheckedReport, 'reportId' | 'inTimeAt'> | PetrelError {
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
    const remarks = checkRemarks(report, limits)
    if (isRefused(remarks)) return refused(remarks, 'set', remarks.message)
    const { build } = report
    const all = build === undefined ? remarks : { ...remarks, build }
    return { report, remarks: all, result: texts.result ?? (outcome.kind === 'succeeded' ? 'null' : null) }
  }
}

function mayHaveReference({ instanceId, payload }: RunRow): boolean {
  return instanceId !== null && payload.includes('"$')
}

function heldAs(run: RunRow): Pick<LeaseReport, 'runId' | 'holder' | 'epoch' | 'attempt'> {
  return { runId: run.id, holder: run.leasedBy, epoch: run.epoch, attempt: null }
}

/** Nothing was recorded: the report is to be sent again. */
function locked({ code, message }: StoreLockedError): PetrelError {
  return new PetrelError('unavailable', message, { reason: code })
}

/** Whether it names neither its worker nor, unless attempt numbers repeat, its execution. */
function isAnonymous({ holder, attempt, epoch = null }: LeaseReport, delivery: Delivery): boolean {
  if (holder !== null || epoch !== null) return false
  return attempt === null || attempt <= delivery.epoch
}

/**
 * The epoch of the last execution of a run that no worker holds, if the attempt matches. -1, which no execution has: it
 * does not.
 */
function epochMeant(run: RunRow, { attempt }: LeaseReport): number {
  if (run.status === 'leased') return run.epoch
  return (attempt !== null && attempt === run.attempt ? lastExecution(run) : null) ?? -1
}

/** `field`: the part of the report that is wrong. */
function refused({ code }: Failure, field: string, message: string): PetrelError {
  return new PetrelError(code as 'unstorable', message, { field })
}
