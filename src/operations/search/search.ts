/** Queries for instances and runs (model/search), and how many they find. */
import { PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
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
    const { limit } = asked
    return engine.queries.search.instances({ search: instanceSearch(asked), tenant, limit, before: placeOf(asked) })
  },
)

/** Runs of any origin: of the inbox, jobs, and steps of instances. */
export const findRuns = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, asked: Asked): Promise<Found<RunRow>> => {
    const { q, limit } = asked
    const page = { limit, before: placeOf(asked), maxBytes: PAGE_BYTES }
    return engine.queries.search.runs({ search: parseRunSearch(q), tenant, ...page })
  },
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

/** Where the page begins. */
function placeOf({ before }: Asked): string | null {
  const id = before === null ? null : readId(before)
  if (before === null || id !== null) return id
  throw new PetrelError('invalid_request', `before must be an id, not '${before}'`, {
    parameter: 'before',
    hint: 'Each page names the place where the next one begins.',
  })
}

function instanceSearch({ q, nested }: { readonly q: string; readonly nested: boolean }): InstanceSearch {
  const search = parseInstanceSearch(q)
  if (!nested || search.conditions.some(({ field }) => field === 'nested')) return search
  const any = { kind: 'text', field: 'nested', not: false, values: [{ text: 'any', prefix: false }] } as const
  return { ...search, conditions: [...search.conditions, any] }
}
