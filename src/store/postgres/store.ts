/** The store on PostgreSQL: for many processes and machines. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { StoreUnusableError } from '../../kernel/store-errors.ts'
import type { SignIns } from '../../model/access/sign-ins.ts'
import type { BulkQueries } from '../../model/bulk/work.ts'
import type { Commands } from '../../model/commands.ts'
import type { Definitions } from '../../model/definitions.ts'
import type { ErrorGroups } from '../../model/errors/groups.ts'
import type { Logs } from '../../model/logs.ts'
import type { Pauses } from '../../model/pauses/pauses.ts'
import type { Queries } from '../../model/queries/queries.ts'
import type { Keys, Registry } from '../../model/registry.ts'
import type { Saved } from '../../model/saved.ts'
import type { InboxSchedules } from '../../model/schedules/schedules.ts'
import type { Webhooks } from '../../model/webhooks.ts'
import type { Migrated } from '../schema-files.ts'
import type { Store, Transaction, Wake } from '../store.ts'
import type { Sweeps } from '../sweeps.ts'
import { StoreClock } from './clock.ts'
import { toStoreError } from './connection/failure.ts'
import { fly } from './connection/flight.ts'
import { Lanes, type LanesParams } from './connection/lanes.ts'
import { EVERYWHERE, FOR_READS, FOR_SIGNALS, FOR_WORK, settingsCall } from './connection/settings.ts'
import { type Call, statement } from './connection/statement.ts'
import { ForeignLocks } from './foreign-locks.ts'
import { KnownListings } from './listings.ts'
import { CLOCK } from './load/plain.ts'
import { migrate, SchemaCheck } from './migrate.ts'
import { probeWrite } from './probe.ts'
import { doctor } from './read/doctor.ts'
import { queueingOn } from './read/queueing.ts'
import { PostgresReads } from './read/reads.ts'
import { Recent } from './recent.ts'
import { reset } from './reset.ts'
import { PostgresSweeps } from './sweep/sweeps.ts'
import { bulkOn } from './tables/bulk.ts'
import { commandsOn } from './tables/commands.ts'
import { debounceQueriesOn } from './tables/debounce.ts'
import { definitionsOn } from './tables/definitions.ts'
import { errorGroupsOn } from './tables/errors.ts'
import { timetableOn } from './tables/fires.ts'
import { inboxSchedulesOn } from './tables/inbox-schedules.ts'
import { keysOn } from './tables/keys.ts'
import { logsOn } from './tables/logs.ts'
import { overviewOn } from './tables/overview.ts'
import { pausesOn, plannedTimes } from './tables/pauses.ts'
import { registryOn } from './tables/registry.ts'
import { sagasOn } from './tables/sagas.ts'
import { savedOn } from './tables/saved.ts'
import { signInsOn } from './tables/sign-ins.ts'
import { webhooksOn } from './tables/webhooks.ts'
import { type Probe, type TransactParams, transact, transactOn } from './transact.ts'
import { WakeListener, WakeSender } from './wake.ts'

export interface PostgresParams {
  readonly url: string
  /** Transactions in flight at the same time. */
  readonly connections?: number
  /** Behind a transaction pooler: no LISTEN, no settings at connection start. */
  readonly pollOnly?: boolean
  /** Shown in pg_stat_activity. */
  readonly name?: string
  /** How long a transaction that may wait for locked rows does so, default 10 s; it has no connection meanwhile. */
  readonly lockTimeoutMs?: number
  readonly probe?: Probe
}

/** How long this process may continue after another has migrated the database to a schema it does not know. */
const SCHEMA_EVERY_MS = 5_000

const MOVE_CLOCK = statement(
  `INSERT INTO workflow.workflow_setting (key, value) VALUES ('clock_offset_ms', $1)
   ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
)

export class PostgresStore implements Store {
  readonly kind = 'postgres'
  readonly read: Queries
  readonly sweep: Sweeps
  readonly keys: Keys
  readonly signIns: SignIns
  readonly saved: Saved
  readonly logs: Logs
  readonly webhooks: Webhooks
  readonly registry: Registry
  readonly inboxSchedules: InboxSchedules
  readonly definitions: Definitions
  readonly commands: Commands
  readonly errorGroups: ErrorGroups
  readonly pauses: Pauses
  readonly #schema = new SchemaCheck()
  readonly bulk: BulkQueries
  readonly #clock = new StoreClock()
  readonly #recent = new Recent()
  readonly #listings = new KnownListings()
  readonly #listeners = new Set<(wake: Wake) => void>()
  readonly #work: Lanes
  readonly #patient: Lanes
  readonly #locks: ForeignLocks
  readonly #reads: Lanes
  readonly #views: Lanes
  readonly #lists: Lanes
  /** Checks take seconds on a large store, and lists would wait for them. */
  readonly #checks: Lanes
  readonly #timers: Lanes
  readonly #holds: Lanes
  readonly #beats: Lanes
  readonly #signals: Lanes
  readonly #commands: Lanes
  readonly #sender: WakeSender
  readonly #listener: WakeListener | null
  readonly #transact: TransactParams
  #looking: NodeJS.Timeout | null = null

  constructor(params: PostgresParams) {
    const direct = params.pollOnly !== true
    const lanes = lanesOf(params, { schema: this.#schema, changed: () => this.#changed() })
    this.#work = lanes('work', params.connections ?? 4, FOR_WORK)
    this.#patient = lanes('patient', 2, FOR_WORK)
    this.#locks = new ForeignLocks(this.#patient)
    this.#reads = lanes('read', 2, FOR_READS)
    this.#views = lanes('view', 2, FOR_READS)
    this.#lists = lanes('list', 2, FOR_READS)
    this.#checks = lanes('check', 1, FOR_READS)
    this.#timers = lanes('timer', 2, FOR_READS)
    this.#holds = lanes('hold', 1, FOR_READS)
    this.#beats = lanes('beat', 1, FOR_SIGNALS)
    this.#signals = lanes('notify', 1, FOR_SIGNALS)
    this.#commands = lanes('command', 1, { ...FOR_WORK, synchronous_commit: 'off' })
    this.#transact = {
      lanes: this.#work,
      patient: this.#patient,
      locks: this.#locks,
      lockPatienceMs: params.lockTimeoutMs ?? 10_000,
      clock: this.#clock,
      recent: this.#recent,
      listings: this.#listings,
      probe: params.probe ?? null,
      prologue: direct ? [] : [settingsCall(FOR_WORK)],
    }
    const sender = randomUUID()
    this.#sender = new WakeSender(this.#signals, sender)
    this.#listener = direct
      ? new WakeListener({ url: params.url, name: `${params.name ?? 'petrel'} listen`, settings: EVERYWHERE }, sender)
      : null
    this.sweep = new PostgresSweeps({
      timers: this.#timers,
      holds: this.#holds,
      beats: this.#beats,
      reads: this.#reads,
      lists: this.#lists,
      recent: this.#recent,
    })
    this.keys = keysOn(this.#reads)
    this.signIns = signInsOn(this.#reads)
    this.saved = savedOn(this.#reads)
    this.logs = logsOn(this.#views)
    this.webhooks = webhooksOn(this.#reads)
    this.registry = registryOn(this.#reads)
    this.inboxSchedules = inboxSchedulesOn({ reads: this.#reads, timers: this.#timers })
    this.definitions = definitionsOn({ reads: this.#reads, lists: this.#lists })
    this.read = Object.assign(new PostgresReads({ reads: this.#reads, views: this.#views, lists: this.#lists }), {
      definitions: this.definitions,
      sagas: sagasOn({ reads: this.#reads, lists: this.#lists }),
      overview: overviewOn(this.#lists),
      queueing: queueingOn(this.#lists),
      debounces: debounceQueriesOn({ reads: this.#reads, lists: this.#lists }),
      timetable: timetableOn({ reads: this.#reads, lists: this.#lists, inbox: this.inboxSchedules }),
      plannedTimes: (parked: Parameters<Queries['plannedTimes']>[0]) => plannedTimes(this.#reads, parked),
      doctor: () => doctor(this.#checks),
      now: () => this.now(),
    })
    this.errorGroups = errorGroupsOn({ reads: this.#reads, lists: this.#lists, probe: params.probe ?? null })
    this.pauses = pausesOn({ reads: this.#reads, timers: this.#timers })
    this.commands = commandsOn({ reads: this.#reads, signals: this.#commands })
    this.bulk = bulkOn({ reads: this.#reads, timers: this.#timers })
  }

  async migrate(): Promise<Migrated> {
    try {
      return await this.#reads.use((lane) => migrate(lane.client))
    } catch (error) {
      throw toStoreError(error)
    }
  }

  async close(): Promise<void> {
    this.#locks.close()
    if (this.#looking !== null) clearInterval(this.#looking)
    await this.#sender.flush()
    await Promise.all([...this.#lanes().map((lanes) => lanes.close()), this.#listener?.close()])
  }

  async now(): Promise<number> {
    let now = 0
    const call: Call = {
      statement: CLOCK,
      values: [],
      row: (fields) => {
        now = this.#clock.read(fields)
      },
    }
    try {
      await this.#timers.use((lane) => fly(lane.client, [call]))
    } catch (error) {
      throw toStoreError(error)
    }
    return now
  }

  /** Nothing to do: the server runs the reads. */
  offload(): void {}

  probeWrite(): Promise<void> {
    return probeWrite(this.#timers)
  }

  async moveClock(offsetMs: number): Promise<void> {
    try {
      await this.#reads.use((lane) => fly(lane.client, [{ statement: MOVE_CLOCK, values: [String(offsetMs)] }]))
    } catch (error) {
      throw toStoreError(error)
    }
    this.#clock.forget()
    // other processes may sleep until a time that has now come
    this.wake({})
  }

  transact<T>(transaction: Transaction<T>): Promise<T> {
    return transact(this.#transact, transaction)
  }

  /** The same on a client and inside a transaction of the caller: work is enqueued exactly if the caller commits. */
  transactOn<T>(client: pg.ClientBase, transaction: Transaction<T>): Promise<T> {
    return transactOn(client, transaction)
  }

  onWake(listener: (wake: Wake) => void): () => void {
    this.#listeners.add(listener)
    const unlisten = this.#listener?.add(listener)
    return () => {
      this.#listeners.delete(listener)
      unlisten?.()
    }
  }

  /** After a failover the server may have lost commits that we remember. */
  #changed(): void {
    this.#recent.clear()
    this.#clock.forget()
    this.#listings.forget()
    for (const listener of this.#listeners) listener({ lost: true })
  }

  wake(wake: Wake): void {
    this.#sender.send(wake)
  }

  reset(): Promise<void> {
    return reset(this.#reads)
  }

  /**
   * Tests the connection, and listens from now on. The connections that migrations and the first sweep need are opened at
   * the same time: each takes several milliseconds, and as long again to read the catalog.
   */
  async connect(): Promise<void> {
    const opened = (lanes: Lanes): Promise<void> => lanes.use(async () => undefined)
    try {
      await Promise.all([opened(this.#reads), opened(this.#timers), this.#listener?.start()])
    } catch (error) {
      throw toStoreError(error)
    }
    this.#looking = setInterval(() => void this.#refuseNewer(), SCHEMA_EVERY_MS).unref()
  }

  /** From then on every call fails, since no new connection is accepted: nothing is claimed and nothing written. */
  async #refuseNewer(): Promise<void> {
    try {
      await this.#timers.use((lane) => this.#schema.now(lane.client))
    } catch (error) {
      if (error instanceof StoreUnusableError) for (const lanes of this.#lanes()) lanes.renew()
    }
  }

  #lanes(): readonly Lanes[] {
    return [
      this.#work,
      this.#patient,
      this.#reads,
      this.#views,
      this.#lists,
      this.#checks,
      this.#timers,
      this.#holds,
      this.#beats,
      this.#signals,
      this.#commands,
    ]
  }
}

/** Makes lanes of a kind. A pooler would refuse settings with the start-up message. */
function lanesOf(
  { url, name = 'petrel', pollOnly = false }: PostgresParams,
  shared: Pick<LanesParams, 'schema' | 'changed'>,
): (kind: string, size: number, settings: LanesParams['settings']) => Lanes {
  return (kind, size, settings) =>
    new Lanes({ url, size, name: `${name} ${kind}`, settings: pollOnly ? {} : settings, ...shared })
}

/** Connects; fails at once if the database cannot be used. `migrate` creates the schema. */
export async function openPostgres(params: PostgresParams): Promise<PostgresStore> {
  const store = new PostgresStore(params)
  try {
    await store.connect()
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}
