/** The read models, one statement each, outside any transaction. */
import type { RunRow } from '../../rows.ts'
import type { InstanceQuery, Reads, RunQuery } from '../../store.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'
import { LAST, SLOTS_WITH } from '../load/loading.ts'
import { resultOf } from '../load/results.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import {
  EVENT_CELLS,
  eventOf,
  GATE_CELLS,
  gateOf,
  LIMIT_CELLS,
  limitOf,
  NET_CELLS,
  netOf,
  SCHEDULE_CELLS,
  scheduleOf,
  slotOf,
  WORKER_CELLS,
  workerOf,
} from '../row/others.ts'
import { RUN_CELLS, runOf } from '../row/run.ts'
import { findViolations } from './doctor.ts'
import { queuesWithCounts } from './queues.ts'

const RUN = `SELECT ${RUN_CELLS} FROM workflow_run WHERE id = ?`
/** An open lease belongs after what is stored, a derived `created` before it. */
const HISTORY = `SELECT coalesce(event_id, 0), workflow_id, instance_id, seq, event_type, node, actor, tenant, data, created_at
  FROM workflow_history WHERE workflow_id = ? ORDER BY created_at, coalesce(event_id, part * 9007199254740991), part`

export function readsOn(connection: Connection): Reads {
  const rows = <Row>(rowOf: (cells: Cells) => Row, sql: string, ...values: Value[]) =>
    connection.read(() =>
      connection
        .statement(sql)
        .all(...values)
        .map(rowOf),
    )
  const row = async <Row>(rowOf: (cells: Cells) => Row, sql: string, ...values: Value[]) =>
    connection.read(() => {
      const cells = connection.statement(sql).get(...values)
      return cells === undefined ? null : rowOf(cells)
    })
  const counts = (sql: string, ...values: Value[]) =>
    connection.read(
      () =>
        new Map(
          connection
            .statement(sql)
            .all(...values)
            .map(([key, count]) => [key as string, count as number]),
        ),
    )

  return {
    run: (id) => row(runOf, RUN, id),
    runs: ({ ids }) =>
      connection.read(() => {
        const found: RunRow[] = []
        for (const id of ids) {
          const cells = connection.statement(RUN).get(id)
          if (cells !== undefined) found.push(runOf(cells))
        }
        return found
      }),
    heldBy: (sessionId) =>
      rows(runOf, `SELECT ${RUN_CELLS} FROM workflow_run WHERE session_id = ? AND status = 'leased'`, sessionId),
    instance: (id) => row(instanceOf, `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE id = ?`, id),
    net: (hash) => row(netOf, `SELECT ${NET_CELLS} FROM workflow_net WHERE hash = ?`, hash),
    listInstances: (query) => {
      const { where, values } = instanceFilter(query)
      return rows(
        instanceOf,
        `SELECT ${INSTANCE_CELLS} FROM workflow_instance ${where} ORDER BY id DESC LIMIT ?`,
        ...values,
        query.limit,
      )
    },
    listRuns: (query) => {
      const { where, values } = runFilter(query)
      return rows(
        runOf,
        `SELECT ${RUN_CELLS} FROM workflow_run ${where} ORDER BY id DESC LIMIT ?`,
        ...values,
        query.limit,
      )
    },
    countInstances: () => counts('SELECT state, count(*) FROM workflow_instance GROUP BY state'),
    countRuns: ({ queue }) =>
      queue === null
        ? counts('SELECT status, count(*) FROM workflow_run WHERE deleted_at IS NULL GROUP BY status')
        : counts(
            'SELECT status, count(*) FROM workflow_run WHERE deleted_at IS NULL AND queue = ? GROUP BY status',
            queue,
          ),
    instanceRuns: ({ instanceId, limit, after }) =>
      rows(
        runOf,
        `SELECT ${RUN_CELLS} FROM workflow_run WHERE instance_id = ? AND id > ? ORDER BY id LIMIT ?`,
        instanceId,
        after ?? '',
        limit,
      ),
    children: (instanceId) =>
      rows(instanceOf, `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE parent_id = ? ORDER BY id`, instanceId),
    slots: ({ instanceId, prefix }) => rows(slotOf, SLOTS_WITH, instanceId, prefix, prefix + LAST),
    results: ({ instanceId, nodes }) =>
      connection.read(
        () => new Map(nodes.map((node) => [`${instanceId}/${node}`, resultOf(connection, instanceId, node)])),
      ),
    instanceEvents: ({ instanceId, afterSeq, limit }) =>
      rows(
        eventOf,
        `SELECT ${EVENT_CELLS} FROM workflow_event WHERE instance_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
        instanceId,
        afterSeq,
        limit,
      ),
    runHistory: (runId) => rows(eventOf, HISTORY, runId),
    // With one writer at a time no transaction in flight can have a smaller id than a committed one.
    feed: ({ afterId, limit }) =>
      rows(eventOf, `SELECT ${EVENT_CELLS} FROM workflow_event WHERE id > ? ORDER BY id LIMIT ?`, afterId, limit),
    gate: (id) => row(gateOf, `SELECT ${GATE_CELLS} FROM workflow_gate WHERE id = ?`, id),
    openGates: ({ instanceId, limit }) =>
      instanceId === null
        ? rows(gateOf, `SELECT ${GATE_CELLS} FROM workflow_gate WHERE state = 'open' ORDER BY id LIMIT ?`, limit)
        : rows(
            gateOf,
            `SELECT ${GATE_CELLS} FROM workflow_gate WHERE state = 'open' AND instance_id = ? ORDER BY id LIMIT ?`,
            instanceId,
            limit,
          ),
    queues: () => connection.read(() => queuesWithCounts(connection)),
    limits: () => rows(limitOf, `SELECT ${LIMIT_CELLS} FROM workflow_limit ORDER BY key`),
    workers: () => rows(workerOf, `SELECT ${WORKER_CELLS} FROM workflow_worker ORDER BY id`),
    schedules: () => rows(scheduleOf, `SELECT ${SCHEDULE_CELLS} FROM workflow_cron ORDER BY name`),
    checkpoint: (runId) =>
      row(
        ([state, sequence]) => ({ state: state as string, sequence: sequence as number }),
        'SELECT state, sequence FROM workflow_checkpoint WHERE run_id = ? AND state IS NOT NULL',
        runId,
      ),
    doctor: () => connection.read(() => findViolations(connection)),
  }
}

function instanceFilter(query: InstanceQuery) {
  return filter([
    [query.states === null ? null : `state IN (${query.states.map(() => '?').join(', ')})`, ...(query.states ?? [])],
    [query.name === null ? null : 'name = ?', query.name],
    [query.dialect === null ? null : 'dialect = ?', query.dialect],
    [query.tenant === null ? null : 'tenant = ?', query.tenant],
    [query.rootsOnly ? 'parent_id IS NULL' : null],
    [query.before === null ? null : 'id < ?', query.before],
  ])
}

function runFilter(query: RunQuery) {
  return filter([
    ['deleted_at IS NULL'],
    [query.status === null ? null : `status IN (${query.status.map(() => '?').join(', ')})`, ...(query.status ?? [])],
    [query.queue === null ? null : 'queue = ?', query.queue],
    [query.type === null ? null : 'type = ?', query.type],
    [query.deadLetter === null ? null : query.deadLetter ? 'dead_letter = 1' : 'dead_letter = 0'],
    [query.tenant === null ? null : 'tenant = ?', query.tenant],
    [query.before === null ? null : 'id < ?', query.before],
  ])
}

/** Each term: its SQL (null: left out) and the values of its parameters. */
function filter(terms: readonly (readonly [string | null, ...Value[]])[]): { where: string; values: Value[] } {
  const used = terms.filter(([sql]) => sql !== null)
  const where = used.length === 0 ? '' : `WHERE ${used.map(([sql]) => sql).join(' AND ')}`
  return { where, values: used.flatMap(([, ...values]) => values) }
}
