/**
 * The engine: one transaction moves everything, this file ties the parts together; after-commit.ts wakes those concerned after each
 * commit. Nothing it keeps in memory is the truth: any number of engines work on one store, and any may die.
 */

import { newId } from '../kernel/ids.ts'
import { payloadLimit } from '../kernel/json-limits.ts'
import { MAX_NESTING } from '../kernel/limits.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Enqueued, EnqueueParams } from '../model/enqueue.ts'
import type { GateAnswer, GateLink, GateView } from '../model/gates.ts'
import type { QueueStats } from '../model/queries/overview.ts'
import type { Queries } from '../model/queries/queries.ts'
import type { TypeRegistry } from '../model/registry.ts'
import type { InstanceRow, RunRow, ScheduleRow, StoredEvent, WorkerRow } from '../model/rows.ts'
import type { ScheduleParams } from '../model/schedules.ts'
import type { Started, StartParams } from '../model/start.ts'
import type { Json, Net } from '../net/net.ts'
import type { Store } from '../store/store.ts'
import { Results } from '../views/results.ts'
import type { InstanceView } from '../views/view.ts'
import { viewOf } from '../views/view.ts'
import { follow } from '../views/watch.ts'
import { Reasons, type Why, type WhyRun } from '../views/why.ts'
import { AfterCommit } from './after-commit.ts'
import type { EngineApi, EngineOptions } from './api.ts'
import { GateAnswers } from './control/gates.ts'
import { Control } from './control/instances.ts'
import { RunControl } from './control/runs.ts'
import { typeRegistryOn } from './control/type-registry.ts'
import { Evaluators } from './fold/evaluators.ts'
import { type DefinitionStarted, DefinitionStarts, type Triggered } from './intake/definitions.ts'
import { type Deployments, deploymentsOn } from './intake/deployments.ts'
import { Intake } from './intake/intake.ts'
import { type Planned, Plans, planStart, type Startable } from './intake/plans.ts'
import type { StartLimits } from './intake/start-check.ts'
import { type Records, recordsOf, type Storage, storageOf } from './records.ts'
import { ClockWatch } from './time/clock-watch.ts'
import { InboxScheduler } from './time/inbox-schedules.ts'
import { Quotas } from './time/quotas.ts'
import { Schedules } from './time/schedules.ts'
import { Simulation } from './time/simulation.ts'
import { Sweeper } from './time/sweeper.ts'
import { type CallerTransaction, transactIn } from './transaction/caller-transaction.ts'
import { deliveryOf } from './transaction/deliveries.ts'
import { Faults } from './transaction/faults.ts'
import { FirstStarts } from './transaction/first-starts.ts'
import { Nets } from './transaction/nets.ts'
import { type RunObserver, tellPoll } from './transaction/observers.ts'
import { Prefetch } from './transaction/prefetch.ts'
import { Settler } from './transaction/settle.ts'
import { Totals } from './transaction/totals.ts'
import { type Committed, Transactor } from './transaction/transactor.ts'
import { Waiters } from './transaction/waiters.ts'
import { StoredCommands } from './workers/commands.ts'
import { Completions } from './workers/completions.ts'
import { StoredLeases } from './workers/leases.ts'
import { Programs } from './workers/programs.ts'
import { References } from './workers/references.ts'
import { Sessions } from './workers/sessions.ts'

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export class Engine implements EngineApi {
  readonly store: Store
  readonly queries: Queries
  readonly records: Records
  readonly storage: Storage
  readonly deployments: Deployments
  readonly simulation: Simulation
  readonly workers: Sessions
  readonly leases: StoredLeases
  readonly registry: TypeRegistry
  readonly inboxSchedules: InboxScheduler
  readonly commands: StoredCommands
  readonly faults: Faults
  readonly startLimits: StartLimits
  readonly #nets: Nets
  readonly #transactor: Transactor
  readonly #settler: Settler
  readonly #intake: Intake
  readonly #completions: Completions
  readonly #totals: Totals
  readonly #control: Control
  readonly #gates: GateAnswers
  readonly #runControl: RunControl
  readonly #definitions: DefinitionStarts
  readonly #schedules: Schedules
  readonly #slots: Quotas
  readonly #clock: ClockWatch
  readonly #sweeper: Sweeper
  readonly #waiters: Waiters
  readonly #firstStarts: FirstStarts
  readonly #results: Results
  readonly #programs: Programs
  readonly #why: Reasons
  readonly #afterCommit: AfterCommit
  readonly #unsubscribe: () => void
  readonly #poll: NodeJS.Timeout
  readonly #closeStore: boolean
  #closed = false

  static async open(options: EngineOptions): Promise<Engine> {
    const engine = new Engine(options, await options.store.now())
    if (options.sweep !== false) await engine.#sweeper.start()
    return engine
  }

  private constructor(options: EngineOptions, storeNow: number) {
    const { store } = options
    const maxPayloadBytes = payloadLimit(options.maxPayloadBytes)
    const logger = options.logger ?? SILENT
    const chance = { random: options.random ?? Math.random }
    const probe = options.probe ?? (() => {})
    const pollMs = options.pollMs ?? 1000
    const ttlMs = options.sessionTtlMs ?? 20_000
    const evaluators = new Evaluators(options.vocabularies ?? new Map())
    this.store = store
    this.queries = store.read
    this.records = recordsOf(store)
    this.storage = storageOf(store)
    this.deployments = deploymentsOn(store)
    this.simulation = new Simulation(store, () => this.#sweeper.sweep())
    this.#nets = new Nets(evaluators)
    this.startLimits = { maxDepth: MAX_NESTING, maxPayloadBytes }
    const deps = { nets: this.#nets, evaluators, newId, maxDepth: MAX_NESTING }
    this.#transactor = new Transactor(store, deps, (committed) => this.#committed(committed))
    this.#transactor.clockOffsetMs = storeNow - Date.now()
    this.faults = new Faults({ logger, now: () => this.#transactor.nowMs })
    const { faults } = this
    this.#results = new Results(store.read, this.#nets)
    this.#programs = new Programs(store, this.#nets)
    const references = new References(store, (id) => this.#programs.keepsAside(id))
    this.#waiters = new Waiters(store)
    const polled = <T>(worker: string, claim: Promise<T>): Promise<T> =>
      this.#afterCommit.observers.size === 0 ? claim : tellPoll(this.#afterCommit.observers, worker, claim)
    /** A rate window opens then. */
    const wakeAt = (at: number): void => {
      setTimeout(() => this.#afterCommit.wake(null), Math.max(0, at - this.#transactor.nowMs) + 1).unref()
    }
    this.#firstStarts = new FirstStarts(this.#transactor)
    const noteStarts = async (runIds: readonly string[]): Promise<void> =>
      this.#firstStarts.note(await store.read.runs({ ids: runIds }))
    this.workers = new Sessions({
      store,
      transactor: this.#transactor,
      settler: () => this.#settler,
      results: (delivery) => this.#results.before(delivery),
      programs: this.#programs,
      references,
      newId,
      chance,
      logger,
      faults,
      ttlMs,
      heartbeatMs: options.heartbeatMs ?? Math.max(100, Math.floor(ttlMs / 4)),
      maxPayloadBytes,
      probe,
      noteStarts,
      dueAt: wakeAt,
      polled,
    })
    const offers = (): ReturnType<Sessions['offers']> => this.workers.offers([])
    this.#settler = new Settler({
      transactor: this.#transactor,
      prefetch: new Prefetch(this.#nets, evaluators),
      logger,
      faults,
      lanes: store.kind === 'postgres' ? 3 : 1,
      offers: (reports) => this.workers.offers(reports),
    })
    this.#intake = new Intake({
      store,
      transactor: this.#transactor,
      nets: this.#nets,
      newId,
      ...this.startLimits,
      offers,
    })
    this.#completions = new Completions({ store, settler: this.#settler, newId, chance, maxPayloadBytes })
    this.commands = new StoredCommands(store.commands)
    this.#totals = new Totals(store, logger)
    this.leases = new StoredLeases({
      store,
      transactor: this.#transactor,
      settler: this.#settler,
      newId,
      chance,
      logger,
      faults,
      maxPayloadBytes,
      references,
      noteStarts: (runs) => this.#firstStarts.note(runs),
      dueAt: wakeAt,
      polled,
    })
    this.registry = typeRegistryOn(store, () => this.#afterCommit.wake(null))
    this.#control = new Control({ store, transactor: this.#transactor, offers, newId, maxPayloadBytes })
    this.#gates = new GateAnswers({ store, transactor: this.#transactor, offers, maxPayloadBytes })
    this.#why = new Reasons({ source: store, nets: this.#nets, gate: (id) => this.#gates.view(id) })
    this.#runControl = new RunControl({ store, transactor: this.#transactor, offers })
    this.#definitions = new DefinitionStarts({
      store,
      transactor: this.#transactor,
      intake: this.#intake,
      plans: new Plans(store, this.#nets),
      offers,
      probe,
    })
    this.#schedules = new Schedules({
      store,
      transactor: this.#transactor,
      intake: this.#intake,
      control: this.#control,
      runControl: this.#runControl,
      definitions: this.#definitions,
      logger,
      dueAt: (at) => this.#sweeper.dueAt(at),
    })
    this.inboxSchedules = new InboxScheduler({
      store,
      transactor: this.#transactor,
      newId,
      maxPayloadBytes,
      offers,
      dueAt: (at) => this.#sweeper.dueAt(at),
      logger,
      probe,
    })
    this.#slots = new Quotas({ store, transactor: this.#transactor, nets: this.#nets, offers, faults, probe })
    this.#clock = new ClockWatch({
      store,
      logger,
      reschedule: async (now) => {
        await this.#schedules.reschedule(now)
        await this.inboxSchedules.reschedule(now)
      },
    })
    this.#sweeper = new Sweeper({
      store,
      transactor: this.#transactor,
      settler: this.#settler,
      schedules: this.#schedules,
      inboxSchedules: this.inboxSchedules,
      clock: this.#clock,
      slots: this.#slots,
      offers,
      wake: () => this.#afterCommit.wake(null),
      noteStarts,
      chance,
      logger,
      faults,
      pollMs,
      retention: options.retention ?? { endedMs: null, eventsMs: null },
      probe,
    })
    this.#afterCommit = new AfterCommit({
      store,
      nets: this.#nets,
      sessions: this.workers,
      leases: this.leases,
      waiters: this.#waiters,
      sweeper: this.#sweeper,
      slots: this.#slots,
      totals: this.#totals,
      completions: this.#completions,
      commands: this.commands,
      forget: () => this.#forget(),
      logger,
    })
    this.#unsubscribe = store.onWake((wake) => this.#afterCommit.woken(wake))
    this.#closeStore = options.closeStore === true
    this.#poll = setInterval(() => this.#look(), pollMs).unref()
  }

  enqueue(params: readonly EnqueueParams[], on?: CallerTransaction): Promise<readonly Enqueued[]> {
    return this.#intake.enqueue(params, transactIn(this.store, on))
  }

  start(params: readonly StartParams[], on?: CallerTransaction): Promise<readonly Started[]> {
    return this.#intake.start(params, transactIn(this.store, on))
  }

  planDefinition(start: Startable): Planned {
    return planStart(start, this.#nets, this.startLimits)
  }

  startDefinition(p: Parameters<EngineApi['startDefinition']>[0]): Promise<DefinitionStarted> {
    return this.#definitions.start(p)
  }

  triggerDefinition(p: Parameters<EngineApi['triggerDefinition']>[0]): Promise<readonly Triggered[]> {
    return this.#definitions.trigger(p)
  }

  complete(p: Parameters<EngineApi['complete']>[0]): Promise<void> {
    return this.#completions.complete(p)
  }

  cancelInstance(p: Parameters<EngineApi['cancelInstance']>[0]): Promise<InstanceRow> {
    return this.#control.cancelInstance(p)
  }

  cancelRun(p: Parameters<EngineApi['cancelRun']>[0]): Promise<RunRow> {
    return this.#runControl.cancel(p).finally(() => this.#afterCommit.controlled())
  }

  answerGate(p: GateAnswer): Promise<InstanceRow> {
    return this.#gates.answer(p)
  }

  noteLink(p: GateLink): Promise<void> {
    return this.#gates.noteLink(p)
  }

  gate(id: string): Promise<GateView | null> {
    return this.#gates.view(id)
  }

  patchContext(p: Parameters<EngineApi['patchContext']>[0]): Promise<InstanceRow> {
    return this.#control.patchContext(p)
  }

  startInstance(p: Parameters<EngineApi['startInstance']>[0]): Promise<InstanceRow> {
    return this.#control.startInstance(p)
  }

  retryInstance(p: Parameters<EngineApi['retryInstance']>[0]): Promise<Started> {
    return this.#control.retryInstance(p)
  }

  resumeInstance(p: Parameters<EngineApi['resumeInstance']>[0]): Promise<InstanceRow> {
    return this.#control.resumeInstance(p)
  }

  prioritize(p: Parameters<EngineApi['prioritize']>[0]): Promise<RunRow> {
    return this.#runControl.prioritize(p)
  }

  redrive(p: Parameters<EngineApi['redrive']>[0]): Promise<RunRow> {
    return this.#runControl.redrive({ id: p.runId, actor: p.actor })
  }

  activate(p: Parameters<EngineApi['activate']>[0]): Promise<RunRow> {
    return this.#runControl.activate(p)
  }

  async deleteRun(p: Parameters<EngineApi['deleteRun']>[0]): Promise<RunRow> {
    const run = await this.#runControl.delete(p)
    // It will never end: whoever waits for it is told.
    await this.#waiters.look([run.id])
    return run
  }

  dismiss(p: Parameters<EngineApi['dismiss']>[0]): Promise<void> {
    return this.#runControl.dismiss(p)
  }

  directWorker(p: Parameters<EngineApi['directWorker']>[0]): Promise<WorkerRow> {
    return this.#control.directWorker(p).finally(() => this.#afterCommit.controlled())
  }

  queueStats(p: Parameters<EngineApi['queueStats']>[0]): Promise<readonly QueueStats[]> {
    return this.#totals.queueStats(p)
  }

  counters(): Readonly<Record<string, number>> {
    return this.#totals.counters()
  }

  observe(observer: RunObserver): () => void {
    const { observers } = this.#afterCommit
    observers.add(observer)
    return () => observers.delete(observer)
  }

  async reset(): Promise<void> {
    this.#totals.forget()
    await this.#totals.flush()
    await this.store.reset()
    this.#forget()
  }

  #forget(): void {
    this.#nets.forgetStored()
    this.#firstStarts.forget()
    this.leases.forget()
    this.#completions.forget()
  }

  async pauseQueue(p: Parameters<EngineApi['pauseQueue']>[0]): Promise<void> {
    await this.#control.pauseQueue(p)
    this.#afterCommit.controlled()
    if (p.paused) return
    this.#afterCommit.wake(new Set([p.queue]))
    this.store.wake({ queues: [p.queue] })
  }

  setLimit(p: Parameters<EngineApi['setLimit']>[0]): Promise<void> {
    return this.#control.setLimit(p)
  }

  putSchedule(p: ScheduleParams): Promise<ScheduleRow> {
    return this.#schedules.put(p)
  }

  setSchedule(p: Parameters<EngineApi['setSchedule']>[0]): Promise<ScheduleRow> {
    return this.#schedules.enable(p)
  }

  removeSchedule(name: string): Promise<boolean> {
    return this.#schedules.remove(name)
  }

  view(instanceId: string): Promise<InstanceView | null> {
    return viewOf(this.store.read, instanceId)
  }

  why(p: Parameters<EngineApi['why']>[0]): Promise<Why | null> {
    return this.#why.instance({ instanceId: p.instanceId, after: p.after ?? null, limit: p.limit ?? 50 })
  }

  whyRun(run: RunRow): Promise<WhyRun> {
    return this.#why.run(run)
  }

  shownResults(instanceId: string, maxBytes: number): Promise<ReadonlyMap<string, string | null>> {
    return this.#results.shown(instanceId, maxBytes)
  }

  async results(instanceId: string, nodes?: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
    const recent = nodes === undefined ? null : this.#waiters.recentResults(instanceId, nodes)
    if (recent !== null) return recent
    return this.#results.ofInstance(instanceId, nodes ?? null)
  }

  async resultsBefore(run: RunRow): Promise<ReadonlyMap<string, string | null>> {
    return (await this.#results.before(deliveryOf(run))).byNode
  }

  program(run: RunRow): Promise<Json | null> {
    return this.#programs.of(run)
  }

  async net(hash: string): Promise<Net | null> {
    const known = this.#nets.get(hash)
    if (known !== undefined) return known.net
    const row = await this.store.read.net(hash)
    return row === null ? null : this.#nets.load(row).net
  }

  ended(p: Parameters<EngineApi['ended']>[0]): ReturnType<EngineApi['ended']> {
    return this.#waiters.ended(p)
  }

  watch(instanceId: string, signal?: AbortSignal): AsyncIterable<StoredEvent> {
    return follow({
      queries: this.store.read,
      instanceId,
      signal: signal ?? null,
      onWake: (listener) => this.#afterCommit.onCommit(listener),
    })
  }

  /** One pass of the sweeper now; for tests that moved the clock. */
  sweep(): Promise<void> {
    return this.#sweeper.sweep()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#poll)
    this.leases.close()
    await this.#sweeper.close()
    await this.#intake.idle()
    this.#settler.close()
    await this.#settler.idle()
    await this.#slots.idle()
    await this.workers.close()
    await this.#totals.flush()
    this.#waiters.close()
    this.#unsubscribe()
    if (this.#closeStore) await this.store.close()
  }

  #look(): void {
    this.leases.wake(null)
    void this.#waiters.lookAll().catch(() => undefined)
  }

  /** It is committed whatever follows: what fails here is only noticed later, by a look of those concerned. */
  #committed(committed: Committed<unknown>): void {
    this.#clock.saw(committed.change.now)
    try {
      this.#afterCommit.committed(committed)
    } catch (error) {
      this.faults.note('after_commit_failed', 'news', error)
    }
  }
}
