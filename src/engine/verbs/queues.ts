/** What can be done with queues and limits. */

import type { LimitParams } from '../../model/limits.ts'
import type { QueueStats } from '../../model/queries/overview.ts'
import type { QueueReport } from '../../model/queries/queueing.ts'
import type { Parts } from '../parts.ts'

export interface QueueVerbs {
  pauseQueue(params: { readonly queue: string; readonly paused: boolean; readonly actor: string | null }): Promise<void>
  setLimit(params: LimitParams): Promise<void>
  /** By name. Costs the same however much waits in each. `minutes`: how many of the latest minutes to list one by one. */
  queueStats(params: { readonly queue: string | null; readonly minutes: number }): Promise<readonly QueueStats[]>
  /** Costs the same however much waits in the queue. `counted`: a long queue is counted first, if it was not lately. */
  queueReport(params: {
    readonly queue: string
    readonly minutes: number
    readonly counted: boolean
  }): Promise<QueueReport>
}

export function queueVerbs({ store, control, queueReports, afterCommit }: Parts): QueueVerbs {
  return {
    pauseQueue: async (p) => {
      await control.pauseQueue(p)
      afterCommit.controlled()
      if (p.paused) return
      afterCommit.wake(new Set([p.queue]))
      store.wake({ queues: [p.queue] })
    },
    setLimit: (p) => control.setLimit(p),
    queueStats: (p) => queueReports.stats(p),
    queueReport: (p) => queueReports.report(p),
  }
}
