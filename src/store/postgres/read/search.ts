/** Searches (store/search) on Postgres. */

import type { RunRow } from '../../../model/rows.ts'
import type { CountedState, Found, SearchQueries, SearchQuery } from '../../../model/search/queries.ts'
import type { Search } from '../../../model/search/search.ts'
import type { Dialect, Parameter } from '../../search/dialect.ts'
import { type Asked, countByState, type IdPage, type Rows, searchPage } from '../../search/search.ts'
import * as column from '../columns.ts'
import { ask } from '../connection/ask.ts'
import { uuidArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { IN_ORDER, settingsCall } from '../connection/settings.ts'
import { type Fields, statement, unnamed } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'
import { shownRuns } from '../shown.ts'

const TYPES: Readonly<Record<Parameter, string>> = { text: 'text', uuid: 'uuid', number: 'bigint' }

const DIALECT: Dialect = {
  table: (name) => `workflow.${name}`,
  parameter: (number, type) => `$${number}::${TYPES[type]}`,
  beginsWith: (column, text) => `starts_with(${column}, ${text})`,
  moment: (ms) => `('epoch'::timestamptz + ${ms} * interval '1 millisecond')`,
  lasted: (from, until, comparison, ms) => `${until} - ${from} ${comparison} ${ms} * interval '1 millisecond'`,
  // The driver's own index is the only one that fits.
  withoutIndex: (column) => column,
  leased: LEASED,
  dead: 'r.dead_letter',
  typesWithoutQueue: true,
  clock: 'SELECT (extract(epoch FROM workflow.clock()) * 1000)::bigint',
}

/** An index is walked in its order, row by row: whatever the statistics suggest, nothing is sorted or read as a whole. */
const STEPS = settingsCall({
  ...IN_ORDER,
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
}).statement

const INSTANCES = statement(
  `SELECT ${column.selectList(column.INSTANCE, 'i')} FROM workflow.workflow_instance i
   WHERE i.id = ANY ($1::uuid[]) ORDER BY i.id DESC`,
)
const SOME_RUNS = 'SELECT * FROM workflow.workflow_run r WHERE r.id = ANY ($1::uuid[])'
const RUNS = statement(`SELECT ${column.selectList(column.RUN, 'r')} FROM (${SOME_RUNS}) r ORDER BY r.id DESC`)
const SHOWN_RUNS = statement(shownRuns(SOME_RUNS, 'r.id DESC', '$2'))

export function searchOn(lanes: Lanes): SearchQueries {
  const drive = async <T>(asking: Generator<Asked, T, Rows>): Promise<T> => {
    for (let step = asking.next(); ; ) {
      if (step.done === true) return step.value
      const { sql, values } = step.value
      const row = (fields: Fields): Fields => [...fields]
      const texts = values.map(String)
      step = asking.next(await ask(lanes, { statement: unnamed(sql), values: texts, row, settings: STEPS }))
    }
  }
  const page = (search: Search, query: Omit<SearchQuery<Search>, 'search'>): Promise<IdPage> =>
    drive(searchPage(DIALECT, search, query))
  const counts = (search: Search, tenant: string | null): Promise<readonly CountedState[]> =>
    drive(countByState(DIALECT, search, tenant))
  return {
    instances: async ({ search, ...query }) => {
      const found = await page(search, query)
      const values = [uuidArray(found.ids)]
      const rows =
        found.ids.length === 0 ? [] : await ask(lanes, { statement: INSTANCES, values, row: column.instanceFrom })
      return { rows, next: found.next, complete: found.complete }
    },
    runs: async ({ search, maxBytes, ...query }): Promise<Found<RunRow>> => {
      const found = await page(search, query)
      const values = [uuidArray(found.ids), ...(maxBytes === undefined ? [] : [String(maxBytes)])]
      const known = maxBytes === undefined ? RUNS : SHOWN_RUNS
      const rows = found.ids.length === 0 ? [] : await ask(lanes, { statement: known, values, row: column.runFrom })
      return { rows, next: found.next, complete: found.complete }
    },
    instanceCounts: ({ search, tenant }) => counts(search, tenant),
    runCounts: ({ search, tenant }) => counts(search, tenant),
  }
}
