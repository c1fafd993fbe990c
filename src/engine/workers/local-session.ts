/** The session of one worker in this process: its heartbeats, claims and reports. */

import { hostname } from 'node:os'
import { PetrelError } from '../../kernel/errors.ts'
import { unstorable } from '../../kernel/json-limits.ts'
import type { Logger } from '../../kernel/logger.ts'
import { StoreLockedError } from '../../kernel/store-errors.ts'
import { retriedRun } from '../../model/retried-runs.ts'
import type { WorkerRow } from '../../model/rows.ts'
import type { ClaimFilter, Need } from '../../model/transaction.ts'
import type { Json } from '../../net/net.ts'
import type { Store } from '../../store/store.ts'
import type {
  Delivery,
  LogPart,
  ParentResults,
  Reply,
  Report,
  Session,
  SessionInbox,
  SessionOptions,
} from '../../worker/port.ts'
import { type Chance, reported, UNSTORABLE } from '../fold/run/outcomes.ts'
import { leased } from '../fold/run/runs.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import { deliveryOf } from '../transaction/deliveries.ts'
import type { Faults } from '../transaction/faults.ts'
import type { Offer } from '../transaction/handoff.ts'
import type { Settler } from '../transaction/settle.ts'
import type { Transactor } from '../transaction/transactor.ts'
import { claim } from './claim.ts'
import { accepting } from './filter.ts'
import { HeldRuns } from './held-runs.ts'
import type { Programs } from './programs.ts'
import { QueueOutlook } from './queue-outlook.ts'
import type { References } from './references.ts'
import { bytesOf, checkReport, failedAs } from './session-report.ts'

export interface SessionDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly settler: Settler
  readonly results: (delivery: Delivery) => Promise<ParentResults>
  readonly programs: Programs
  readonly references: References
  readonly newId: () => string
  readonly chance: Chance
  readonly logger: Logger
  readonly faults: Faults
  readonly ttlMs: number
  readonly heartbeatMs: number
  readonly maxPayloadBytes: number
  readonly probe: (point: string) => void
  /** Records in their instances that these runs have started. */
  readonly noteStarts: (runIds: readonly string[]) => Promise<void>
  /** A rate limit refused work: to be looked for again at that time. */
  readonly dueAt: (at: number) => void
  /** Observes a claim, which it returns unchanged. */
  readonly polled: <T>(worker: string, claim: Promise<T>) => Promise<T>
}

/** One session. If it is declared dead while its process was paused, it continues under a new id. */
export class LocalSession implements Session {
  id: string
  readonly inbox: SessionInbox
  readonly heldRuns: HeldRuns
  readonly filter: ClaimFilter
  /** Settles in a row that handed off a run; a claim resets it. */
  streak = 0
  readonly #deps: SessionDeps
  readonly #options: SessionOptions
  readonly #accepts: Offer['accepts']
  readonly #startedAt = Date.now()
  readonly #renamed: (before: string, now: string | null) => void
  /** Ids under which it was declared dead: runs leased under them may still be reported. */
  readonly #formerIds = new Set<string>()
  #beatenAt = 0
  #state: WorkerRow['state'] = 'running'
  #timer: NodeJS.Timeout | null = null
  #closed = false
  readonly #outlook = new QueueOutlook()
  /** Queues it got work from, if it takes from all: their settings are loaded with the next claim's first read. */
  readonly #queuesSeen = new Set<string>()

  constructor(
    deps: SessionDeps,
    options: SessionOptions,
    inbox: SessionInbox,
    renamed: (before: string, now: string | null) => void,
  ) {
    this.#deps = deps
    this.#options = options
    this.inbox = inbox
    this.heldRuns = new HeldRuns(deps, inbox, () => this.id)
    this.id = deps.newId()
    const { queues, types, tenant, runtime } = options
    this.filter = { queues, types, tenant, runtime }
    this.#accepts = accepting(this.filter)
    this.#renamed = renamed
  }

  offer(reports: string[]): Offer | null {
    if (this.#state !== 'running' || this.#closed || this.#silent()) return null
    const room = Math.max(0, this.inbox.room() - reports.length)
    if (room === 0 && reports.length === 0) return null
    const { waiting, renew } = this.#outlook.waiting()
    return {
      holder: { id: this.id, name: this.#options.name },
      filter: this.filter,
      accepts: this.#accepts,
      reports,
      room,
      streak: this.streak,
      waiting,
      renew,
      looked: this.#outlook.looked,
    }
  }

  wake(queues: ReadonlySet<string> | null, urgency = Number.NEGATIVE_INFINITY): void {
    if (this.#state !== 'running') return
    if (queues === null || this.filter.queues === null || this.filter.queues.some((q) => queues.has(q))) {
      this.#outlook.added(urgency)
      this.inbox.wake()
    }
  }

  async beat(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    try {
      const { state, stop } = await this.#deps.store.sweep.beat({ worker: this.#row(), ttlMs: this.#deps.ttlMs })
      if (stop.length > 0) this.inbox.stop(stop.map((runId) => ({ runId, reason: 'cancel' as const })))
      await this.heldRuns.compare()
      if (state === 'dead' && !this.#closed) return await this.#beginAnew()
      this.#beatenAt = performance.now()
      if (state === 'quiet' || state === 'terminate') this.#state = state
    } catch (error) {
      // It cannot be declared dead while its row is locked.
      if (error instanceof StoreLockedError) this.#beatenAt = performance.now()
      this.#deps.logger.warn({ session: this.id }, `heartbeat failed, trying again: ${(error as Error).message}`)
    }
    if (!this.#closed) this.#timer = setTimeout(() => void this.beat(), this.#deps.heartbeatMs).unref()
  }

  /** After too long a pause, other workers have taken its runs. It continues under a new id. */
  async #beginAnew(): Promise<void> {
    const before = this.id
    this.#formerIds.add(before)
    this.id = this.#deps.newId()
    this.#renamed(before, this.id)
    this.inbox.stop(this.inbox.holding().map((runId) => ({ runId, reason: 'lost' as const })))
    this.#deps.logger.warn({ before, session: this.id }, 'the session was declared dead; beginning a new one')
    await this.beat()
    this.inbox.wake()
  }

  #held(sessionId: string): boolean {
    return sessionId === this.id || this.#formerIds.has(sessionId)
  }

  /** true: it may have been declared dead without having noticed. */
  #silent(): boolean {
    return performance.now() - this.#beatenAt > this.#deps.ttlMs
  }

  #row(): WorkerRow {
    const { name, runtime, queues, types, concurrency, tenant, build = null } = this.#options
    const now = this.#deps.transactor.nowMs
    return {
      id: this.id,
      name,
      host: hostname(),
      pid: process.pid,
      runtime,
      queues: queues ?? [],
      types: types ?? [],
      concurrency,
      state: this.#closed ? 'dead' : this.#state,
      startedAt: this.#startedAt,
      heartbeatAt: now,
      expiresAt: now + this.#deps.ttlMs,
      tenant,
      holds: 'session',
      build,
    }
  }

  async claim(limit: number): Promise<readonly Delivery[]> {
    if (this.#silent()) await this.beat()
    if (this.#state !== 'running' || this.#closed || limit <= 0) return []
    const { transactor } = this.#deps
    const candidates = { ...this.filter, limit, skipQueues: [], skipLimitKeys: [] }
    const queues = this.filter.queues ?? [...this.#queuesSeen]
    const need: Need = { candidates, queues, limits: queues.map((q) => `queue:${q}`) }
    this.heldRuns.claiming = true
    this.#outlook.claiming()
    const claiming = transactor.run({ roots: [], wait: false, need, fold: (c) => this.#lease(c, limit) })
    const { value, change } = await this.#deps.polled(this.#options.name, claiming).finally(() => {
      this.heldRuns.claiming = false
    })
    this.streak = 0
    this.#outlook.claimed(change.loaded.candidates, value.length, limit)
    if (change.admission.retryAt !== null) this.#deps.dueAt(change.admission.retryAt)
    if (value.length > 0) this.#deps.probe('after-claim')
    return value
  }

  #lease(change: WorkingSet, limit: number): readonly Delivery[] {
    const holder = { id: this.id, name: this.#options.name }
    const { taken } = claim(change, this.filter, limit, (run) => leased(run, holder, change.now, null))
    for (const { queue } of taken) this.#queuesSeen.add(queue)
    return taken.map((run) => deliveryOf(run))
  }

  settle(report: Report): Promise<Reply> {
    const { delivery } = report
    const given = { ...report, startedAt: this.#onStoreClock(report.startedAt) }
    const { checked, remarks: plain } = checkReport(given, this.#deps.maxPayloadBytes)
    const { build = null } = this.#options
    const remarks = build === null ? plain : { ...plain, build }
    this.heldRuns.reporting.add(delivery.runId)
    const session = { id: this.id, held: (id: string) => this.#held(id) }
    return this.#deps.settler.settle({
      runId: delivery.runId,
      rootId: delivery.rootId,
      instanceId: delivery.instanceId,
      bytes: bytesOf(checked),
      report: { sessionId: this.id, report: checked },
      // The worker continues with other work.
      ifLocked: 'keep',
      decided: () => this.heldRuns.reporting.delete(delivery.runId),
      fold: (change) => reported(change, session, checked, remarks, this.#deps.chance),
      unstorable: (change) =>
        reported(change, session, failedAs(checked, UNSTORABLE), build === null ? {} : { build }, this.#deps.chance),
    })
  }

  /** A worker knows only its own machine's clock. */
  #onStoreClock(at: number | null): number | null {
    return at === null ? null : Math.round(at + this.#deps.transactor.clockOffsetMs)
  }

  async started(
    runs: readonly { readonly runId: string; readonly epoch: number; readonly at: number }[],
  ): Promise<void> {
    const held = await this.#deps.store.sweep.started({
      runs: runs.map((r) => ({ id: r.runId, epoch: r.epoch, at: this.#onStoreClock(r.at) as number })),
    })
    await this.#deps.noteStarts(held)
  }

  results(delivery: Delivery): Promise<ParentResults> {
    return this.#deps.results(delivery)
  }

  program(delivery: Delivery): Promise<Json | null> {
    return this.#deps.programs.of(delivery)
  }

  async dereference({ instanceId, payload }: Delivery): Promise<Json | undefined> {
    const args = JSON.parse(payload) as Json
    return instanceId === null ? args : this.#deps.references.resolve(instanceId, args)
  }

  async checkpoint(delivery: Delivery, state: string): Promise<number> {
    const { runId, epoch } = delivery
    const error = unstorable(state, this.#deps.maxPayloadBytes)
    if (error !== null) throw new PetrelError(error.code as 'unstorable', `the checkpoint ${error.message}`)
    const sequence = await this.#deps.store.sweep.checkpoint({ runId, epoch, state })
    if (sequence === null) throw new PetrelError('stale_lease', `run ${runId} is no longer held by this worker`)
    return sequence
  }

  async loadCheckpoint(delivery: Delivery): Promise<string | null> {
    const { read } = this.#deps.store
    const retried = retriedRun(delivery.meta)
    const saved = await read.checkpoint(delivery.runId)
    return (saved ?? (retried === null ? null : await read.checkpoint(retried.run)))?.state ?? null
  }

  async progress(delivery: Delivery, value: string): Promise<void> {
    await this.#deps.store.sweep.progress({ runId: delivery.runId, epoch: delivery.epoch, value })
  }

  async log(parts: readonly LogPart[]): Promise<void> {
    await this.#deps.store.logs.append(parts.map((part) => ({ ...part, holder: null })))
    this.#deps.probe('after-log')
  }

  async quiet(): Promise<void> {
    this.#state = 'quiet'
    await this.beat()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#renamed(this.id, null)
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.heldRuns.close()
    await this.#deps.store.sweep.beat({ worker: this.#row(), ttlMs: 0 }).catch(() => undefined)
  }
}
