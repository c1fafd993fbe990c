/** Which runs a worker requests. The claims of the stores apply the same rule. */

import { readTypeFilter, typeMatcher } from '../../kernel/type-filters.ts'
import { checkRuntime } from '../../model/registry.ts'
import type { RunRow } from '../../model/rows.ts'
import type { ClaimFilter } from '../../model/transaction.ts'

/** Refuses an invalid filter before the store is asked. */
export function checkFilter({ types, runtime }: Pick<ClaimFilter, 'types' | 'runtime'>): void {
  for (const [i, text] of types?.entries() ?? []) readTypeFilter(text, `types[${i}]`)
  if (runtime !== null) checkRuntime(runtime, 'runtime')
}

/** Whether a filter takes a run. */
export function accepting(
  filter: Omit<ClaimFilter, 'runtime'>,
): (run: Pick<RunRow, 'queue' | 'type' | 'tenant'>) => boolean {
  const queues = filter.queues === null ? null : new Set(filter.queues)
  const isAsked = typeMatcher(filter.types)
  return (run) =>
    (queues === null || queues.has(run.queue)) &&
    (filter.tenant === null || filter.tenant === run.tenant) &&
    isAsked(run.type)
}
