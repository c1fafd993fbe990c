import type { StartParams } from '../../model/start.ts'
import type { LocatedMistake } from './mistakes.ts'

/** What starts a definition by itself. */
export interface Trigger {
  readonly event: string | null
  readonly condition: string | null
  readonly schedule: string | null
  readonly timezone: string
}

export interface Definition {
  readonly dialect: string
  readonly name: string
  /** false: its author gave it none; the name is that of its file, or of its kind. */
  readonly named?: boolean
  /** As its author counts them. */
  readonly version?: string
  readonly trigger?: Trigger
  /** What is valid but will cause trouble. */
  readonly warnings?: readonly LocatedMistake[]
  /** Everything an instance needs but its input and its identity. */
  readonly start: Omit<StartParams, 'id' | 'startKey' | 'tenant' | 'initiator'>
}
