import type { StartParams } from '../../model/start.ts'
import type { LocatedMistake } from './mistakes.ts'

/** The trigger that starts a definition automatically. */
export interface Trigger {
  readonly event: string | null
  readonly condition: string | null
  readonly schedule: string | null
  readonly timezone: string
}

export interface Definition {
  readonly dialect: string
  readonly name: string
  /** false: its author gave no name; the name is that of its file, or of its kind. */
  readonly named?: boolean
  /** The author's version. */
  readonly version?: string
  readonly trigger?: Trigger
  /** Valid parts that will cause trouble. */
  readonly warnings?: readonly LocatedMistake[]
  /** Everything an instance needs except its input and its identity. */
  readonly start: Omit<StartParams, 'id' | 'startKey' | 'tenant' | 'initiator'>
}
