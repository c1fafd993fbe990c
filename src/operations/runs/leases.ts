/**
 * Operations of workers with their own leases: fetch, renew, heartbeat, and the reports that end a lease. They take the
 * name that a worker gives itself; workers of the same name in two tenants are distinct.
 */
import type { EngineApi } from '../../engine/api.ts'
import { type PetrelError, runError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import { unscopedName } from '../../kernel/scoped-names.ts'
import type { LeaseBeat, LeaseFetch, LeaseReport, LeaseSettled, Speaker } from '../../model/leases.ts'
import type { RunRow, WorkerRow } from '../../model/rows.ts'
import { type Caller, holderOf, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { findRun, knownRun, noRun } from './find.ts'

/** Without the tenant, which is the caller's. */
export type FetchAsked = Omit<LeaseFetch, 'tenant'>

/** Only runs of the caller's tenant. Waits up to `waitMs` for the first one. */
export const fetchRuns = operation(
  { scope: 'work' },
  ({ engine, caller }, asked: FetchAsked): Promise<readonly RunRow[]> =>
    engine.leases.fetch({ ...asked, holder: holderOf(caller, asked.holder), tenant: caller.tenant }),
)

/**
 * Runs that were fetched and cannot reach their worker, which has disconnected. `released`: as if they had never been
 * handed out; `requeue`: the start stays counted.
 */
export const returnRuns = operation(
  { scope: 'work' },
  ({ engine }, { runs, how }: { readonly runs: readonly RunRow[]; readonly how: Returned }): Promise<void> =>
    giveBack(engine, runs, how),
)

type Returned = 'released' | 'requeue'

export async function giveBack(engine: EngineApi, runs: readonly RunRow[], how: Returned): Promise<void> {
  await engine.leases.settle(
    runs.map(({ id, leasedBy, epoch }) => ({
      runId: id,
      holder: leasedBy,
      epoch,
      attempt: null,
      outcome: { kind: how },
    })),
  )
}

/**
 * Ends leases. Each report is decided separately, and the answers are in the same order: a refused one does not affect
 * the others. A run of another tenant is answered with `not_found`.
 */
export const settleRuns = operation(
  { scope: 'work' },
  async (
    use,
    { reports }: { readonly reports: readonly LeaseReport[] },
  ): Promise<readonly (LeaseSettled | PetrelError)[]> => {
    if (reports.length === 0) return []
    const { engine, caller } = use
    const visible = await visibleTo(use, reports)
    const own: LeaseReport[] = []
    for (const report of reports) {
      const id = readId(report.runId)
      if (id !== null && visible(id)) own.push(asStored(report, id, caller))
    }
    if (own.length === reports.length) return engine.leases.settle(own)
    const settled = (await engine.leases.settle(own)).values()
    return reports.map((report) => {
      const id = readId(report.runId)
      const seen = id !== null && visible(id)
      return seen ? (settled.next().value as LeaseSettled | PetrelError) : noRun(report.runId)
    })
  },
)

export interface LeaseRenewal {
  readonly id: string
  /** The name that the worker gives itself. */
  readonly worker: string
  readonly epoch: number
  /** null: the previous duration. */
  readonly leaseMs: number | null
}

/** The run with its renewed lease. Throws `stale_lease`, whose details have the status, if the worker lost the run. */
export const renewLease = operation(
  { scope: 'work' },
  async (use, { id: given, worker, epoch, leaseMs }: LeaseRenewal): Promise<RunRow> => {
    const { engine, caller } = use
    const id = await knownRun(use, given)
    const holder = holderOf(caller, worker)
    const renewed = await engine.leases.extend({ holder, runIds: [id], epochs: [epoch], leaseMs })
    const run = await findRun(use, id)
    if (renewed.length === 0 || run.status !== 'leased' || run.epoch !== epoch) throw lost(run, holder, epoch)
    return run
  },
)

/** Without the tenant, which is the caller's. */
export type BeatAsked = Omit<LeaseBeat, 'tenant'>

/** A heartbeat of a worker, which also renews the leases of its runs. */
export const beat = operation(
  { scope: 'work' },
  (
    { engine, caller },
    asked: BeatAsked,
  ): Promise<{ readonly state: WorkerRow['state']; readonly extended: readonly string[] }> =>
    engine.leases.beat({ ...asked, holder: holderOf(caller, asked.holder), tenant: caller.tenant }),
)

export interface ReporterAsked {
  /** As read for this caller. */
  readonly run: RunRow
  /** The worker named by the report; null: none. */
  readonly worker: string | null
  readonly speaker: Speaker
}

/**
 * The stored name of the worker that reports about a run it holds. If the report names none, it is the holder, provided
 * that no other worker can have sent the report; otherwise the error gives the reason. null: the run is not held.
 */
export function reporterOf(
  { engine, caller }: Use,
  { run, worker, speaker }: ReporterAsked,
): Promise<string | null | PetrelError> {
  if (worker !== null) return Promise.resolve(holderOf(caller, worker))
  return run.status === 'leased' ? engine.leases.holderOf(run, speaker) : Promise.resolve(null)
}

/** Which runs of these reports exist for the caller. */
async function visibleTo(
  { engine, caller }: Use,
  reports: readonly LeaseReport[],
): Promise<(runId: string) => boolean> {
  if (caller.tenant === null) return () => true
  const ids = reports.flatMap(({ runId }) => readId(runId) ?? [])
  const rows = ids.length === 0 ? [] : await engine.queries.runs({ ids })
  const visible = new Set(rows.filter((run) => maySee(caller, run)).map((run) => run.id))
  return (id) => visible.has(id)
}

function asStored(report: LeaseReport, runId: string, caller: Caller): LeaseReport {
  const holder = report.holder === null ? null : holderOf(caller, report.holder)
  return holder === report.holder && runId === report.runId ? report : { ...report, runId, holder }
}

function lost(run: RunRow, holder: string, epoch: number): PetrelError {
  const why =
    run.status !== 'leased'
      ? `is ${run.status}`
      : run.leasedBy !== holder
        ? `is held by worker ${unscopedName(run.leasedBy) ?? '?'}, not by ${unscopedName(holder)}`
        : run.epoch !== epoch
          ? `is at epoch ${run.epoch}, not ${epoch}`
          : 'has a lease that ran out'
  return runError('stale_lease', run.id, `${why}; only the holder of its lease renews it`, { status: run.status })
}
