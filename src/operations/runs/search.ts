/** Search for runs: pages of them, with the total number. */
import type { EngineApi } from '../../engine/api.ts'
import { MAX_COUNTED } from '../../kernel/limits.ts'
import type { RunQuery } from '../../model/queries/queries.ts'
import type { RunRow } from '../../model/rows.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import { operation } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'

/** Without the page, and without the tenant, which is the caller's. */
export type RunFilter = Omit<RunQuery, 'tenant' | 'maxBytes' | 'limit' | 'before' | 'offset'>

export type RunSearch = RunFilter & Pick<RunQuery, 'limit' | 'before' | 'offset'>

export interface RunsFound extends Page<RunRow> {
  /** Counted up to MAX_COUNTED. */
  readonly total: number
  readonly now: number
}

/** Newest first, unless sorted. */
export const searchRuns = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, asked: RunSearch): Promise<RunsFound> => search(engine, { ...asked, tenant }),
)

/** Of any tenant. */
export const searchRunsOfTenant = operation(
  { scope: 'read', shared: true },
  ({ engine }, asked: RunSearch & { readonly tenant: string }): Promise<RunsFound> => search(engine, asked),
)

async function search({ queries }: EngineApi, asked: RunSearch & Pick<RunQuery, 'tenant'>): Promise<RunsFound> {
  const query = { ...asked, maxBytes: PAGE_BYTES }
  const [page, total, now] = await Promise.all([
    pageOf(asked.limit, (limit) => queries.listRuns({ ...query, limit })),
    queries.countListedRuns({ ...query, before: null, offset: 0 }, MAX_COUNTED),
    queries.now(),
  ])
  return { ...page, total, now }
}
