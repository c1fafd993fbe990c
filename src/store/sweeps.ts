import type { Traffic } from '../model/queries/queueing.ts'
import type { GateRow, ScheduleRow, TotalRow, WorkerRow } from '../model/rows.ts'
import type { DebounceRow } from '../model/schedules/debounce.ts'

/** Finds due work, and makes small writes that touch no instance. Each is one statement, SKIP LOCKED where it locks. */
export interface Sweeps {
  /** Registers or refreshes a session. Returns the information for the worker: its state, and its runs to stop. */
  beat(params: { readonly worker: WorkerRow; readonly ttlMs: number }): Promise<Beat>
  /**
   * Workers past their time become `dead`; returns up to `limit` runs that their sessions (or those dead before) still
   * hold. Leases of their own end at that moment and are found by `expiredLeases`.
   */
  lostRuns(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Leases past lease_until: of workers with leases of their own, and of foreign clients. */
  expiredLeases(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Runs past timeout_at, or pending past expires_at. */
  overdueRuns(params: { readonly limit: number }): Promise<readonly RunKey[]>
  overdueInstances(params: {
    readonly limit: number
  }): Promise<readonly { readonly id: string; readonly rootId: string }[]>
  overdueGates(params: { readonly limit: number }): Promise<readonly GateRow[]>
  /** Open gates whose escalation has a due stage. */
  escalatingGates(params: { readonly limit: number }): Promise<readonly GateRow[]>
  /** Terminal runs finished by foreign clients and not yet settled. */
  unsettledRuns(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Runs that foreign clients have begun, in instances that have not recorded their start. */
  foreignStarts(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Instances with a cascade cut off. */
  unfinishedCascades(params: {
    readonly limit: number
  }): Promise<readonly { readonly id: string; readonly rootId: string }[]>
  /** Quota keys under which instances are queued although there is room. */
  freeQuotas(params: { readonly limit: number }): Promise<readonly string[]>
  /**
   * The first in the queue under a quota key: as many as there is room for, at most `limit`, without those in `skip`.
   */
  nextQueued(params: {
    readonly key: string
    readonly limit: number
    readonly skip: readonly string[]
  }): Promise<readonly { readonly id: string; readonly netHash: string }[]>
  dueSchedules(params: { readonly limit: number }): Promise<readonly ScheduleRow[]>
  /** Debounced starts that are due, those due longest first. */
  dueDebounces(params: { readonly limit: number }): Promise<readonly DebounceRow[]>
  /**
   * When the next row becomes due (run_at, timeout, deadline, gate, schedule); null: nothing is scheduled. `after`:
   * only later times, so that a row that stays due, for whatever reason, does not hide the others.
   */
  nextDueAt(after?: number): Promise<number | null>
  /** Records starts of runs still held under these epochs (batched; returns the ids that were). */
  started(params: {
    readonly runs: readonly { readonly id: string; readonly epoch: number; readonly at: number }[]
  }): Promise<readonly string[]>
  /**
   * Renews leases of their own that have not expired, of `holder` (null: of any). `leaseMs` null: each for as long as
   * before. `epochs`, in the order of `runIds`: only leases under these. Returns the ids renewed; records each as a
   * heartbeat.
   */
  extendLeases(params: {
    readonly holder: string | null
    readonly runIds: readonly string[]
    readonly leaseMs: number | null
    readonly epochs?: readonly number[]
  }): Promise<readonly string[]>
  /**
   * The heartbeat of a worker with leases of its own: registered, or alive again if it was dead. It may report itself
   * as quiet or terminate; nothing takes that back. Returns the stored state.
   */
  beatLease(params: { readonly worker: WorkerRow; readonly ttlMs: number }): Promise<WorkerRow['state']>
  /**
   * Keeps such a worker alive without a heartbeat: for as long as its last one lasts. One that never sent any stays
   * unknown.
   */
  keepAlive(params: { readonly workerId: string }): Promise<void>
  /** Adds to the totals. */
  addTotals(params: { readonly totals: readonly (TotalRow & Partial<Traffic>)[] }): Promise<void>
  checkpoint(params: { readonly runId: string; readonly epoch: number; readonly state: string }): Promise<number | null>
  progress(params: { readonly runId: string; readonly epoch: number; readonly value: string }): Promise<boolean>
  /**
   * Sets in_use of these limits to the number of runs or executing instances that hold room under them: first locks the
   * rows, then counts in a later statement. Foreign clients take no room, whatever they lease.
   */
  recountLimits(params: { readonly keys: readonly string[] }): Promise<void>
  /**
   * The clock was set back: leases, retries, timeouts, sessions, deadlines, gates, commands and deliveries that were
   * derived from a future time last no longer than their own length from now. `known` false: only if the newest events
   * are ahead of the clock. Returns whether it was set back.
   */
  clockWentBack(params: { readonly known: boolean }): Promise<boolean>
  /** Roots and bare runs that `prune` would delete. */
  prunable(params: {
    readonly endedBefore: number
    readonly limit: number
  }): Promise<readonly { readonly id: string }[]>
  /**
   * Deletes ended instances, bare runs that ended or were deleted, and events older than the cut, in chunks; keeps
   * permanent idempotency keys. Returns rows removed. `among`: of instances and runs only these, and nothing else if
   * the list is not empty. One that cannot be deleted fails the whole call.
   */
  prune(params: {
    readonly endedBefore: number
    readonly eventsBefore: number
    readonly limit: number
    readonly among?: readonly string[]
  }): Promise<number>
}

export interface RunKey {
  readonly id: string
  readonly rootId: string | null
  readonly instanceId: string | null
}

export interface Beat {
  readonly state: WorkerRow['state']
  /** Runs of this session whose cancel was requested, or that it no longer holds. */
  readonly stop: readonly string[]
}
