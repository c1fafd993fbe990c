/**
 * Compares the runs that a session holds according to the store with those that its worker holds. They differ when another
 * process, or a foreign client, ended a run that is held here; when a lease was committed but its answer was lost; and when
 * the store lost an outcome that it had acknowledged (a failover to a server that lags behind).
 */
import type { RunRow } from '../../model/rows.ts'
import type { Store } from '../../store/store.ts'
import type { SessionInbox } from '../../worker/port.ts'
import { strayed } from '../fold/run/ended-leases.ts'
import { type Chance, unrecordable } from '../fold/run/outcomes.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Faults } from '../transaction/faults.ts'
import { Findings, idOf } from '../transaction/findings.ts'
import type { Settler } from '../transaction/settle.ts'
import type { Transactor } from '../transaction/transactor.ts'

/** A leased run that its worker has not received for this long was lost on the way. */
const STRAY_AFTER_MS = 5000
/** Other processes may commit hundreds of times a second, so not every commit causes a comparison. */
const LOOK_EVERY_MS = 200

export interface HeldRunDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly settler: Settler
  readonly chance: Chance
  readonly faults: Faults
}

export class HeldRuns {
  readonly #deps: HeldRunDeps
  readonly #inbox: SessionInbox
  readonly #sessionId: () => string
  /** Runs whose report is on its way to the store. */
  readonly reporting = new Set<string>()
  /** true: leased runs may not have reached the worker yet. */
  claiming = false
  #due: NodeJS.Timeout | null = null
  #lookedAt = Number.NEGATIVE_INFINITY
  #closed = false
  /** Started runs, with their epochs, that the last comparison found leased to a worker that does not hold them. */
  #suspects: ReadonlyMap<string, number> = new Map()

  constructor(deps: HeldRunDeps, inbox: SessionInbox, sessionId: () => string) {
    this.#deps = deps
    this.#inbox = inbox
    this.#sessionId = sessionId
  }

  async compare(): Promise<void> {
    const { claiming } = this
    const before = this.#inbox.holding()
    if (before.length === 0 && claiming) return
    const rows = await this.#deps.store.read.heldBy(this.#sessionId())
    const ours = new Set(rows.map((run) => run.id))
    const held = new Set(this.#inbox.holding())
    const lost = before.filter((id) => !ours.has(id) && held.has(id) && !this.reporting.has(id))
    if (lost.length > 0) await this.#stop(lost)
    if (claiming || this.claiming) return
    const longAgo = this.#deps.transactor.nowMs - STRAY_AFTER_MS
    const unknown = rows.filter((run) => !held.has(run.id) && !this.reporting.has(run.id))
    // The outcome may have been recorded since the rows were read. If the next comparison still finds the run, it was
    // not.
    const started = unknown.filter((run) => run.startedAt !== null)
    const lasting = started.filter((run) => this.#suspects.get(run.id) === run.epoch)
    this.#suspects = new Map(started.map((run) => [run.id, run.epoch]))
    const strays = unknown.filter((run) => run.startedAt === null && (run.leasedAt ?? 0) < longAgo)
    // A run that cannot be given back must not make the heartbeat fail, and with it all other runs of the session.
    const findings = new Findings(this.#deps.faults, () => false)
    await findings.together('stray_lease', [...strays, ...lasting], idOf, (run) => this.#giveBack(run))
    if (started.length > lasting.length) this.#lookSoon()
  }

  /** An unknown commit may have ended runs that are held here. Writes nothing. */
  compareSoon(): void {
    if (this.#inbox.holding().length > 0) this.#lookSoon()
  }

  #lookSoon(): void {
    if (this.#due !== null || this.#closed) return
    const look = (): void => {
      this.#due = null
      this.#lookedAt = performance.now()
      // After a failure, the next heartbeat compares again.
      this.compare().catch(() => undefined)
    }
    this.#due = setTimeout(look, Math.max(0, this.#lookedAt + LOOK_EVERY_MS - performance.now())).unref()
  }

  close(): void {
    this.#closed = true
    if (this.#due !== null) clearTimeout(this.#due)
  }

  /** Stops work on runs that were ended elsewhere. */
  async #stop(runIds: readonly string[]): Promise<void> {
    const rows = await this.#deps.store.read.runs({ ids: runIds })
    const cancelled = new Set(rows.filter((run) => run.status === 'cancelled').map((run) => run.id))
    this.#inbox.stop(runIds.map((runId) => ({ runId, reason: cancelled.has(runId) ? 'cancel' : 'lost' })))
  }

  /** Gives back a run that is leased but that no worker executes. */
  async #giveBack({ id: runId, rootId, instanceId, epoch }: RunRow): Promise<void> {
    const sessionId = this.#sessionId()
    const fold = (change: WorkingSet): 'recorded' => {
      strayed(change, runId, { sessionId, epoch, chance: this.#deps.chance })
      return 'recorded'
    }
    const unstorable = (change: WorkingSet): 'recorded' => {
      unrecordable(change, runId)
      return 'recorded'
    }
    const key = { runId, rootId, instanceId, bytes: 400, report: null }
    await this.#deps.settler.settle({ ...key, ifLocked: 'leave', fold, unstorable })
  }
}
