/** Queries: `state:failed name:order* -tag:test age:>1h`. docs/operate/search.md lists the filters. */
import type { EngineApi } from '../engine/api.ts'
import type { InstanceRow, RunRow } from '../model/rows.ts'
import type { CountedState, Found } from '../model/search/queries.ts'

export interface SearchOptions {
  readonly tenant?: string
  /** Default 100. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly before?: string
}

const PAGE = 100

/** Loaded when needed: most programs do not search. */
const parser = () => import('../model/search/parse.ts')

export class Searches {
  readonly #engine: EngineApi

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  /** Newest first; without nested ones, unless the query says `nested:any`. */
  async instances(query: string, options: SearchOptions = {}): Promise<Found<InstanceRow>> {
    const { parseInstanceSearch } = await parser()
    return this.#engine.queries.search.instances({ search: parseInstanceSearch(query), ...pageOf(options) })
  }

  /** Newest first; of any origin. */
  async runs(query: string, options: SearchOptions = {}): Promise<Found<RunRow>> {
    const { parseRunSearch } = await parser()
    return this.#engine.queries.search.runs({ search: parseRunSearch(query), ...pageOf(options) })
  }

  /** By state; of each at most 10,000 are checked. */
  async instanceCounts(query: string, { tenant = null }: OfTenant = {}): Promise<readonly CountedState[]> {
    const { parseInstanceSearch } = await parser()
    return this.#engine.queries.search.instanceCounts({ search: parseInstanceSearch(query), tenant })
  }

  /** By status; at most 10,000 runs are checked. */
  async runCounts(query: string, { tenant = null }: OfTenant = {}): Promise<readonly CountedState[]> {
    const { parseRunSearch } = await parser()
    return this.#engine.queries.search.runCounts({ search: parseRunSearch(query), tenant })
  }
}

interface OfTenant {
  readonly tenant?: string | null
}

function pageOf({ tenant, limit, before }: SearchOptions) {
  return { tenant: tenant ?? null, limit: limit ?? PAGE, before: before ?? null }
}
