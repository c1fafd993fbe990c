/** What can be done with queues and limits. */

import type { LimitParams } from '../../model/limits.ts'
import type { QueueStats } from '../../model/queries/overview.ts'
import type { Parts } from '../parts.ts'

export interface QueueVerbs {
  pauseQueue(params: { readonly queue: string; readonly paused: boolean; readonly actor: string | null }): Promise<void>
  setLimit(params: LimitParams): Promise<void>
  /** By name. `minutes`: how many of the latest minutes to list one by one. */
  queueStats(params: { readonly queue: string | null; readonly minutes: number }): Promise<readonly QueueStats[]>
}

export function queueVerbs({ store, control, totals, afterCommit }: Parts): QueueVerbs {
  return {
    pauseQueue: async (p) => {
      await control.pauseQueue(p)
      afterCommit.controlled()
      if (p.paused) return
      afterCommit.wake(new Set([p.queue]))
      store.wake({ queues: [p.queue] })
    },
    setLimit: (p) => control.setLimit(p),
    queueStats: (p) => totals.queueStats(p),
  }
}
