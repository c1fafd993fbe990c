/**
 * A worker: takes runs from the engine, calls their handlers, reports their outcomes.
 *
 *   running ──stop()──► draining ──nothing left, or grace period over──► stopped
 *
 * running   A run is in one of these places: leased and waiting in the buffer, executing, or settling (its outcome is
 *           being recorded). Deliveries come from claims, from replies to reports (hand-off) and unasked (`deliver`);
 *           all go into the buffer, and from there to a free slot. There are `concurrency` slots; a settling run
 *           occupies none. Room = slots + prefetch target − executing − buffered − what a claim under way may bring. A
 *           report asks for the next run while there is more room than reports in flight that asked already; claims
 *           (see claims.ts) do not wait for those replies, unless nothing is to be fetched in advance. If every slot
 *           stays busy for long while runs wait in the buffer, those are handed back: another worker may be idle.
 * draining  Nothing new begins; runs that wait or still arrive are handed back unstarted. Executing runs may end by
 *           themselves until the grace period is over, then their signals are aborted, and a little later those still
 *           executing are reported as failed with code `shutdown`. stop() again can only shorten the grace period.
 *           Then settling runs are awaited, and the session is closed; runs whose reports could not be delivered by
 *           then are handed back with the session.
 * stopped   Final. Wakes, deliveries and late ends of abandoned handlers are ignored.
 */
import type { PetrelError } from '../kernel/errors.ts'
import type { Json } from '../net/net.ts'
import { NOT_AVAILABLE, refersAside } from '../net/references.ts'
import { Buffer } from './buffer.ts'
import { Claims } from './claims.ts'
import { type Context, RunContext } from './context.ts'
import { Deferral } from './deferral.ts'
import { Failed, failureOf, Shutdown, stoppedFailure, stopReason, TimedOut, unstorableFailure } from './errors.ts'
import { Execution } from './execution.ts'
import type { Handler } from './handlers.ts'
import { toJsonText } from './json.ts'
import { Later } from './later.ts'
import { LogWriter } from './log.ts'
import { settingsOf, type WorkerOptions, type WorkerSettings } from './options.ts'
import { Pace } from './pace.ts'
import type { Delivery, Remarks, Reply, Report, Session, SessionInbox, WorkerPort } from './port.ts'
import { Scan } from './scan.ts'
import { Waiter } from './waiter.ts'

/** If every slot is busy for this long, the buffered runs are handed back. */
const STALLED_MS = 1_000
/** Handlers that resolve at once would block the event loop: after this long it gets a turn. */
const TURN_MS = 20
const ABORT_GRACE_MS = 1_000
const SETTLE_GRACE_MS = 5_000
/** The most runs that one transaction settles: more would come back in two. */
const LARGEST_CLAIM = 500

type Outcome = Report['outcome']

export class Worker {
  readonly #options: WorkerSettings
  readonly #pace: Pace
  readonly #claims: Claims
  readonly #scan: Scan
  readonly #logs: LogWriter
  readonly #buffer = new Buffer()
  /** In the order they began. */
  readonly #executing = new Set<Execution>()
  /** Makes report ids unique among all workers. */
  readonly #reportPrefix = Math.random().toString(36).slice(2, 10)
  readonly #waiter = new Waiter()
  #session!: Session
  #state: 'running' | 'draining' | 'stopped' = 'running'
  #settling = 0
  /** Reports in flight that asked for the next run. */
  #asking = 0
  /** The share of recent reports asking for a run that were answered with one. */
  #handedShare = 0
  #reports = 0
  #pumping = false
  /** When the first run of this turn of the event loop began; 0: none yet. */
  #turnBeganAt = 0
  #stopping: Promise<void> | null = null

  private constructor(options: WorkerOptions) {
    this.#options = settingsOf(options)
    this.#pace = new Pace(this.#options)
    this.#logs = new LogWriter({ session: () => this.#session, logger: this.#options.logger })
    this.#claims = new Claims({
      claim: (limit) => this.#session.claim(limit),
      accept: (deliveries) => this.#accept(deliveries),
      appetite: () => this.#appetite(),
      idle: () => this.#executing.size === 0 && this.#settling === 0,
      pollMs: this.#options.pollMs,
      logger: this.#options.logger,
    })
    this.#scan = new Scan({
      executing: this.#executing,
      session: () => this.#session,
      scanned: () => this.#handBackIfStalled(),
      logger: this.#options.logger,
    })
  }

  /** Opens a session and begins to work. */
  static async start(port: WorkerPort, options: WorkerOptions): Promise<Worker> {
    const worker = new Worker(options)
    const { name, runtime, queues, handlers, concurrency, tenant, build } = worker.#options
    const inbox: SessionInbox = {
      room: () => worker.#room(),
      deliver: (deliveries) => worker.#accept(deliveries),
      holding: () => worker.#holding(),
      wake: () => worker.#claims.wake(),
      stop: (runs) => worker.#stopRuns(runs),
    }
    const session = { name, runtime, queues, types: handlers.types(), concurrency, tenant, build }
    worker.#session = await port.open(session, inbox)
    worker.#claims.start()
    return worker
  }

  get id(): string {
    return this.#session.id
  }

  get state(): 'running' | 'draining' | 'stopped' {
    return this.#state
  }

  get load(): { readonly executing: number; readonly buffered: number; readonly settling: number } {
    return { executing: this.#executing.size, buffered: this.#buffer.length, settling: this.#settling }
  }

  /**
   * Accepts no more work, lets executing runs end, then closes the session. A second call returns the same promise, and
   * can only shorten the wait: the earlier deadline counts.
   */
  stop(params: { readonly graceMs?: number } = {}): Promise<void> {
    const { graceMs = 25_000 } = params
    this.#waiter.limit('grace', graceMs)
    this.#stopping ??= this.#drain(graceMs)
    return this.#stopping
  }

  /** Stops on these signals of the process; a second one ends the wait at once. The returned function undoes this. */
  stopOn(
    signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'],
    params: { readonly graceMs?: number } = {},
  ): () => void {
    const listener = (): void => {
      const again = this.#state !== 'running'
      this.stop(again ? { graceMs: 0 } : params).catch((error) =>
        this.#options.logger.error({ err: error }, 'stop failed'),
      )
    }
    for (const signal of signals) process.on(signal, listener)
    return () => {
      for (const signal of signals) process.off(signal, listener)
    }
  }

  // ── taking work ────────────────────────────────────────────────────────────────────────────────────────────────

  /** How many more runs it would accept now. */
  #room(): number {
    if (this.#state !== 'running') return 0
    const { concurrency, maxPrefetch } = this.#options
    // Outcomes pile up when the store is slow: accepting more work would only add to them.
    if (this.#settling > 4 * (concurrency + maxPrefetch)) return 0
    return Math.max(0, concurrency + this.#pace.target - this.#held())
  }

  #held(): number {
    return this.#executing.size + this.#buffer.length + this.#claims.expected
  }

  /** Delivered and not yet reported. */
  #holding(): readonly string[] {
    const ids = this.#buffer.runIds()
    for (const execution of this.#executing) ids.push(execution.delivery.runId)
    ids.push(...this.#logs.ending)
    return ids
  }

  /** How many to claim now. */
  #appetite(): number {
    const { target } = this.#pace
    // Replies under way will bring some of these runs; claiming them as well would push the hand-offs into the queue.
    const coming = target === 0 ? this.#asking : Math.ceil(this.#asking * this.#handedShare)
    const room = this.#room() - coming
    if (room <= 0) return 0
    // Slots first; the buffer is filled up once it is half empty, not after every run.
    const waiting = this.#held() - this.#options.concurrency
    return waiting >= 0 && waiting * 2 > target ? 0 : Math.min(room, LARGEST_CLAIM)
  }

  #accept(deliveries: readonly Delivery[]): void {
    if (this.#state === 'stopped') return
    for (const delivery of deliveries) {
      if (this.#state === 'running') this.#buffer.push(delivery)
      else this.#release(delivery)
    }
    this.#pump()
    this.#waiter.check()
  }

  // ── executing ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Fills the free slots from the buffer, then the buffer. */
  #pump(): void {
    // A handler that returns at once ends inside this loop, which then continues by itself.
    if (this.#pumping) return
    this.#pumping = true
    const { concurrency } = this.#options
    while (this.#executing.size < concurrency && this.#state === 'running' && !this.#turnIsOver()) {
      const delivery = this.#buffer.shift()
      if (delivery === undefined) break
      this.#begin(delivery)
    }
    this.#pumping = false
    this.#claims.look()
  }

  #turnIsOver(): boolean {
    if (this.#turnBeganAt !== 0) return performance.now() - this.#turnBeganAt > TURN_MS
    if (this.#buffer.length === 0) return false
    this.#turnBeganAt = performance.now()
    setImmediate(() => {
      this.#turnBeganAt = 0
      this.#pump()
    })
    return false
  }

  #begin(delivery: Delivery): void {
    const handler = this.#options.handlers.find(delivery.type)
    if (handler === null) {
      const error = { code: 'no_handler', message: `this worker has no handler for '${delivery.type}'` }
      this.#report({ delivery, startedAt: null, outcome: { kind: 'failed', error } }, {})
      return
    }
    const { logger, maxResultBytes: maxBytes } = this.#options
    const setup = { session: this.#session, logger, maxBytes, logs: this.#logs }
    const execution = new Execution(delivery, setup)
    this.#executing.add(execution)
    let value: unknown
    try {
      const args = JSON.parse(delivery.payload) as Json
      const whole = delivery.instanceId === null || !refersAside(args)
      value = whole ? call(handler, args, execution) : this.#callWithWhole(handler, execution)
    } catch (error) {
      this.#threw(execution, error)
      return
    }
    if (typeof value !== 'object' || value === null || !('then' in value)) return this.#returned(execution, value)
    // Only now: a handler that has already returned needs no scan.
    this.#scan.begin()
    const promise = value instanceof Promise ? value : Promise.resolve(value)
    promise.then(
      (result) => this.#returned(execution, result),
      (error) => this.#threw(execution, error),
    )
  }

  /** Handlers never receive references. */
  async #callWithWhole(handler: Handler, execution: Execution): Promise<unknown> {
    const args = await this.#session.dereference(execution.delivery)
    if (execution.reason !== null) throw execution.reason
    if (args === undefined) throw new Failed(NOT_AVAILABLE)
    return call(handler, args, execution)
  }

  #returned(execution: Execution, value: unknown): void {
    if (value === undefined) return this.#end(execution, { kind: 'succeeded', result: null })
    if (value instanceof Deferral) {
      const { command } = value
      return this.#end(execution, { kind: 'deferred', ...(command === null ? {} : { command }) })
    }
    if (value instanceof Later) {
      // A handler cannot evade its timeout by continuing later.
      if (execution.reason instanceof TimedOut) return this.#threw(execution, execution.reason)
      return this.#end(execution, { kind: 'later', delayMs: value.delayMs })
    }
    try {
      const result = toJsonText(value, { maxBytes: this.#options.maxResultBytes, what: 'the result' })
      this.#end(execution, { kind: 'succeeded', result })
    } catch (error) {
      this.#end(execution, { kind: 'failed', error: unstorableFailure(error as PetrelError) })
    }
  }

  #threw(execution: Execution, thrown: unknown): void {
    const { reason } = execution
    const error = reason === null ? failureOf(thrown) : stoppedFailure(reason, thrown)
    this.#end(execution, { kind: 'failed', error })
  }

  #end(execution: Execution, outcome: Outcome): void {
    if (execution.over) return
    this.#pace.add(execution.end())
    this.#executing.delete(execution)
    const { delivery, startedAt } = execution
    const report = (): void => this.#report({ delivery, startedAt, outcome }, execution.reported())
    const logged = execution.endLog()
    if (logged === null) report()
    else {
      this.#settling++
      void logged.then(() => {
        this.#settling--
        report()
      })
    }
    this.#pump()
    this.#waiter.check()
  }

  // ── reporting ──────────────────────────────────────────────────────────────────────────────────────────────────

  #report(
    { delivery, startedAt, outcome }: Pick<Report, 'delivery' | 'startedAt' | 'outcome'>,
    remarks: Remarks,
  ): void {
    const wantNext = outcome.kind !== 'released' && this.#room() > this.#asking
    this.#settling++
    if (wantNext) this.#asking++
    const reportId = `${this.#reportPrefix}.${(this.#reports++).toString(36)}`
    const alone = this.#executing.size === 0 && this.#buffer.length === 0
    this.#session.settle({ delivery, startedAt, outcome, reportId, wantNext, alone, ...remarks }).then(
      (reply) => this.#replied(wantNext, reply),
      (error) => {
        // The engine retries while the store is unavailable; otherwise the run is handed back with the session.
        this.#options.logger.error({ err: error, run: delivery.runId }, 'outcome could not be recorded')
        this.#replied(wantNext, null)
      },
    )
    if (outcome.kind === 'failed') {
      const { runId: run, type, attempt } = delivery
      this.#options.logger.debug({ run, type, attempt, error: outcome.error }, 'run failed')
    }
  }

  #replied(wantedNext: boolean, reply: Reply | null): void {
    this.#settling--
    if (wantedNext) {
      this.#asking--
      const handed = reply !== null && reply.next !== null ? 1 : 0
      this.#handedShare += (handed - this.#handedShare) * 0.02
    }
    if (reply !== null && reply.next !== null) this.#accept([reply.next])
    else this.#claims.look()
    this.#waiter.check()
  }

  #release(delivery: Delivery): void {
    this.#report({ delivery, startedAt: null, outcome: { kind: 'released' } }, {})
  }

  /** Another worker may be idle. */
  #handBackIfStalled(): void {
    if (this.#buffer.length === 0 || this.#executing.size < this.#options.concurrency) return
    let youngestMs = 0
    for (const execution of this.#executing) youngestMs = execution.ageMs
    if (youngestMs < STALLED_MS) return
    this.#pace.stalled(youngestMs)
    for (const delivery of this.#buffer.take(() => true)) this.#release(delivery)
  }

  // ── stopping ───────────────────────────────────────────────────────────────────────────────────────────────────

  #stopRuns(runs: readonly { readonly runId: string; readonly reason: 'cancel' | 'timeout' | 'lost' }[]): void {
    const reasons = new Map(runs.map((run) => [run.runId, run.reason]))
    for (const execution of this.#executing) {
      const reason = reasons.get(execution.delivery.runId)
      if (reason !== undefined) execution.stop(stopReason(reason))
    }
    for (const delivery of this.#buffer.take((d) => reasons.has(d.runId))) {
      // Handed back even if its lease is lost: the engine then answers that the report is stale.
      this.#release(delivery)
    }
  }

  async #drain(graceMs: number): Promise<void> {
    const { logger } = this.#options
    this.#state = 'draining'
    this.#claims.stop()
    for (const delivery of this.#buffer.take(() => true)) this.#release(delivery)
    if (this.#executing.size > 0) logger.info({ executing: this.#executing.size, graceMs }, 'worker is draining')
    const quiet = this.#session
      .quiet()
      .catch((error) => logger.warn({ err: error }, 'the session could not be quieted'))
    const idle = (): boolean => this.#executing.size === 0
    await this.#waiter.wait('grace', idle, graceMs)
    if (!idle()) {
      logger.warn({ executing: this.#executing.size }, 'grace period is over, aborting what still executes')
      for (const execution of this.#executing) execution.stop(new Shutdown())
      await this.#waiter.wait('abort', idle, ABORT_GRACE_MS)
      for (const execution of this.#executing) this.#threw(execution, execution.reason)
    }
    await this.#waiter.wait('settle', () => this.#settling === 0 && this.#claims.expected === 0, SETTLE_GRACE_MS)
    await quiet
    this.#state = 'stopped'
    this.#scan.stop()
    await this.#session.close()
  }
}

function call(handler: Handler, args: Json, execution: Execution): unknown {
  return handler(args as never, new RunContext(execution) as Context as Context<never>)
}
