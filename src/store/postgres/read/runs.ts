/** The text of a list of runs. */
import type { RunQuery, RunSort } from '../../../model/queries/queries.ts'
import * as column from '../columns.ts'
import { shownRuns } from '../shown.ts'
import type { Conditions } from './conditions.ts'

const SORTS = { created: 'r.id', due: 'r.run_at', priority: 'r.priority' } as const

export function runsText(where: Conditions, query: RunQuery): string {
  const { rest, order } = query.sort == null ? newestRuns(where, query) : sortedRuns(where, query, query.sort)
  const { maxBytes } = query
  return maxBytes === undefined
    ? `SELECT ${column.selectList(column.RUN, 'r')} FROM workflow.workflow_run r ${rest}`
    : shownRuns(`SELECT * FROM workflow.workflow_run r ${rest}`, order, where.value(String(maxBytes)))
}

interface RunsPage {
  readonly rest: string
  readonly order: string
}

function newestRuns(where: Conditions, query: RunQuery): RunsPage {
  const order = 'r.id DESC'
  return { rest: `${where.text()} ORDER BY ${order} ${where.page(query)}`, order }
}

/** Whole rows are read only for the page: the set that is sorted may be large. */
function sortedRuns(where: Conditions, query: RunQuery, { by, descending, among }: RunSort): RunsPage {
  const order = `${SORTS[by]} ${descending ? 'DESC' : 'ASC'}, r.id`
  const newest = `SELECT r.id, r.run_at, r.priority FROM workflow.workflow_run r ${where.text()} ORDER BY r.id DESC LIMIT ${among}`
  const page = `SELECT r.id FROM (${newest}) r ORDER BY ${order} ${where.page(query)}`
  return { rest: `WHERE r.id IN (${page}) ORDER BY ${order}`, order }
}
