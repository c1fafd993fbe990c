/**
 * The sweeper handles everything that becomes due by time. Any number of processes sweep; each finding is checked again under
 * its lock, so if two processes find the same, only one acts. It sleeps until something is due, at most a poll interval.
 *
 * Each kind of finding, and each finding, is handled on its own: one that fails is recorded (faults.ts), rests for a while,
 * and stops no other. Resting findings still come first in every search, which therefore requests that many more. A finding
 * whose rows another transaction holds rests too: no pass waits for it.
 */

import type { Logger } from '../../kernel/logger.ts'
import { isStoreAway, StoreLockedError } from '../../kernel/store-errors.ts'
import { pauseName } from '../../model/pauses/pauses.ts'
import type { GateRow } from '../../model/rows.ts'
import type { Need } from '../../model/transaction.ts'
import type { PauseRules } from '../control/pause-rules.ts'
import type { Pauses } from '../control/pauses.ts'
import { advanceGate } from '../fold/gate-decisions.ts'
import { happen } from '../fold/happenings.ts'
import { isDue } from '../fold/instance/deadline.ts'
import { memberOf } from '../fold/members.ts'
import { leaseExpired, lost } from '../fold/run/ended-leases.ts'
import { settleForeignOutcome } from '../fold/run/foreign-outcomes.ts'
import { type Chance, overdue, unrecordable } from '../fold/run/outcomes.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Faults } from '../transaction/faults.ts'
import { CHUNK, type Find, Findings, idOf } from '../transaction/findings.ts'
import type { Offer } from '../transaction/handoff.ts'
import type { Settler } from '../transaction/settle.ts'
import type { Transactor } from '../transaction/transactor.ts'
import type { BulkRunner } from './bulk/runner.ts'
import type { ClockWatch } from './clock-watch.ts'
import { countFailures } from './failures.ts'
import type { Quotas } from './quotas.ts'
import type { Retention } from './retention.ts'
import { retention } from './retention.ts'
import { type StartedByTheClock, startsByTheClock } from './starts-by-the-clock.ts'

/** Work that is due already, such as a retry that another process will take, must not cause a busy loop. */
const AHEAD_MS = 20
const LOOK_AHEAD_EVERY_MS = 100
const CATCH_UP_MS = 2_000
/**
 * How long a pass waits for a schedule, or for retention. One that waits for a locked row continues beside the pass.
 */
const FIRE_MS = 500

export interface SweeperDeps extends StartedByTheClock {
  readonly transactor: Transactor
  readonly settler: Settler
  readonly bulkRunner: BulkRunner
  readonly clock: ClockWatch
  readonly quotas: Quotas
  readonly pauses: Pauses
  readonly pauseRules: PauseRules
  readonly offers: () => readonly Offer[]
  readonly wake: () => void
  /** Records in their instances that these runs have started. */
  readonly noteStarts: (runIds: readonly string[]) => Promise<void>
  readonly chance: Chance
  readonly logger: Logger
  readonly faults: Faults
  readonly pollMs: number
  readonly retention: Retention
  readonly probe: (point: string) => void
}

type InstanceKey = { readonly id: string; readonly rootId: string }
type Fold = (change: WorkingSet, runId: string) => void
type Key = { readonly id: string; readonly rootId: string | null; readonly instanceId: string | null }

export class Sweeper {
  readonly #deps: SweeperDeps
  readonly #findings: Findings
  #timer: NodeJS.Timeout | null = null
  #nextAt = Number.POSITIVE_INFINITY
  #sweeping: Promise<void> | null = null
  #again = false
  #looking: Promise<void> | null = null
  #lookAgain = false
  #ahead: NodeJS.Timeout | null = null
  /** false: another process does it. */
  #started = false
  #closed = false
  readonly #prune: () => Promise<void>
  readonly #firing = new Map<string, Promise<void>>()

  constructor(deps: SweeperDeps) {
    this.#deps = deps
    this.#findings = new Findings(deps.faults, () => this.#closed)
    this.#prune = retention(deps, this.#findings, () => this.#closed)
  }

  /**
   * Sweeps once before this process hands out work, so that no step begins after a deadline of its workflow that passed while
   * no process was running. A slow store delays the start only for a limited time. When work will be due next is found out
   * afterwards.
   */
  async start(): Promise<void> {
    this.#started = true
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CATCH_UP_MS)
      void this.#tick(resolve).finally(resolve)
    })
    clearTimeout(timer)
  }

  /** Sweeps again at that time (store clock) at the latest. */
  dueAt(at: number): void {
    if (this.#started && at < this.#nextAt) this.#sleepUntil(at)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#ahead !== null) clearTimeout(this.#ahead)
    await this.#sweeping
    await this.#looking
    await Promise.allSettled(this.#firing.values())
  }

  /**
   * Foreign clients may have ended runs, or inserted work that is due soon. Runs that they ended are settled now, not with the
   * next pass; if there are none, this reads an empty index once. A call during the search causes another search.
   */
  foreignWrites(): void {
    if (!this.#started || this.#closed) return
    this.#lookAgain = true
    this.#looking ??= this.#searchForeignOutcomes()
  }

  async #searchForeignOutcomes(): Promise<void> {
    try {
      while (this.#lookAgain && !this.#closed) {
        this.#lookAgain = false
        await this.#foreignOutcomes()
      }
      this.#lookAheadSoon()
    } catch (error) {
      // The next pass finds them.
      this.#deps.logger.warn({}, `settling what foreign clients ended: ${(error as Error).message}`)
    } finally {
      this.#looking = null
    }
  }

  /** The time of the next due work costs more to find, so it is not computed after every wake-up. */
  #lookAheadSoon(): void {
    if (this.#ahead !== null || this.#closed) return
    const look = async (): Promise<void> => {
      const due = await this.#nextDueAt(this.#deps.transactor.nowMs)
      if (due !== null) this.dueAt(Math.max(due, this.#deps.transactor.nowMs + AHEAD_MS))
    }
    this.#ahead = setTimeout(() => {
      this.#ahead = null
      // The next pass tries again.
      look().catch(() => undefined)
    }, LOOK_AHEAD_EVERY_MS).unref()
  }

  /**
   * Finds future times only. Work that is due already is for the workers, which are woken after this search, not
   * before.
   */
  async #nextDueAt(after: number): Promise<number | null> {
    const due = await this.#deps.store.sweep.nextDueAt(after)
    this.#deps.wake()
    return due
  }

  #foreignOutcomes(): Promise<void> {
    const { sweep } = this.#deps.store
    return this.#runs('sweep_foreign_outcome', (p) => sweep.unsettledRuns(p), settleForeignOutcome)
  }

  /** One full pass now; tests and dry runs call it after moving the clock. */
  async sweep(): Promise<void> {
    await this.#swept()
    this.#deps.wake()
  }

  async #swept(): Promise<void> {
    if (this.#sweeping !== null) {
      this.#again = true
      return this.#sweeping
    }
    this.#sweeping = this.#passes().finally(() => {
      this.#sweeping = null
    })
    return this.#sweeping
  }

  async #passes(): Promise<void> {
    do {
      this.#again = false
      await this.#pass()
    } while (this.#again && !this.#closed)
  }

  #sleepUntil(at: number): void {
    if (this.#closed) return
    this.#nextAt = at
    if (this.#timer !== null) clearTimeout(this.#timer)
    const delay = Math.min(Math.max(at - this.#deps.transactor.nowMs, 0), this.#deps.pollMs)
    this.#timer = setTimeout(() => void this.#tick(), delay).unref()
  }

  async #tick(swept = (): void => {}): Promise<void> {
    const { store, logger, transactor, pollMs } = this.#deps
    this.#nextAt = Number.POSITIVE_INFINITY
    let next = transactor.nowMs + pollMs
    try {
      const began = await store.now()
      transactor.clockOffsetMs = began - Date.now()
      await this.#swept()
      swept()
      // Everything that was due when this pass began has been handled. If it is still due, the next poll tries again;
      // to try
      // more often would not help.
      const due = await this.#nextDueAt(began)
      if (due !== null) next = Math.min(next, Math.max(due, transactor.nowMs + AHEAD_MS))
    } catch (error) {
      if (!this.#closed) logger.warn({}, `sweep failed, trying again: ${(error as Error).message}`)
    }
    this.#sleepUntil(Math.min(next, this.#nextAt))
  }

  /** Sweeps every kind, even if others fail. */
  async #pass(): Promise<void> {
    const { faults } = this.#deps
    let away: unknown = null
    for (const [kind, sweep] of Object.entries(this.#kinds())) {
      if (this.#closed) return
      if (faults.rests('sweep_failed', kind)) continue
      try {
        await sweep()
        faults.over('sweep_failed', kind)
      } catch (error) {
        if (isStoreAway(error)) away = error
        else faults.note('sweep_failed', kind, error)
      }
    }
    if (away !== null) throw away
  }

  /** By name, in the order in which they are swept. */
  #kinds(): Readonly<Record<string, () => Promise<void>>> {
    const { store, chance, quotas, pauses, pauseRules } = this.#deps
    const { sweep } = store
    const findings = this.#findings
    const advance = (gate: GateRow): Promise<void> => this.#advance(gate)
    return {
      clock: () => this.#deps.clock.look(),
      lost_runs: () => this.#runs('sweep_lost_run', (p) => sweep.lostRuns(p), withChance(lost, chance)),
      expired_leases: () =>
        this.#runs('sweep_expired_lease', (p) => sweep.expiredLeases(p), withChance(leaseExpired, chance)),
      overdue_runs: () => this.#runs('sweep_overdue_run', (p) => sweep.overdueRuns(p), withChance(overdue, chance)),
      foreign_outcomes: () => this.#foreignOutcomes(),
      foreign_starts: () =>
        findings.each(
          'sweep_foreign_start',
          (p) => sweep.foreignStarts(p),
          idOf,
          ({ id }) => this.#deps.noteStarts([id]),
        ),
      deadlines: () =>
        findings.each(
          'sweep_deadline',
          (p) => sweep.overdueInstances(p),
          idOf,
          (key) => this.#deadline(key),
        ),
      cascades: () =>
        findings.each(
          'sweep_cascade',
          (p) => sweep.unfinishedCascades(p),
          idOf,
          (key) => this.#cascade(key),
        ),
      // Decisions first: a decided gate does not escalate.
      gates: () => findings.each('sweep_gate', (p) => sweep.overdueGates(p), idOf, advance),
      escalations: () => findings.each('sweep_escalation', (p) => sweep.escalatingGates(p), idOf, advance),
      pauses: () =>
        findings.each(
          'sweep_pause',
          (p) => store.pauses.unfinished(p),
          pauseName,
          ({ kind, key }) => (kind === 'definition' ? pauseRules.finishDefinition(key) : pauses.advance(key)),
        ),
      parked_types: () => this.#parkedTypes(),
      queued_instances: () => quotas.sweep(),
      ...startsByTheClock(this.#deps, findings, (name, fire) => this.#fire(name, fire)),
      bulk_operations: () => this.#fire('bulk operations', () => this.#deps.bulkRunner.run()),
      failures: () => countFailures(store, { wait: false, isClosed: () => this.#closed }),
      retention: () => this.#fire('retention', () => this.#prune()),
    }
  }

  /** Sweeps one kind of run until none is left, through the same settle as the workers' reports. */
  async #runs(place: string, find: Find<Key>, fold: Fold): Promise<void> {
    const handled = new Set<string>()
    while (!this.#closed) {
      const found = await this.#findings.look(place, find, idOf, handled)
      if (found.length === 0) return
      this.#deps.probe('in-sweeper')
      await this.#findings.together(place, found, idOf, (key) => this.#settle(key, fold))
      if (found.length < CHUNK) return
      for (const { id } of found) handled.add(id)
    }
  }

  #settle({ id: runId, rootId, instanceId }: Key, work: Fold): Promise<unknown> {
    const folding = (apply: Fold) => (change: WorkingSet) => {
      apply(change, runId)
      return 'recorded' as const
    }
    const fold = folding(work)
    const unstorable = folding(unrecordable)
    const key = { runId, rootId, instanceId, bytes: 400, report: null }
    return this.#deps.settler.settle({ ...key, ifLocked: 'leave', fold, unstorable })
  }

  #parkedTypes(): Promise<void> {
    const { store, pauseRules } = this.#deps
    const find: Find<string> = (p) => store.pauses.parkedTypes(p)
    return this.#findings.each('sweep_parked_type', find, String, (type) => pauseRules.releaseType(type))
  }

  #deadline({ id, rootId }: InstanceKey): Promise<void> {
    return this.#onRoot(rootId, id, (change) => {
      if (isDue(change, memberOf(change, id))) happen(change, id, { kind: 'deadline' })
    })
  }

  #cascade({ id, rootId }: InstanceKey): Promise<void> {
    return this.#onRoot(rootId, id, (change) => {
      if (memberOf(change, id).row.more) happen(change, id, { kind: 'continue' })
    })
  }

  #onRoot(rootId: string, id: string, fold: (change: WorkingSet) => void): Promise<void> {
    return this.#onFreeRoot(rootId, { instances: [id] }, fold)
  }

  async #onFreeRoot(rootId: string, need: Need, work: (change: WorkingSet) => void): Promise<void> {
    const { transactor, offers } = this.#deps
    const fold = (change: WorkingSet): boolean => {
      if (!change.loaded.locked.has(rootId)) return false
      work(change)
      return true
    }
    const { value } = await transactor.run({ roots: [rootId], wait: false, need, offers, fold })
    if (!value) throw new StoreLockedError([{ table: 'instance', key: rootId, holder: null }])
  }

  /** One that waits for a locked row does not delay the others, and is not fired a second time meanwhile. */
  async #fire(name: string, fire: () => Promise<void>): Promise<void> {
    if (this.#firing.has(name)) return
    const firing = fire().finally(() => this.#firing.delete(name))
    this.#firing.set(name, firing)
    firing.catch(() => undefined)
    let timer: NodeJS.Timeout | undefined
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FIRE_MS)
    })
    await Promise.race([firing, enough]).finally(() => clearTimeout(timer))
  }

  #advance({ id, rootId, instanceId }: GateRow): Promise<void> {
    return this.#onFreeRoot(rootId, { instances: [instanceId], gates: [id] }, (change) => {
      const gate = change.loaded.gates.get(id)
      if (gate !== undefined) advanceGate(change, gate)
    })
  }
}

function withChance(fold: (change: WorkingSet, runId: string, chance: Chance) => void, chance: Chance): Fold {
  return (change, runId) => fold(change, runId, chance)
}
