import type { QueueStats } from '../../model/queries/overview.ts'
import type { Queries } from '../../model/queries/queries.ts'
import type { QueueReport } from '../../model/queries/queueing.ts'
import type { RunObserver } from '../../model/run-observer.ts'

type QueueReporter = (params: {
  readonly queue: string
  readonly minutes: number
  readonly counted: boolean
}) => Promise<QueueReport>

/** The part of an engine that metrics read: counters, counts and the reports of commits. */
export interface MeasuredEngine {
  readonly queries: Pick<Queries, 'now' | 'queueing' | 'typeDepths' | 'workers'>
  queueReport: QueueReporter
  queueStats(params: { readonly queue: string | null; readonly minutes: number }): Promise<readonly QueueStats[]>
  readonly storage: { readonly kind: string }
  readonly faults: {
    counts(): ReadonlyMap<string, number>
    standing(): ReadonlyMap<string, number>
  }
  counters(): Readonly<Record<string, number>>
  /** Returns a function that ends the reports. */
  observe(observer: RunObserver): () => void
}
