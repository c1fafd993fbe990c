/** The read models, one statement each, outside any transaction. */

import type { ExecutionQueries, Progress, RunSort } from '../../../model/queries/queries.ts'
import type { RunRow } from '../../../model/rows.ts'
import { ALWAYS_BYTES, TEMPLATE_BYTES } from '../../../model/shown.ts'
import type { InstanceState } from '../../../net/marking.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'
import { LAST, SLOTS_WITH } from '../load/loading.ts'
import { resultAt, resultOf, shownResults } from '../load/results.ts'
import type { Reading } from '../long-reads.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import {
  eventOf,
  GATE_CELLS,
  gateOf,
  LIMIT_CELLS,
  limitOf,
  NET_CELLS,
  netOf,
  SCHEDULE_CELLS,
  scheduleOf,
  shownGates,
  slotOf,
  WORKER_CELLS,
  workerOf,
} from '../row/others.ts'
import { RUN_CELLS, runOf, shownRuns } from '../row/run.ts'
import { shownJson } from '../shown.ts'
import { findViolations } from './doctor.ts'
import { eventsWithin } from './events.ts'
import { eventPage, feedEnd, feedStart } from './feed.ts'
import { gateFilter, instanceFilter, runFilter, type Where } from './filter.ts'
import { errorsOf, HISTORY, HISTORY_PAGE, histories, leasesLost } from './history.ts'
import { listInbox, typeDepths } from './inbox.ts'
import { queueCounts, queuesWithCounts, totals } from './queues.ts'
import { stepsOn } from './steps.ts'
import { SqliteTrees } from './trees.ts'

const QUEUED_BEFORE = `SELECT count(*) FROM (SELECT 1 FROM workflow_instance INDEXED BY idx_workflow_instance_slot
  WHERE slot_key IS NOT NULL AND ended_at IS NULL AND slot_key = ? AND state = 'queued' AND (queued_at, id) < (?, ?) LIMIT ?)`
const SHOWN_SLOTS = `SELECT instance_id, key, ${shownJson('value', `(size <= ?4 OR octet_length(value) <= ${ALWAYS_BYTES})`)}
  FROM (SELECT *, sum(octet_length(value)) OVER (ORDER BY key ROWS UNBOUNDED PRECEDING) AS size FROM workflow_slot
    WHERE instance_id = ?1 AND key >= ?2 AND key < ?3) ORDER BY key`
const RUN = `SELECT ${RUN_CELLS} FROM workflow_run WHERE id = ?`

export function readsOn(connection: Connection): ExecutionQueries {
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
  const list = <Row>(rowOf: (cells: Cells) => Row, sql: string, ...values: Value[]) =>
    connection.readLong((on) =>
      on
        .statement(sql)
        .all(...values)
        .map(rowOf),
    )
  const count = (on: Reading, table: string, { where, values }: Where, atMost: number): number => {
    const sql = `SELECT count(*) FROM (SELECT 1 FROM ${table} ${where} LIMIT ?)`
    return on.statement(sql).get(...values, atMost)?.[0] as number
  }
  const counts = (sql: string, ...values: Value[]) =>
    connection.readLong(
      (on) =>
        new Map(
          on
            .statement(sql)
            .all(...values)
            .map(([key, count]) => [key as string, count as number]),
        ),
    )

  return {
    trees: new SqliteTrees(connection),
    steps: stepsOn(connection),
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
    queuedBefore: async ({ slotKey, queuedAt, id, atMost }) =>
      (await row(([n]) => n as number, QUEUED_BEFORE, slotKey, queuedAt, id, atMost)) ?? 0,
    heldBy: (sessionId) =>
      rows(runOf, `SELECT ${RUN_CELLS} FROM workflow_run WHERE session_id = ? AND status = 'leased'`, sessionId),
    instance: (id) => row(instanceOf, `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE id = ?`, id),
    net: (hash) => row(netOf, `SELECT ${NET_CELLS} FROM workflow_net WHERE hash = ?`, hash),
    listInstances: (query) => {
      const { where, values } = instanceFilter(query)
      return list(
        instanceOf,
        `SELECT ${INSTANCE_CELLS} FROM workflow_instance ${where} ORDER BY id DESC LIMIT ? OFFSET ?`,
        ...values,
        query.limit,
        query.offset ?? 0,
      )
    },
    countListedInstances: (query, atMost) =>
      connection.readLong((on) => count(on, 'workflow_instance', instanceFilter(query), atMost)),
    listRuns: (query) =>
      connection.readLong((on) => {
        const filter = runFilter(query, readClock(on))
        const { where, order, page } =
          query.sort == null ? newestRuns(filter.where) : sortedRuns(filter.where, query.sort)
        const sql =
          query.maxBytes === undefined
            ? `SELECT ${RUN_CELLS} FROM workflow_run ${where} ORDER BY ${order} ${page}`
            : shownRuns({ where, order, page, maxBytes: query.maxBytes })
        return on
          .statement(sql)
          .all(...filter.values, query.limit, query.offset ?? 0)
          .map(runOf)
      }),
    countListedRuns: (query, atMost) =>
      connection.readLong((on) => count(on, 'workflow_run', runFilter(query, readClock(on)), atMost)),
    listInbox: (query) => connection.readLong((on) => listInbox(on, query)),
    typeDepths: () => connection.readLong(typeDepths),
    queueCounts: ({ queue }) => connection.readLong((on) => queueCounts(on, queue)),
    totals: (params) => connection.readLong((on) => totals(on, params)),
    countInstances: () => counts('SELECT state, count(*) FROM workflow_instance GROUP BY state'),
    countRuns: ({ queue }) =>
      queue === null
        ? counts('SELECT status, count(*) FROM workflow_run WHERE deleted_at IS NULL GROUP BY status')
        : counts(
            'SELECT status, count(*) FROM workflow_run WHERE deleted_at IS NULL AND queue = ? GROUP BY status',
            queue,
          ),
    instanceRuns: ({ instanceId, limit, after, maxBytes }) => {
      const page = { where: 'WHERE instance_id = ? AND id > ?', order: 'id', page: 'LIMIT ?' }
      if (maxBytes !== undefined) return list(runOf, shownRuns({ ...page, maxBytes }), instanceId, after ?? '', limit)
      const sql = `SELECT ${RUN_CELLS} FROM workflow_run ${page.where} ORDER BY ${page.order} ${page.page}`
      return rows(runOf, sql, instanceId, after ?? '', limit)
    },
    children: (instanceId, limit = -1) =>
      rows(
        instanceOf,
        `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE parent_id = ? ORDER BY id LIMIT ?`,
        instanceId,
        limit,
      ),
    slots: ({ instanceId, prefix, maxBytes }) =>
      maxBytes === undefined
        ? rows(slotOf, SLOTS_WITH, instanceId, prefix, prefix + LAST)
        : rows(slotOf, SHOWN_SLOTS, instanceId, prefix, prefix + LAST, maxBytes),
    slot: ({ instanceId, key }) =>
      row(
        ([value]) => value as string,
        'SELECT value FROM workflow_slot WHERE instance_id = ? AND key = ?',
        instanceId,
        key,
      ),
    results: ({ instanceId, nodes, maxBytes }) =>
      connection.read(() =>
        maxBytes === undefined
          ? new Map(nodes.map((node) => [`${instanceId}/${node}`, resultOf(connection, instanceId, node).text]))
          : shownResults(connection, instanceId, nodes, maxBytes),
      ),
    resultAt: (wanted) => connection.read(() => resultAt(connection, wanted)),
    instanceEvents: ({ instanceId, afterSeq, limit }) =>
      connection.read(() => {
        const select = 'SELECT * FROM workflow_event WHERE instance_id = ? AND seq > ? ORDER BY seq LIMIT ?'
        return eventsWithin(connection, select, 'seq', instanceId, afterSeq, limit).events
      }),
    progress: ({ instanceIds }) =>
      connection.read(() => {
        const found = new Map<string, Progress>()
        for (const id of instanceIds) {
          const cells = connection.statement('SELECT event_seq, state FROM workflow_instance WHERE id = ?').get(id)
          if (cells !== undefined) found.set(id, { eventSeq: cells[0] as number, state: cells[1] as InstanceState })
        }
        return found
      }),
    runHistory: (runId) => list(eventOf, HISTORY, runId),
    runHistoryPage: ({ runId, after, limit }) => list(eventOf, HISTORY_PAGE, runId, limit, after),
    histories: ({ runIds }) => connection.readLong((on) => histories(on, runIds)),
    leasesLost: ({ runIds }) => connection.read(() => leasesLost(connection, runIds)),
    errorsOf: (params) => connection.read(() => errorsOf(connection, params)),
    // With one writer at a time no transaction in flight can have a smaller id than a committed one.
    feed: ({ afterId, limit }) =>
      connection.read(() => {
        const select = 'SELECT * FROM workflow_event WHERE id > ? ORDER BY id LIMIT ?'
        return eventsWithin(connection, select, 'id', afterId, limit).events
      }),
    events: (query) => connection.readLong((on) => eventPage(on, query)),
    feedEnd: () => connection.read(() => feedEnd(connection)),
    feedStart: () => connection.read(() => feedStart(connection)),
    gate: (id) => row(gateOf, `SELECT ${GATE_CELLS} FROM workflow_gate WHERE id = ?`, id),
    shownGates: ({ instanceId, limit }) => {
      const page = { where: "WHERE state = 'open' AND instance_id = ?", order: 'id', page: 'LIMIT ?' }
      return list(gateOf, shownGates(page), instanceId, limit)
    },
    openGates: ({ instanceId, limit }) =>
      instanceId === null
        ? rows(gateOf, `SELECT ${GATE_CELLS} FROM workflow_gate WHERE state = 'open' ORDER BY id LIMIT ?`, limit)
        : rows(
            gateOf,
            `SELECT ${GATE_CELLS} FROM workflow_gate WHERE state = 'open' AND instance_id = ? ORDER BY id LIMIT ?`,
            instanceId,
            limit,
          ),
    listGates: (query) => {
      const { where, values } = gateFilter(query)
      return list(gateOf, shownGates({ where, order: 'id DESC', page: 'LIMIT ?' }), ...values, query.limit)
    },
    queues: () => connection.readLong(queuesWithCounts),
    queuesPaused: async () =>
      new Map(
        await rows(
          ([name, paused]): [string, boolean] => [name as string, paused === 1],
          'SELECT name, paused FROM workflow_queue',
        ),
      ),
    limits: () => rows(limitOf, `SELECT ${LIMIT_CELLS} FROM workflow_limit ORDER BY key`),
    workers: () => rows(workerOf, `SELECT ${WORKER_CELLS} FROM workflow_worker ORDER BY id`),
    schedules: () => {
      const template = shownJson('template', `octet_length(template) <= ${TEMPLATE_BYTES}`)
      return rows(scheduleOf, `SELECT ${SCHEDULE_CELLS.replace('template', template)} FROM workflow_cron ORDER BY name`)
    },
    schedule: (name) => row(scheduleOf, `SELECT ${SCHEDULE_CELLS} FROM workflow_cron WHERE name = ?`, name),
    checkpoint: (runId) =>
      row(
        ([state, sequence]) => ({ state: state as string, sequence: sequence as number }),
        'SELECT state, sequence FROM workflow_checkpoint WHERE run_id = ? AND state IS NOT NULL',
        runId,
      ),
    doctor: () => connection.readLong(findViolations),
  }
}

const SORTS = { created: 'id', due: 'run_at', priority: 'priority' } as const

interface RunsPage {
  readonly where: string
  readonly order: string
  readonly page: string
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
