import type { GateRow, ScheduleRow, TotalRow, WorkerRow } from '../model/rows.ts'

/** Small writes that touch no instance, and look-ups of what is due. Each is one statement, SKIP LOCKED where it locks. */
export interface Sweeps {
  /** Registers or refreshes a session. Returns what the worker must know: its state, and its runs to stop. */
  beat(params: { readonly worker: WorkerRow; readonly ttlMs: number }): Promise<Beat>
  /**
   * Workers past their time become `dead`; returns up to `limit` runs that their sessions (or those dead before) still
   * hold. Leases of their own end at that moment and are found by `expiredLeases`.
   */
  lostRuns(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Leases past lease_until: workers' own, and foreign clients'. */
  expiredLeases(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Runs past timeout_at, or pending past expires_at. */
  overdueRuns(params: { readonly limit: number }): Promise<readonly RunKey[]>
  overdueInstances(params: {
    readonly limit: number
  }): Promise<readonly { readonly id: string; readonly rootId: string }[]>
  overdueGates(params: { readonly limit: number }): Promise<readonly GateRow[]>
  /** Open gates whose escalation has a stage that is due. */
  escalatingGates(params: { readonly limit: number }): Promise<readonly GateRow[]>
  /** Terminal runs finished by foreign clients and not yet settled. */
  unsettledRuns(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Runs that foreign clients have begun, of instances that do not know yet that they have begun. */
  begunOutside(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Instances with a cascade cut off. */
  unfinishedCascades(params: {
    readonly limit: number
  }): Promise<readonly { readonly id: string; readonly rootId: string }[]>
  /** Slot keys under which instances are queued though there is room. */
  freeSlots(params: { readonly limit: number }): Promise<readonly string[]>
  /** The first in the queue under a slot key: as many as there is room for, at most `limit`, without those in `skip`. */
  nextQueued(params: {
    readonly key: string
    readonly limit: number
    readonly skip: readonly string[]
  }): Promise<readonly { readonly id: string; readonly netHash: string }[]>
  dueSchedules(params: { readonly limit: number }): Promise<readonly ScheduleRow[]>
  /**
   * When the next thing becomes due (run_at, timeout, deadline, gate, schedule); null: nothing is scheduled. `after`: only
   * what is due later than that, so that something that stays due, for whatever reason, hides nothing that lies ahead.
   */
  nextDueAt(after?: number): Promise<number | null>
  /** Records starts of runs still held under these epochs (batched; returns the ids that were). */
  started(params: {
    readonly runs: readonly { readonly id: string; readonly epoch: number; readonly at: number }[]
  }): Promise<readonly string[]>
  /**
   * Renews leases of their own that have not run out, of `holder` (null: of anybody). `leaseMs` null: each for as long
   * as before. `epochs`, in the order of `runIds`: only leases under these. Returns the ids renewed; tells each as a
   * heartbeat.
   */
  extendLeases(params: {
    readonly holder: string | null
    readonly runIds: readonly string[]
    readonly leaseMs: number | null
    readonly epochs?: readonly number[]
  }): Promise<readonly string[]>
  /**
   * A worker with leases of its own says that it lives: registered, or alive again if it was dead. Its own word may
   * make it quiet or terminate; nothing takes that back. Returns the state that stands.
   */
  beatLease(params: { readonly worker: WorkerRow; readonly ttlMs: number }): Promise<WorkerRow['state']>
  /** Such a worker is alive without a heartbeat: for as long as its last one lasts. One that never sent any stays unknown. */
  keepAlive(params: { readonly workerId: string }): Promise<void>
  /** Adds to the totals. */
  addTotals(params: { readonly totals: readonly TotalRow[] }): Promise<void>
  checkpoint(params: { readonly runId: string; readonly epoch: number; readonly state: string }): Promise<number | null>
  progress(params: { readonly runId: string; readonly epoch: number; readonly value: string }): Promise<boolean>
  /**
   * Sets in_use of these limits to what holds room under them, runs or executing instances: first locks the rows, then counts in a later statement.
   * Foreign clients take no room, whatever they lease.
   */
  recountLimits(params: { readonly keys: readonly string[] }): Promise<void>
  /**
   * The clock was set back: leases, retries, timeouts, sessions, deadlines, gates, commands and deliveries that were derived
   * from a time still to come last no longer than their own length from now. `known` false: only if the newest events
   * are ahead of the clock. Returns whether it was so.
   */
  clockWentBack(params: { readonly known: boolean }): Promise<boolean>
  /** Roots and bare runs that `prune` would delete. */
  prunable(params: {
    readonly endedBefore: number
    readonly limit: number
  }): Promise<readonly { readonly id: string }[]>
  /**
   * Deletes ended instances, bare runs that ended or were deleted, and events older than the cut, in chunks; keeps
   * for-ever idempotency keys. Returns rows removed. `among`: of instances and runs only these, and nothing else where
   * there are some. One that cannot be deleted fails all.
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
