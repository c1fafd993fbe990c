/** How work reaches workers and services, and what can be done with a worker. */

import type { EngineCommands } from '../../model/commands.ts'
import type { Leases } from '../../model/leases.ts'
import type { TypeRegistry } from '../../model/registry.ts'
import type { WorkerRow } from '../../model/rows.ts'
import type { WorkerPort } from '../../worker/port.ts'
import type { Parts } from '../parts.ts'

export interface WorkerVerbs {
  /** For workers of this process. */
  readonly workers: WorkerPort
  /** For workers over HTTP. */
  readonly leases: Leases
  /** For what publishes the commands of deferred runs to services. */
  readonly commands: EngineCommands
  readonly registry: TypeRegistry
  /** Directs a worker to take no more work, or to stop. There is no way back. */
  directWorker(params: {
    readonly id: string
    readonly state: 'quiet' | 'terminate'
    readonly actor: string | null
    /** true: a worker with leases of its own ends now, and they with it. */
    readonly now?: boolean
  }): Promise<WorkerRow>
}

export function workerVerbs({ sessions, leases, commands, registry, control, afterCommit }: Parts): WorkerVerbs {
  return {
    workers: sessions,
    leases,
    commands,
    registry,
    directWorker: (p) => control.directWorker(p).finally(() => afterCommit.controlled()),
  }
}
