/** The read models, one statement each, outside any transaction. */
import type { ExecutionQueries } from '../../../model/queries/queries.ts'
import { TEMPLATE_BYTES } from '../../../model/shown.ts'
import type { Connection } from '../connection.ts'
import {
  GATE_CELLS,
  gateOf,
  LIMIT_CELLS,
  limitOf,
  SCHEDULE_CELLS,
  scheduleOf,
  shownGates,
  WORKER_CELLS,
  workerOf,
} from '../row/narrow-rows.ts'
import { shownJson } from '../shown.ts'
import { findViolations } from './doctor.ts'
import { eventQueries } from './events.ts'
import { gateFilter } from './filter.ts'
import { listInbox, typeDepths } from './inbox.ts'
import { instanceQueries, markingQueries } from './instances.ts'
import { placesOn } from './places.ts'
import { queueCounts, totals } from './queues.ts'
import { runQueries } from './runs.ts'
import { searchOn } from './search.ts'
import { Select } from './select.ts'
import { stepsOn } from './steps.ts'
import { SqliteTrees } from './trees.ts'
import { workOn } from './work.ts'

type GateQueries = Pick<ExecutionQueries, 'gate' | 'shownGates' | 'openGates' | 'listGates'>

const GATE = `SELECT ${GATE_CELLS} FROM workflow_gate WHERE id = ?`
const OPEN_GATES = `SELECT ${GATE_CELLS} FROM workflow_gate WHERE state = 'open' ORDER BY id LIMIT ?`
const OPEN_GATES_OF = `SELECT ${GATE_CELLS} FROM workflow_gate WHERE state = 'open' AND instance_id = ? ORDER BY id LIMIT ?`

export function readsOn(connection: Connection): ExecutionQueries {
  const select = new Select(connection)
  return {
    trees: new SqliteTrees(connection),
    steps: stepsOn(connection),
    search: searchOn(connection),
    places: placesOn(connection),
    work: workOn(connection),
    ...runQueries(select),
    ...instanceQueries(select),
    ...markingQueries(select),
    ...eventQueries(select),
    ...gateQueries(select),
    listInbox: (query) => connection.readLong((on) => listInbox(on, query)),
    typeDepths: () => connection.readLong(typeDepths),
    queueCounts: ({ queue }) => connection.readLong((on) => queueCounts(on, queue)),
    totals: (params) => connection.readLong((on) => totals(on, params)),
    queuesPaused: async () =>
      new Map(
        await select.rows(
          ([name, paused]): [string, boolean] => [name as string, paused === 1],
          'SELECT name, paused FROM workflow_queue',
        ),
      ),
    limits: () => select.rows(limitOf, `SELECT ${LIMIT_CELLS} FROM workflow_limit ORDER BY key`),
    workers: () => select.rows(workerOf, `SELECT ${WORKER_CELLS} FROM workflow_worker ORDER BY id`),
    schedules: () => {
      const template = shownJson('template', `octet_length(template) <= ${TEMPLATE_BYTES}`)
      const cells = SCHEDULE_CELLS.replace('template', template)
      return select.rows(scheduleOf, `SELECT ${cells} FROM workflow_cron ORDER BY name`)
    },
    schedule: (name) => select.row(scheduleOf, `SELECT ${SCHEDULE_CELLS} FROM workflow_cron WHERE name = ?`, name),
    doctor: () => connection.readLong(findViolations),
  }
}

function gateQueries(select: Select): GateQueries {
  return {
    gate: (id) => select.row(gateOf, GATE, id),
    shownGates: ({ instanceId, limit }) => {
      const page = { where: "WHERE state = 'open' AND instance_id = ?", order: 'id', page: 'LIMIT ?' }
      return select.list(gateOf, shownGates(page), instanceId, limit)
    },
    openGates: ({ instanceId, limit }) =>
      instanceId === null
        ? select.rows(gateOf, OPEN_GATES, limit)
        : select.rows(gateOf, OPEN_GATES_OF, instanceId, limit),
    listGates: (query) => {
      const { where, values } = gateFilter(query)
      return select.list(gateOf, shownGates({ where, order: 'id DESC', page: 'LIMIT ?' }), ...values, query.limit)
    },
  }
}
