/**
 * What a session holds by the store's word, compared with what its worker says he holds. They differ when another
 * process, or a foreign client, ended a run that is held here, and when a lease was committed whose answer never came.
 */
import type { RunRow } from '../store/rows.ts'
import type { Store } from '../store/store.ts'
import type { SessionInbox } from '../worker/port.ts'
import type { Change } from './change.ts'
import { strayed } from './outcomes.ts'
import type { Settler } from './settle.ts'
import type { Transactor } from './transactor.ts'

/** A leased run its worker does not know of for this long was lost on the way. */
const STRAY_AFTER_MS = 5000
/** Commits of others come in hundreds a second; a look after each would be too much. */
const LOOK_EVERY_MS = 200

export interface HoldingDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly settler: () => Settler
}

export class Holdings {
  readonly #deps: HoldingDeps
  readonly #inbox: SessionInbox
  readonly #sessionId: () => string
  /** Runs whose report is on its way to the store. */
  readonly reporting = new Set<string>()
  /** true: what is leased may not have reached the worker yet. */
  claiming = false
  #due: NodeJS.Timeout | null = null
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(deps: HoldingDeps, inbox: SessionInbox, sessionId: () => string) {
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
    const strays = unknown.filter((run) => run.startedAt === null && (run.leasedAt ?? 0) < longAgo)
    await Promise.all(strays.map((run) => this.#giveBack(run)))
  }

  /** Somebody has committed something: nobody knows what, so it may concern what is held here. Writes nothing. */
  compareSoon(): void {
    if (this.#due !== null || this.#inbox.holding().length === 0) return
    const look = (): void => {
      this.#due = null
      this.#lookedAt = performance.now()
      // A look that fails is made good by the next beat.
      this.compare().catch(() => undefined)
    }
    this.#due = setTimeout(look, Math.max(0, this.#lookedAt + LOOK_EVERY_MS - performance.now())).unref()
  }

  close(): void {
    if (this.#due !== null) clearTimeout(this.#due)
  }

  /** Ended elsewhere: the worker must stop. */
  async #stop(runIds: readonly string[]): Promise<void> {
    const rows = await this.#deps.store.read.runs({ ids: runIds })
    const cancelled = new Set(rows.filter((run) => run.status === 'cancelled').map((run) => run.id))
    this.#inbox.stop(runIds.map((runId) => ({ runId, reason: cancelled.has(runId) ? 'cancel' : 'lost' })))
  }

  /** Leased by a commit whose answer never came: nobody works on it. */
  async #giveBack({ id: runId, rootId, instanceId, epoch }: RunRow): Promise<void> {
    const sessionId = this.#sessionId()
    const fold = (change: Change): 'recorded' => {
      strayed(change, runId, sessionId, epoch)
      return 'recorded'
    }
    await this.#deps.settler().settle({ runId, rootId, instanceId, bytes: 400, report: null, fold, unstorable: fold })
  }
}
