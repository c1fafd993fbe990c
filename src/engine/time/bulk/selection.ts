/** What a bulk operation is about: pages of its search, the newest first. */
import type { OperationParameters, OperationRow } from '../../../model/bulk/rows.ts'
import type { Queries, RunQuery } from '../../../model/queries/queries.ts'
import { parseInstanceSearch, parseRunSearch } from '../../../model/search/parse.ts'

interface Row {
  readonly id: string
  readonly createdAt: number
}

export interface SelectionPage {
  readonly ids: readonly string[]
  /** Where the next page begins; null: this is the last. */
  readonly next: string | null
}

const PAGE = 500

/** Only what existed when the operation was ordered. */
export async function selectionPage(queries: Queries, operation: OperationRow): Promise<SelectionPage> {
  const { rows, next } = await pageOf(queries, operation)
  return { ids: rows.filter(({ createdAt }) => createdAt <= operation.createdAt).map(({ id }) => id), next }
}

async function pageOf(
  queries: Queries,
  { target, query, tenant, parameters, cursor: before }: OperationRow,
): Promise<{ readonly rows: readonly Row[]; readonly next: string | null }> {
  const { filter } = JSON.parse(parameters) as OperationParameters
  const page = { tenant, limit: PAGE, before }
  if (filter !== undefined) {
    const rows = await queries.listRuns({ ...(filter as unknown as RunQuery), ...page, maxBytes: 0 })
    return { rows, next: rows.length < PAGE ? null : (rows.at(-1)?.id ?? null) }
  }
  return target === 'runs'
    ? queries.search.runs({ ...page, search: parseRunSearch(query), maxBytes: 0 })
    : queries.search.instances({ ...page, search: parseInstanceSearch(query) })
}
