import type { Queries } from '../../model/queries/queries.ts'
import type { RunObserver } from '../../model/run-observer.ts'

/** The part of an engine that metrics read: counters, counts and the reports of commits. */
export interface MeasuredEngine {
  readonly queries: Pick<Queries, 'now' | 'queueCounts' | 'typeDepths' | 'workers'>
  readonly storage: { readonly kind: string }
  readonly faults: {
    counts(): ReadonlyMap<string, number>
    standing(): ReadonlyMap<string, number>
  }
  counters(): Readonly<Record<string, number>>
  /** Returns a function that ends the reports. */
  observe(observer: RunObserver): () => void
}
