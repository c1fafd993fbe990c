/** Events that belong to no run and no instance. */

interface RegistryEntry {
  readonly workflow_name: string
  readonly runtime: string
  readonly is_enabled: boolean
}

interface Version {
  readonly id: string
  readonly name: string
  readonly version: string
}

/** A bulk operation, with its counts at that moment. */
interface BulkOperation {
  readonly operation: string
  readonly action: string
  readonly target: 'instances' | 'runs'
  readonly reason: string | null
  readonly rate: number | null
  readonly matched: number
  readonly succeeded: number
  readonly refused: number
  readonly failed: number
}

/** Of failures. */
interface ErrorGroup {
  readonly fingerprint: string
  readonly type: string
  readonly code: string
  readonly reason: string | null
}

export interface StoreEventData {
  'queue.paused': { readonly queue: string }
  'queue.resumed': { readonly queue: string }
  'worker.directed': { readonly worker: string; readonly state: 'quiet' | 'terminate' }
  /** `at`: when it was due. `id`: of what was created. */
  'cron.triggered': { readonly schedule: string; readonly at: number | null; readonly id: string | null }
  'cron.skipped': {
    readonly schedule: string
    readonly at: number | null
    readonly id: null
    readonly reason: 'overlap' | 'refused'
  }
  'schedule.disabled': { readonly schedule: string; readonly type: string; readonly reason: string | null }
  'workflow.deployed': Version & {
    readonly dialect: string
    readonly what: 'created' | 'replaced' | 'restored' | 'tagged'
  }
  'workflow.retired': Version
  /** `passed`: definitions that the event did not start, and why. */
  'workflow.triggered': {
    readonly event: string
    readonly event_id: string | null
    readonly started: readonly (Version & { readonly created: boolean })[]
    readonly passed: readonly { readonly name: string; readonly condition: string | null; readonly why: string }[]
  }
  'workflow.paused': { readonly name: string; readonly reason?: string }
  'workflow.resumed': { readonly name: string; readonly paused_ms: number }
  'registry.paused': { readonly type: string; readonly reason?: string }
  'registry.resumed': { readonly type: string; readonly paused_ms: number }
  'registry.changed': RegistryEntry
  'registry.removed': RegistryEntry
  'error_group.resolved': ErrorGroup
  /** Until it has this count, or until that time; of the two one is null. */
  'error_group.ignored': ErrorGroup & { readonly until_count: number | null; readonly until: number | null }
  'error_group.reopened': ErrorGroup
  'operation.created': BulkOperation
  'operation.progressed': BulkOperation
  'operation.stopped': BulkOperation
  'operation.resumed': BulkOperation
  'operation.rate_changed': BulkOperation
  'operation.completed': BulkOperation
  'store.reset': null
}

export const STORE_EVENTS = {
  'queue.paused': 'A queue was paused.',
  'queue.resumed': 'A queue was resumed.',
  'worker.directed': 'A worker was directed to take no more work, or to stop.',
  'cron.triggered': 'A schedule fired.',
  'cron.skipped': 'A schedule was due and did not fire.',
  'schedule.disabled': 'A schedule of the inbox was disabled because of an error.',
  'workflow.deployed': 'A version of a definition was deployed.',
  'workflow.retired': 'A version of a definition was retired.',
  'workflow.triggered': 'An event started instances of definitions.',
  'workflow.paused': 'A definition was paused: its new instances wait.',
  'workflow.resumed': 'A definition was resumed.',
  'registry.paused': 'A type was paused: no worker takes its runs.',
  'registry.resumed': 'A type was resumed.',
  'registry.changed': 'A type was listed in the registry, or changed.',
  'registry.removed': 'A type was removed from the registry.',
  'error_group.resolved': 'An operator resolved a group of failures.',
  'error_group.ignored': 'An operator ignores a group of failures, for some time.',
  'error_group.reopened': 'An operator opened a group of failures again.',
  'operation.created': 'A bulk operation was ordered.',
  'operation.progressed': 'A bulk operation has got this far; recorded every five seconds.',
  'operation.stopped': 'A bulk operation was stopped.',
  'operation.resumed': 'A stopped bulk operation was resumed.',
  'operation.rate_changed': 'The rate of a bulk operation was changed.',
  'operation.completed': 'A bulk operation has settled all of its items.',
  'store.reset': 'A database for tests was emptied.',
} as const satisfies Record<keyof StoreEventData, string>
