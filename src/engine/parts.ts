/**
 * The parts of an engine, created in the order in which they need each other. What each of them does is in its own
 * file.
 */

import { newId } from '../kernel/ids.ts'
import { payloadLimit } from '../kernel/json-limits.ts'
import { MAX_NESTING } from '../kernel/limits.ts'
import type { Logger } from '../kernel/logger.ts'
import type { TypeRegistry } from '../model/registry.ts'
import type { StartLimits } from '../model/start.ts'
import type { Store } from '../store/store.ts'
import { Pictures } from '../views/pictures/pictures.ts'
import { Results } from '../views/results.ts'
import { Reasons } from '../views/why.ts'
import { AfterCommit } from './after-commit.ts'
import type { EngineOptions } from './api.ts'
import { type BulkOperations, bulkOperationsOn } from './control/bulk.ts'
import { GateAnswers } from './control/gates.ts'
import { Control } from './control/instances.ts'
import { PauseRules } from './control/pause-rules.ts'
import { type PauseDeps, Pauses } from './control/pauses.ts'
import { Repeats } from './control/repeat/repeats.ts'
import { RunControl } from './control/runs.ts'
import { typeRegistryOn } from './control/type-registry.ts'
import { Evaluators } from './fold/evaluators.ts'
import type { Chance } from './fold/run/outcomes.ts'
import { DebouncedStarts } from './intake/debounced-starts.ts'
import { DefinitionStarts } from './intake/definitions.ts'
import { Intake } from './intake/intake.ts'
import { Plans } from './intake/plans.ts'
import { BulkRunner } from './time/bulk/runner.ts'
import { ClockWatch } from './time/clock-watch.ts'
import { InboxScheduler } from './time/inbox-schedules.ts'
import { PreviousWork } from './time/previous-work.ts'
import { Quotas } from './time/quotas.ts'
import type { Retention } from './time/retention.ts'
import { ScheduleFires } from './time/schedule-fires.ts'
import { Schedules } from './time/schedules.ts'
import { Sweeper } from './time/sweeper.ts'
import { Faults } from './transaction/faults.ts'
import { FirstStarts } from './transaction/first-starts.ts'
import type { Offer } from './transaction/handoff.ts'
import { Nets } from './transaction/nets.ts'
import { notePoll } from './transaction/observers.ts'
import { Prefetch } from './transaction/prefetch.ts'
import { QueueReports } from './transaction/queue-reports.ts'
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

/** The options with their defaults. */
interface Settings {
  readonly store: Store
  readonly logger: Logger
  readonly chance: Chance
  readonly newId: () => string
  readonly probe: (point: string) => void
  readonly pollMs: number
  readonly ttlMs: number
  readonly heartbeatMs: number
  readonly maxPayloadBytes: number
  readonly startLimits: StartLimits
  readonly retention: Retention
}

interface Transactions {
  readonly nets: Nets
  readonly transactor: Transactor
  readonly settler: Settler
  readonly faults: Faults
  readonly waiters: Waiters
  readonly totals: Totals
  readonly queueReports: QueueReports
  readonly firstStarts: FirstStarts
}

interface WorkerParts {
  readonly sessions: Sessions
  readonly leases: StoredLeases
  readonly completions: Completions
  readonly commands: StoredCommands
  readonly programs: Programs
}

interface Reading {
  readonly results: Results
  readonly reasons: Reasons
  readonly pictures: Pictures
}

interface Intakes {
  readonly intake: Intake
  readonly definitions: DefinitionStarts
}

interface Controls {
  readonly control: Control
  readonly repeats: Repeats
  readonly runControl: RunControl
  readonly gates: GateAnswers
  readonly pauses: Pauses
  readonly pauseRules: PauseRules
  readonly registry: TypeRegistry
  readonly bulk: BulkOperations
}

interface Timed {
  readonly schedules: Schedules
  readonly scheduleFires: ScheduleFires
  readonly debouncedStarts: DebouncedStarts
  readonly inboxSchedules: InboxScheduler
  readonly quotas: Quotas
  readonly clock: ClockWatch
  readonly bulkRunner: BulkRunner
  readonly sweeper: Sweeper
}

export interface Parts extends Settings, Transactions, WorkerParts, Reading, Intakes, Controls, Timed {
  readonly afterCommit: AfterCommit
  /** Forgets what is remembered of stored rows. */
  readonly forget: () => void
}

/** `storeNow`: the time by the store's clock. */
export function createParts(options: EngineOptions, storeNow: number): Parts {
  const links = new Links()
  const settings = settingsOf(options)
  const begun = { ...settings, ...transactionsOf(settings, options, links) }
  begun.transactor.clockOffsetMs = storeNow - Date.now()
  const results = new Results(begun.store.read, begun.nets)
  const working = { ...begun, ...workersOf(begun, results, links) }
  const starting = { ...working, ...intakesOf(working, links) }
  const controlled = { ...starting, ...controlsOf(starting, links) }
  const timed = { ...controlled, ...timedOf(controlled, links) }
  const { store, nets, gates } = timed
  const reasons = new Reasons({ source: store, nets, gate: (id) => gates.view(id) })
  const pictures = new Pictures({ source: store, nets })
  const forget = (): void => {
    nets.forgetStored()
    timed.firstStarts.forget()
    timed.leases.forget()
    timed.completions.forget()
  }
  const afterCommit = new AfterCommit({ ...timed, forget })
  const { sessions, sweeper, quotas, bulkRunner, clock, faults } = timed
  /** The commit is valid even if a notification fails: the part concerned finds the change at its next poll. */
  const committed = (done: Committed<unknown>): void => {
    clock.saw(done.change.now)
    try {
      afterCommit.committed(done)
    } catch (error) {
      faults.note('after_commit_failed', 'notification', error)
    }
  }
  links.connect({ sessions, sweeper, quotas, bulkRunner, afterCommit, committed })
  return { ...timed, results, reasons, pictures, afterCommit, forget }
}

function settingsOf(options: EngineOptions): Settings {
  const maxPayloadBytes = payloadLimit(options.maxPayloadBytes)
  const ttlMs = options.sessionTtlMs ?? 20_000
  return {
    store: options.store,
    logger: options.logger ?? SILENT,
    chance: { random: options.random ?? Math.random },
    newId,
    probe: options.probe ?? (() => {}),
    pollMs: options.pollMs ?? 1000,
    ttlMs,
    heartbeatMs: options.heartbeatMs ?? Math.max(100, Math.floor(ttlMs / 4)),
    maxPayloadBytes,
    startLimits: { maxDepth: MAX_NESTING, maxPayloadBytes },
    retention: options.retention ?? { endedMs: null, eventsMs: null },
  }
}

function transactionsOf(settings: Settings, { vocabularies }: EngineOptions, links: Links): Transactions {
  const { store, logger } = settings
  const evaluators = new Evaluators(vocabularies ?? new Map())
  const nets = new Nets(evaluators)
  const transactor = new Transactor(store, { nets, evaluators, newId, maxDepth: MAX_NESTING }, links.committed)
  const faults = new Faults({ logger, now: () => transactor.nowMs })
  const totals = new Totals(store, logger)
  const settler = new Settler({
    transactor,
    prefetch: new Prefetch(nets, evaluators),
    logger,
    faults,
    lanes: store.kind === 'postgres' ? 3 : 1,
    offers: links.offersFor,
  })
  return {
    nets,
    transactor,
    settler,
    faults,
    waiters: new Waiters(store),
    totals,
    queueReports: new QueueReports({ store, totals, faults }),
    firstStarts: new FirstStarts(transactor),
  }
}

function workersOf(parts: Settings & Transactions, results: Results, links: Links): WorkerParts {
  const { store, transactor, firstStarts, nets } = parts
  const programs = new Programs(store, nets)
  const references = new References(store, (id) => programs.storesArguments(id))
  /** Work that a rate limit refused is looked for again when its window opens. */
  const dueAt = (at: number): void => {
    setTimeout(links.wakeAll, Math.max(0, at - transactor.nowMs) + 1).unref()
  }
  const { polled } = links
  const shared = { ...parts, programs, references, dueAt, polled }
  const sessions = new Sessions({
    ...shared,
    results: (delivery) => results.before(delivery),
    noteStarts: noteStartsOf(parts),
  })
  const leases = new StoredLeases({ ...shared, noteStarts: (runs) => firstStarts.note(runs) })
  return {
    sessions,
    leases,
    completions: new Completions(parts),
    commands: new StoredCommands(store.commands),
    programs,
  }
}

function noteStartsOf({ store, firstStarts }: Settings & Transactions): (runIds: readonly string[]) => Promise<void> {
  return async (ids) => firstStarts.note(await store.read.runs({ ids }))
}

function intakesOf(parts: Settings & Transactions, { offers }: Links): Intakes {
  const intake = new Intake({ ...parts, ...parts.startLimits, offers })
  const plans = new Plans(parts.store, parts.nets)
  return { intake, definitions: new DefinitionStarts({ ...parts, intake, plans, offers }) }
}

function controlsOf(parts: Settings & Transactions, links: Links): Controls {
  const deps = { ...parts, offers: links.offers }
  return {
    control: new Control(deps),
    repeats: new Repeats(deps),
    runControl: new RunControl(deps),
    gates: new GateAnswers(deps),
    pauses: new Pauses({ ...parts, ...pausing(links) }),
    pauseRules: new PauseRules({ ...parts, released: links.released }),
    registry: typeRegistryOn(parts.store, links.wakeAll),
    bulk: bulkOperationsOn({ ...parts, bulkDueAt: links.bulkDueAt }),
  }
}

/** What follows when an instance is resumed. */
function pausing({ released, freed }: Links): Pick<PauseDeps, 'released' | 'freed'> {
  return { released, freed }
}

function timedOf(parts: Settings & Transactions & Intakes & Controls, links: Links): Timed {
  const deps = { ...parts, offers: links.offers, dueAt: links.sweepAt }
  const schedules = new Schedules(deps)
  const scheduleFires = new ScheduleFires({ ...deps, previous: new PreviousWork(deps) })
  const debouncedStarts = new DebouncedStarts(deps)
  const inboxSchedules = new InboxScheduler(deps)
  const quotas = new Quotas(deps)
  const clock = new ClockWatch({
    ...parts,
    reschedule: async (now) => {
      await schedules.reschedule(now)
      await inboxSchedules.reschedule(now)
    },
  })
  const bulkRunner = new BulkRunner({ ...deps, ...pausing(links), controlled: links.controlled })
  const sweeper = new Sweeper({
    ...deps,
    scheduleFires,
    debouncedStarts,
    inboxSchedules,
    bulkRunner,
    quotas,
    clock,
    wake: links.wakeAll,
    noteStarts: noteStartsOf(parts),
  })
  return { schedules, scheduleFires, debouncedStarts, inboxSchedules, quotas, clock, bulkRunner, sweeper }
}

interface Targets {
  readonly sessions: Sessions
  readonly sweeper: Sweeper
  readonly bulkRunner: BulkRunner
  readonly quotas: Quotas
  readonly afterCommit: AfterCommit
  readonly committed: (committed: Committed<unknown>) => void
}

/**
 * Calls from one part to another that is created after it: the settler offers new runs to sessions, which themselves need
 * the settler. Connected once all parts exist; nothing calls before.
 */
class Links {
  #targets: Targets | null = null

  connect(targets: Targets): void {
    this.#targets = targets
  }

  readonly committed = (committed: Committed<unknown>): void => this.#connected.committed(committed)

  readonly offers = (): readonly Offer[] => this.#connected.sessions.offers([])

  readonly offersFor = (reports: Parameters<Sessions['offers']>[0]): readonly Offer[] =>
    this.#connected.sessions.offers(reports)

  readonly wakeAll = (): void => this.#connected.afterCommit.wake(null)

  readonly released = (queues: readonly string[] | null): void => this.#connected.afterCommit.released(queues)

  readonly freed = (key: string): void => this.#connected.quotas.freed([key])

  readonly sweepAt = (at: number): void => this.#connected.sweeper.dueAt(at)

  readonly bulkDueAt = (at: number): void => this.#connected.bulkRunner.dueAt(at)

  readonly controlled = (): void => this.#connected.afterCommit.controlled()

  readonly polled = <T>(worker: string, claim: Promise<T>): Promise<T> => {
    const { observers } = this.#connected.afterCommit
    return observers.size === 0 ? claim : notePoll(observers, worker, claim)
  }

  get #connected(): Targets {
    if (this.#targets === null) throw new Error('the engine is not complete yet')
    return this.#targets
  }
}
