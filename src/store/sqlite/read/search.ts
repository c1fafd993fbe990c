/** Searches (store/search) on SQLite. */
import type { SearchQueries } from '../../../model/search/queries.ts'
import type { Dialect } from '../../search/dialect.ts'
import { type Asked, countByState, type Rows, searchPage } from '../../search/search.ts'
import type { Connection } from '../connection.ts'
import type { Reading } from '../long-reads.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import { RUN_CELLS, runOf, shownRuns } from '../row/run.ts'

const DIALECT: Dialect = {
  table: (name) => name,
  parameter: (number) => `?${number}`,
  beginsWith: (column, text) => `substr(${column}, 1, length(${text})) = ${text}`,
  moment: (ms) => ms,
  lasted: (from, until, comparison, ms) => `${until} - ${from} ${comparison} ${ms}`,
  withoutIndex: (column) => `+${column}`,
  leased: "r.status = 'leased'",
  dead: 'r.dead_letter = 1',
  typesWithoutQueue: false,
  clock: 'SELECT now FROM workflow_clock',
}

const INSTANCES = `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id DESC`
const THESE_RUNS = 'WHERE id IN (SELECT value FROM json_each(?))'
const RUNS = `SELECT ${RUN_CELLS} FROM workflow_run ${THESE_RUNS} ORDER BY id DESC`

export function searchOn(connection: Connection): SearchQueries {
  return {
    instances: ({ search, ...query }) =>
      connection.readLong((on) => {
        const { ids, next, complete } = drive(on, searchPage(DIALECT, search, query))
        return { rows: on.statement(INSTANCES).all(JSON.stringify(ids)).map(instanceOf), next, complete }
      }),
    runs: ({ search, maxBytes, ...query }) =>
      connection.readLong((on) => {
        const { ids, next, complete } = drive(on, searchPage(DIALECT, search, query))
        const shown = { where: THESE_RUNS, order: 'id DESC', page: '' }
        const sql = maxBytes === undefined ? RUNS : shownRuns({ ...shown, maxBytes })
        return { rows: on.statement(sql).all(JSON.stringify(ids)).map(runOf), next, complete }
      }),
    instanceCounts: ({ search, tenant }) =>
      connection.readLong((on) => drive(on, countByState(DIALECT, search, tenant))),
    runCounts: ({ search, tenant }) => connection.readLong((on) => drive(on, countByState(DIALECT, search, tenant))),
  }
}

function drive<T>(on: Reading, asking: Generator<Asked, T, Rows>): T {
  for (let step = asking.next(); ; ) {
    if (step.done === true) return step.value
    const { sql, values } = step.value
    step = asking.next(on.statement(sql).all(...values))
  }
}
