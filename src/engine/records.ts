/** Records that no instance depends on; each write is one statement. */

import type { SignIns } from '../model/access/sign-ins.ts'
import type { Logs } from '../model/logs.ts'
import type { Keys, Settings } from '../model/registry.ts'
import type { Saved } from '../model/saved.ts'
import type { Webhooks } from '../model/webhooks.ts'
import type { Store } from '../store/store.ts'
import type { Retention } from './time/retention.ts'

export interface Records {
  /** API keys. */
  readonly keys: Keys
  /** Sign-ins of browsers. */
  readonly signIns: SignIns
  /** Checkpoints and progress of runs. */
  readonly saved: Saved
  /** What executions log. */
  readonly logs: Logs
  /** Settings of queues, and schemas of arguments. */
  readonly settings: Settings
  readonly webhooks: Webhooks
}

/** The database below the engine, as an operator sees it. */
export interface Storage {
  readonly kind: Store['kind']
  /** What this process deletes. */
  readonly retention: Retention
  /** Writes as much as a step with a large result would, and rolls it back. Throws if no writes are possible. */
  probeWrite(): Promise<void>
  /** Moves long reads off the event loop of this process. For processes that list and count for many clients. */
  offloadReads(): void
  /** Calls the listener after commits of other processes. Returns a function that ends this. */
  onRemoteCommit(listener: () => void): () => void
}

export function recordsOf({ keys, signIns, saved, logs, registry, webhooks }: Store): Records {
  return { keys, signIns, saved, logs, settings: registry, webhooks }
}

export function storageOf(store: Store, retention: Retention): Storage {
  return {
    kind: store.kind,
    retention,
    probeWrite: () => store.probeWrite(),
    offloadReads: () => store.offload(),
    onRemoteCommit: (listener) => store.onWake(() => listener()),
  }
}
