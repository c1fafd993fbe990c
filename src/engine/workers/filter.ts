/** Which runs a worker asks for. The stores' claim decides by the same rule. */

import { PetrelError } from '../../kernel/errors.ts'
import { readTypeFilter, typeMatcher } from '../../kernel/type-filters.ts'
import type { RunRow } from '../../model/rows.ts'
import type { ClaimFilter } from '../../store/store.ts'

/** Refuses a filter that cannot be meant, before anything is asked of the store. */
export function checkFilter({ types, runtime }: Pick<ClaimFilter, 'types' | 'runtime'>): void {
  for (const [i, text] of types?.entries() ?? []) readTypeFilter(text, `types[${i}]`)
  if (runtime !== null) checkRuntime(runtime, 'runtime')
}

/** The word a worker states and the registry compares; of any language. */
export function checkRuntime(runtime: unknown, place: string): asserts runtime is string {
  const isName = typeof runtime === 'string' && runtime !== '' && runtime.length <= 255 && runtime === runtime.trim()
  if (isName && runtime.isWellFormed() && !runtime.includes('\0')) return
  throw new PetrelError(
    'invalid_request',
    `${place}: a name such as 'node', 'go' or 'python', of 1 to 255 characters`,
    {
      path: place,
    },
  )
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
