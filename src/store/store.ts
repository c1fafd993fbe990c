/**
 * The engine's interface to a database. Every change of state is one `transact`: lock, load, decide, write, commit.
 * `decide` is synchronous and may be called again (after a deadlock, a serialization failure or a lost connection
 * before commit), so it must depend only on what was loaded. No SQL exists outside the two stores.
 */

import type { SignIns } from '../model/access/sign-ins.ts'
import type { BulkQueries } from '../model/bulk/work.ts'
import type { Commands } from '../model/commands.ts'
import type { Definitions } from '../model/definitions.ts'
import type { ErrorGroups } from '../model/errors/groups.ts'
import type { Logs } from '../model/logs.ts'
import type { Pauses } from '../model/pauses/pauses.ts'
import type { Queries } from '../model/queries/queries.ts'
import type { Keys, Registry } from '../model/registry.ts'
import type { Saved } from '../model/saved.ts'
import type { InboxSchedules } from '../model/schedules/schedules.ts'
import type { Delta, Loaded, Need } from '../model/transaction.ts'
import type { Webhooks } from '../model/webhooks.ts'
import type { Migrated } from './schema-files.ts'
import type { Sweeps } from './sweeps.ts'

export interface Store {
  readonly kind: 'sqlite' | 'postgres'

  /** Applies missing migrations and changed repeatable files under a lock; refuses a database with a newer schema. */
  migrate(): Promise<Migrated>
  close(): Promise<void>
  /** Announces that callers will list and count: from now on reads that may take long run outside the event loop. */
  offload(): void
  /** The store's clock. */
  now(): Promise<number>
  /**
   * Writes as much as a step with a large result would, and removes it again. Throws if the store accepts no writes.
   */
  probeWrite(): Promise<void>
  /** Moves the store's clock relative to the machine's, for every process on this store (tests, dry runs). */
  moveClock(offsetMs: number): Promise<void>

  /**
   * The only way to change state. Locks the roots (ordered by id), loads the need, lets `decide` ask for more until it
   * returns a delta, writes it, commits. Lock order: root instances → runs → limits → unique keys, each ordered.
   */
  transact<T>(params: Transaction<T>): Promise<T>

  /** Calls the listener after relevant commits of other processes; see Wake. Returns an unsubscribe function. */
  onWake(listener: (wake: Wake) => void): () => void
  /** Notifies other processes; coalesced, after commit, never inside a transaction. */
  wake(wake: Wake): void

  /**
   * For tests: empties every table except migrations, settings, keys, and nets (identified by their content, so never
   * wrong).
   */
  reset(): Promise<void>

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
  readonly bulk: BulkQueries
  readonly errorGroups: ErrorGroups
  readonly pauses: Pauses
}

export interface Transaction<T> {
  /** Root instances to lock FOR UPDATE. */
  readonly roots: readonly string[]
  /**
   * true: wait for locked rows, without delaying other transactions; in the end a StoreLockedError. false: locked roots
   * are skipped and missing from `loaded.locked`; other rows that stay locked are a StoreLockedError at once.
   */
  readonly wait: boolean
  readonly need: Need
  decide(loaded: Loaded): { readonly need: Need } | { readonly delta: Delta; readonly result: T }
}

/** `runs`: something became claimable on these queues. `ended`: these instances or bare runs have ended. */
export interface Wake {
  readonly queues?: readonly string[]
  readonly ended?: readonly string[]
  /** Cancel requests, pauses, worker directives: sessions should beat now. */
  readonly control?: boolean
  /**
   * A foreign client ended runs: they wait to be settled. Only sent by the database (its triggers), never by a process.
   */
  readonly outside?: boolean
  /** Commands were stored: they are due at once. */
  readonly commands?: boolean
  /**
   * A connection of ours was lost, perhaps to a server that lost commits with it: remembered rows may be wrong. Only
   * sent within this process.
   */
  readonly lost?: boolean
}
