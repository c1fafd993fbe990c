import type { Json } from '../net/net.ts'
import type { EnqueueParams } from './enqueue.ts'
import type { ScheduleRow } from './rows.ts'
import type { StartParams } from './start.ts'
export interface ScheduleParams {
  readonly name: string
  readonly expression: string
  readonly timezone?: string
  readonly overlap?: ScheduleRow['overlap']
  readonly enabled?: boolean
  readonly run?: EnqueueParams
  readonly start?: StartParams
  readonly tenant?: string
  /** What its author says of it; kept in the template beside run or start. */
  readonly about?: Json
}
