/** Queries for instances and runs (model/search), and how many they find. */
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import { parseInstanceSearch, parseRunSearch } from '../../model/search/parse.ts'
import type { CountedState, Found } from '../../model/search/queries.ts'
import type { InstanceSearch } from '../../model/search/search.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import { operation } from '../operation.ts'

interface Asked {
  /** The text of the query. */
  readonly q: string
  readonly limit: number
  /** `next` of the page before. */
  readonly before: string | null
}

/** `nested`: finds nested ones too, unless the query decides that. */
export const findInstances = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, asked: Asked & { readonly nested: boolean }): Promise<Found<InstanceRow>> => {
    const { limit, before } = asked
    return engine.queries.search.instances({ search: instanceSearch(asked), tenant, limit, before })
  },
)

/** Runs of any origin: of the inbox, jobs, and steps of instances. */
export const findRuns = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, { q, limit, before }: Asked): Promise<Found<RunRow>> =>
    engine.queries.search.runs({ search: parseRunSearch(q), tenant, limit, before, maxBytes: PAGE_BYTES }),
)

export const countFoundInstances = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, asked: { readonly q: string; readonly nested: boolean }) =>
    engine.queries.search.instanceCounts({ search: instanceSearch(asked), tenant }),
)

export const countFoundRuns = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, { q }: { readonly q: string }): Promise<readonly CountedState[]> =>
    engine.queries.search.runCounts({ search: parseRunSearch(q), tenant }),
)

function instanceSearch({ q, nested }: { readonly q: string; readonly nested: boolean }): InstanceSearch {
  const search = parseInstanceSearch(q)
  if (!nested || search.conditions.some(({ field }) => field === 'nested')) return search
  const any = { kind: 'text', field: 'nested', not: false, values: [{ text: 'any', prefix: false }] } as const
  return { ...search, conditions: [...search.conditions, any] }
}
