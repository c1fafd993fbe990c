import type { StartParams } from '../../model/start.ts'
import type { Trigger } from '../dag/compile/workflow.ts'
import type { LocatedMistake } from './mistakes.ts'
export interface Definition {
  readonly dialect: string
  readonly name: string
  /** false: its author gave it none; the name is that of its file, or of its kind. */
  readonly named?: boolean
  /** As its author counts them. */
  readonly version?: string
  /** What starts it by itself. */
  readonly trigger?: Trigger
  /** What is valid but will cause trouble. */
  readonly warnings?: readonly LocatedMistake[]
  /** Everything an instance needs but its input and its identity. */
  readonly start: Omit<StartParams, 'id' | 'startKey' | 'tenant' | 'initiator'>
}
