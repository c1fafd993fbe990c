/** Runs: by id, by instance, and lists of them. */
import type { ExecutionQueries, RunSort } from '../../../model/queries/queries.ts'
import type { RunRow } from '../../../model/rows.ts'
import { readClock } from '../clock.ts'
import { RUN_CELLS, runOf, shownRuns } from '../row/run.ts'
import { countWhere, runFilter } from './filter.ts'
import type { Select } from './select.ts'

type RunQueries = Pick<
  ExecutionQueries,
  'run' | 'runs' | 'heldBy' | 'listRuns' | 'countListedRuns' | 'countRuns' | 'instanceRuns' | 'checkpoint'
>

const RUN = `SELECT ${RUN_CELLS} FROM workflow_run WHERE id = ?`
const HELD_BY = `SELECT ${RUN_CELLS} FROM workflow_run WHERE session_id = ? AND status = 'leased'`
const SORTS = { created: 'id', due: 'run_at', priority: 'priority' } as const

interface RunsPage {
  readonly where: string
  readonly order: string
  readonly page: string
}

export function runQueries(select: Select): RunQueries {
  const { connection } = select
  return {
    run: (id) => select.row(runOf, RUN, id),
    runs: ({ ids }) =>
      connection.read(() => {
        const found: RunRow[] = []
        for (const id of ids) {
          const cells = connection.statement(RUN).get(id)
          if (cells !== undefined) found.push(runOf(cells))
        }
        return found
      }),
    heldBy: (sessionId) => select.rows(runOf, HELD_BY, sessionId),
    listRuns: (query) =>
      connection.readLong((on) => {
        const filter = runFilter(query, readClock(on))
        const page = query.sort == null ? newestRuns(filter.where) : sortedRuns(filter.where, query.sort)
        const sql = query.maxBytes === undefined ? wholeRuns(page) : shownRuns({ ...page, maxBytes: query.maxBytes })
        return on
          .statement(sql)
          .all(...filter.values, query.limit, query.offset ?? 0)
          .map(runOf)
      }),
    countListedRuns: (query, atMost) =>
      connection.readLong((on) => countWhere(on, 'workflow_run', runFilter(query, readClock(on)), atMost)),
    countRuns: ({ queue }) =>
      queue === null
        ? select.counts('SELECT status, count(*) FROM workflow_run WHERE deleted_at IS NULL GROUP BY status')
        : select.counts(
            'SELECT status, count(*) FROM workflow_run WHERE deleted_at IS NULL AND queue = ? GROUP BY status',
            queue,
          ),
    instanceRuns: ({ instanceId, limit, after, maxBytes }) => {
      const page = { where: 'WHERE instance_id = ? AND id > ?', order: 'id', page: 'LIMIT ?' }
      return maxBytes === undefined
        ? select.rows(runOf, wholeRuns(page), instanceId, after ?? '', limit)
        : select.list(runOf, shownRuns({ ...page, maxBytes }), instanceId, after ?? '', limit)
    },
    checkpoint: (runId) =>
      select.row(
        ([state, sequence]) => ({ state: state as string, sequence: sequence as number }),
        'SELECT state, sequence FROM workflow_checkpoint WHERE run_id = ? AND state IS NOT NULL',
        runId,
      ),
  }
}

function wholeRuns({ where, order, page }: RunsPage): string {
  return `SELECT ${RUN_CELLS} FROM workflow_run ${where} ORDER BY ${order} ${page}`
}

function newestRuns(where: string): RunsPage {
  return { where, order: 'id DESC', page: 'LIMIT ? OFFSET ?' }
}

/** Whole rows are read only for the page: the set that is sorted may be large. */
function sortedRuns(where: string, { by, descending, among }: RunSort): RunsPage {
  const order = `${SORTS[by]} ${descending ? 'DESC' : 'ASC'}, id`
  const newest = `SELECT id, run_at, priority FROM workflow_run ${where} ORDER BY id DESC LIMIT ${among}`
  return { where: `WHERE id IN (SELECT id FROM (${newest}) ORDER BY ${order} LIMIT ? OFFSET ?)`, order, page: '' }
}
