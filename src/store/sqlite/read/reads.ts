/** The read models, one statement each, outside any transaction. */

import type { Reads } from '../../reads.ts'
import type { RunRow } from '../../rows.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'
import { LAST, SLOTS_WITH } from '../load/loading.ts'
import { resultAt, resultOf } from '../load/results.ts'
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
import { eventPage, feedEnd, feedStart } from './feed.ts'
import { gateFilter, instanceFilter, runFilter, type Where } from './filter.ts'
import { errorsOf, HISTORY, histories } from './history.ts'
import { listInbox, typeDepths } from './inbox.ts'
import { queueCounts, queuesWithCounts, totals } from './queues.ts'
import { stepsOn } from './steps.ts'
import { SqliteTrees } from './trees.ts'

const QUEUED_BEFORE = `SELECT count(*) FROM (SELECT 1 FROM workflow_instance INDEXED BY idx_workflow_instance_slot
  WHERE slot_key IS NOT NULL AND ended_at IS NULL AND slot_key = ? AND state = 'queued' AND (queued_at, id) < (?, ?) LIMIT ?)`
const RUN = `SELECT ${RUN_CELLS} FROM workflow_run WHERE id = ?`

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
  const count = (table: string, { where, values }: Where, atMost: number): number => {
    const sql = `SELECT count(*) FROM (SELECT 1 FROM ${table} ${where} LIMIT ?)`
    return connection.statement(sql).get(...values, atMost)?.[0] as number
  }
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
      return rows(
        instanceOf,
        `SELECT ${INSTANCE_CELLS} FROM workflow_instance ${where} ORDER BY id DESC LIMIT ? OFFSET ?`,
        ...values,
        query.limit,
        query.offset ?? 0,
      )
    },
    countListedInstances: (query, atMost) =>
      connection.read(() => count('workflow_instance', instanceFilter(query), atMost)),
    listRuns: (query) =>
      connection.read(() => {
        const { where, values } = runFilter(query, readClock(connection))
        const sql = `SELECT ${RUN_CELLS} FROM workflow_run ${where} ORDER BY id DESC LIMIT ? OFFSET ?`
        return connection
          .statement(sql)
          .all(...values, query.limit, query.offset ?? 0)
          .map(runOf)
      }),
    countListedRuns: (query, atMost) =>
      connection.read(() => count('workflow_run', runFilter(query, readClock(connection)), atMost)),
    listInbox: (query) => connection.read(() => listInbox(connection, query)),
    typeDepths: () => connection.read(() => typeDepths(connection)),
    queueCounts: ({ queue }) => connection.read(() => queueCounts(connection, queue)),
    totals: (params) => connection.read(() => totals(connection, params)),
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
    children: (instanceId, limit = -1) =>
      rows(
        instanceOf,
        `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE parent_id = ? ORDER BY id LIMIT ?`,
        instanceId,
        limit,
      ),
    slots: ({ instanceId, prefix }) => rows(slotOf, SLOTS_WITH, instanceId, prefix, prefix + LAST),
    slot: ({ instanceId, key }) =>
      row(
        ([value]) => value as string,
        'SELECT value FROM workflow_slot WHERE instance_id = ? AND key = ?',
        instanceId,
        key,
      ),
    results: ({ instanceId, nodes }) =>
      connection.read(
        () => new Map(nodes.map((node) => [`${instanceId}/${node}`, resultOf(connection, instanceId, node).text])),
      ),
    resultAt: (wanted) => connection.read(() => resultAt(connection, wanted)),
    instanceEvents: ({ instanceId, afterSeq, limit }) =>
      rows(
        eventOf,
        `SELECT ${EVENT_CELLS} FROM workflow_event WHERE instance_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
        instanceId,
        afterSeq,
        limit,
      ),
    runHistory: (runId) => rows(eventOf, HISTORY, runId),
    histories: ({ runIds }) => connection.read(() => histories(connection, runIds)),
    errorsOf: (params) => connection.read(() => errorsOf(connection, params)),
    // With one writer at a time no transaction in flight can have a smaller id than a committed one.
    feed: ({ afterId, limit }) =>
      rows(eventOf, `SELECT ${EVENT_CELLS} FROM workflow_event WHERE id > ? ORDER BY id LIMIT ?`, afterId, limit),
    events: (query) => connection.read(() => eventPage(connection, query)),
    feedEnd: () => connection.read(() => feedEnd(connection)),
    feedStart: () => connection.read(() => feedStart(connection)),
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
    listGates: (query) => {
      const { where, values } = gateFilter(query)
      const sql = `SELECT ${GATE_CELLS} FROM workflow_gate ${where} ORDER BY id DESC LIMIT ?`
      return rows(gateOf, sql, ...values, query.limit)
    },
    queues: () => connection.read(() => queuesWithCounts(connection)),
    queuesPaused: async () =>
      new Map(
        await rows(
          ([name, paused]): [string, boolean] => [name as string, paused === 1],
          'SELECT name, paused FROM workflow_queue',
        ),
      ),
    limits: () => rows(limitOf, `SELECT ${LIMIT_CELLS} FROM workflow_limit ORDER BY key`),
    workers: () => rows(workerOf, `SELECT ${WORKER_CELLS} FROM workflow_worker ORDER BY id`),
    schedules: () => rows(scheduleOf, `SELECT ${SCHEDULE_CELLS} FROM workflow_cron ORDER BY name`),
    schedule: (name) => row(scheduleOf, `SELECT ${SCHEDULE_CELLS} FROM workflow_cron WHERE name = ?`, name),
    checkpoint: (runId) =>
      row(
        ([state, sequence]) => ({ state: state as string, sequence: sequence as number }),
        'SELECT state, sequence FROM workflow_checkpoint WHERE run_id = ? AND state IS NOT NULL',
        runId,
      ),
    doctor: () => connection.read(() => findViolations(connection)),
  }
}
