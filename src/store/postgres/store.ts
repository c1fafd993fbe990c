/** The store on PostgreSQL: for many processes and machines. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Commands } from '../commands.ts'
import type { Definitions } from '../definitions.ts'
import type { InboxSchedules } from '../inbox-schedules.ts'
import type { Overview } from '../overview.ts'
import type { Reads } from '../reads.ts'
import type { Registry } from '../registry.ts'
import type { SagaReads } from '../sagas.ts'
import type { Saved } from '../saved.ts'
import type { Keys, Store, Transaction, Wake } from '../store.ts'
import type { Sweeps } from '../sweeps.ts'
import type { Webhooks } from '../webhooks.ts'
import { StoreClock } from './clock.ts'
import { commandsOn } from './commands.ts'
import { definitionsOn } from './definitions.ts'
import { toStoreError } from './failure.ts'
import { fly } from './flight.ts'
import { inboxSchedulesOn } from './inbox-schedules.ts'
import { keysOn } from './keys.ts'
import { Lanes } from './lanes.ts'
import { KnownListings } from './listings.ts'
import { CLOCK } from './load/plain.ts'
import { migrate } from './migrate.ts'
import { overviewOn } from './overview.ts'
import { PostgresReads } from './read/reads.ts'
import { Recent } from './recent.ts'
import { registryOn } from './registry.ts'
import { reset } from './reset.ts'
import { sagasOn } from './sagas.ts'
import { savedOn } from './saved.ts'
import { EVERYWHERE, FOR_READS, FOR_SIGNALS, FOR_WORK, settingsCall } from './settings.ts'
import { type Call, statement } from './statement.ts'
import { PostgresSweeps } from './sweep/sweeps.ts'
import { type Probe, type TransactParams, transact, transactOn } from './transact.ts'
import { WakeListener, WakeSender } from './wake.ts'
import { webhooksOn } from './webhooks.ts'

export interface PostgresParams {
  readonly url: string
  /** Transactions in flight at the same time. */
  readonly connections?: number
  /** Behind a transaction pooler: no LISTEN, no settings at connection start. */
  readonly pollOnly?: boolean
  /** Shown in pg_stat_activity. */
  readonly name?: string
  /** A transaction waits this long for locked rows. */
  readonly lockTimeoutMs?: number
  readonly probe?: Probe
}

const HELLO: Call = { statement: statement('SELECT 1'), values: [] }

const MOVE_CLOCK = statement(
  `INSERT INTO workflow.workflow_setting (key, value) VALUES ('clock_offset_ms', $1)
   ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
)

export class PostgresStore implements Store {
  readonly kind = 'postgres'
  readonly read: Reads
  readonly sweep: Sweeps
  readonly keys: Keys
  readonly saved: Saved
  readonly webhooks: Webhooks
  readonly registry: Registry
  readonly overview: Overview
  readonly inboxSchedules: InboxSchedules
  readonly definitions: Definitions
  readonly commands: Commands
  readonly sagas: SagaReads
  readonly #clock = new StoreClock()
  readonly #recent = new Recent()
  readonly #work: Lanes
  readonly #reads: Lanes
  readonly #beats: Lanes
  readonly #signals: Lanes
  readonly #commands: Lanes
  readonly #sender: WakeSender
  readonly #listener: WakeListener | null
  readonly #transact: TransactParams

  constructor(params: PostgresParams) {
    const direct = params.pollOnly !== true
    const name = params.name ?? 'petrel'
    const lanes = (kind: string, size: number, settings: Readonly<Record<string, string>>): Lanes =>
      new Lanes({ url: params.url, size, name: `${name} ${kind}`, settings: direct ? settings : {} })
    const forWork = { ...FOR_WORK, lock_timeout: `${params.lockTimeoutMs ?? 10_000}ms` }
    this.#work = lanes('work', params.connections ?? 4, forWork)
    this.#reads = lanes('read', 3, FOR_READS)
    this.#beats = lanes('beat', 1, FOR_SIGNALS)
    this.#signals = lanes('notify', 1, FOR_SIGNALS)
    this.#commands = lanes('command', 1, { ...forWork, synchronous_commit: 'off' })
    this.#transact = {
      lanes: this.#work,
      clock: this.#clock,
      recent: this.#recent,
      listings: new KnownListings(),
      probe: params.probe ?? null,
      prologue: direct ? [] : [settingsCall(forWork)],
    }
    const sender = randomUUID()
    this.#sender = new WakeSender(this.#signals, sender)
    this.#listener = direct
      ? new WakeListener({ url: params.url, name: `${name} listen`, settings: EVERYWHERE }, sender)
      : null
    this.read = new PostgresReads(this.#reads)
    this.sweep = new PostgresSweeps({ reads: this.#reads, beats: this.#beats, recent: this.#recent })
    this.keys = keysOn(this.#reads)
    this.saved = savedOn(this.#reads)
    this.webhooks = webhooksOn(this.#reads)
    this.registry = registryOn(this.#reads)
    this.overview = overviewOn(this.#reads)
    this.inboxSchedules = inboxSchedulesOn(this.#reads)
    this.definitions = definitionsOn(this.#reads)
    this.sagas = sagasOn(this.#reads)
    this.commands = commandsOn({ reads: this.#reads, signals: this.#commands })
  }

  async migrate(): Promise<{ readonly applied: readonly string[]; readonly version: number }> {
    try {
      return await this.#reads.use((lane) => migrate(lane.client))
    } catch (error) {
      throw toStoreError(error)
    }
  }

  async close(): Promise<void> {
    await this.#sender.flush()
    await Promise.all([
      this.#work.close(),
      this.#reads.close(),
      this.#beats.close(),
      this.#signals.close(),
      this.#commands.close(),
      this.#listener?.close(),
    ])
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
      await this.#reads.use((lane) => fly(lane.client, [call]))
    } catch (error) {
      throw toStoreError(error)
    }
    return now
  }

  async moveClock(offsetMs: number): Promise<void> {
    try {
      await this.#reads.use((lane) => fly(lane.client, [{ statement: MOVE_CLOCK, values: [String(offsetMs)] }]))
    } catch (error) {
      throw toStoreError(error)
    }
    this.#clock.forget()
    // others may sleep until a moment that has just come
    this.wake({})
  }

  transact<T>(transaction: Transaction<T>): Promise<T> {
    return transact(this.#transact, transaction)
  }

  /** The same on a client and inside a transaction of the caller's: work enqueued exactly if the caller commits. */
  transactOn<T>(client: pg.ClientBase, transaction: Transaction<T>): Promise<T> {
    return transactOn(client, transaction)
  }

  onWake(listener: (wake: Wake) => void): () => void {
    if (this.#listener === null) return () => {}
    return this.#listener.add(listener)
  }

  wake(wake: Wake): void {
    this.#sender.send(wake)
  }

  reset(): Promise<void> {
    return reset(this.#reads)
  }

  /** Tries the connection, and listens from here on. */
  async connect(): Promise<void> {
    try {
      await this.#reads.use((lane) => fly(lane.client, [HELLO]))
    } catch (error) {
      throw toStoreError(error)
    }
    await this.#listener?.start()
  }
}

/** Connects; fails at once if the database cannot be used. The schema is made by `migrate`. */
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
