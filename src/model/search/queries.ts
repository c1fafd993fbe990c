/** Searches, newest first by id. */
import type { InstanceRow, RunRow } from '../rows.ts'
import type { InstanceSearch, RunSearch } from './search.ts'

export interface SearchQuery<S> {
  readonly search: S
  /** null: of all tenants. */
  readonly tenant: string | null
  readonly limit: number
  /** `next` of the page before; null: the first page. */
  readonly before: string | null
}

export interface Found<Row> {
  readonly rows: readonly Row[]
  /** `before` of the next page; null: everything was checked. */
  readonly next: string | null
  /** false: the page ends early, because it has checked MAX_SEARCHED rows. Older rows that match may exist. */
  readonly complete: boolean
}

export interface CountedState {
  readonly state: string
  readonly count: number
  /** There are more: only so many were counted. */
  readonly more: boolean
}

export interface SearchQueries {
  instances(query: SearchQuery<InstanceSearch>): Promise<Found<InstanceRow>>
  /** `maxBytes`: as in RunQuery. */
  runs(query: SearchQuery<RunSearch> & { readonly maxBytes?: number }): Promise<Found<RunRow>>
  /** By state, those that have any; of each state at most MAX_SEARCHED rows are checked. */
  instanceCounts(query: Omit<SearchQuery<InstanceSearch>, 'limit' | 'before'>): Promise<readonly CountedState[]>
  /** By status; at most MAX_SEARCHED rows are checked in all, the newest: `more` is the same for each. */
  runCounts(query: Omit<SearchQuery<RunSearch>, 'limit' | 'before'>): Promise<readonly CountedState[]>
}
