/** Instances, their nets, slots and results. */
import type { ExecutionQueries, Progress } from '../../../model/queries/queries.ts'
import { ALWAYS_BYTES } from '../../../model/shown.ts'
import type { InstanceState } from '../../../net/marking.ts'
import { resultAt, resultOf, shownResults } from '../load/results.ts'
import { LAST, SLOT, SLOTS_WITH } from '../load/slots.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import { NET_CELLS, netOf, slotOf } from '../row/narrow-rows.ts'
import { shownJson } from '../shown.ts'
import { countWhere, instanceFilter } from './filter.ts'
import type { Select } from './select.ts'

type InstanceQueries = Pick<
  ExecutionQueries,
  | 'instance'
  | 'net'
  | 'listInstances'
  | 'countListedInstances'
  | 'countInstances'
  | 'queuedBefore'
  | 'children'
  | 'progress'
>
type MarkingQueries = Pick<ExecutionQueries, 'slots' | 'slot' | 'results' | 'resultAt'>

const INSTANCE = `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE id = ?`
const CHILDREN = `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE parent_id = ? ORDER BY id LIMIT ?`
const NET = `SELECT ${NET_CELLS} FROM workflow_net WHERE hash = ?`
const PROGRESS = 'SELECT event_seq, state FROM workflow_instance WHERE id = ?'
const QUEUED_BEFORE = `SELECT count(*) FROM (SELECT 1 FROM workflow_instance INDEXED BY idx_workflow_instance_slot
  WHERE slot_key IS NOT NULL AND ended_at IS NULL AND slot_key = ? AND state = 'queued' AND (queued_at, id) < (?, ?) LIMIT ?)`
const SHOWN_SLOTS = `SELECT instance_id, key, ${shownJson('value', `(size <= ?4 OR octet_length(value) <= ${ALWAYS_BYTES})`)}
  FROM (SELECT *, sum(octet_length(value)) OVER (ORDER BY key ROWS UNBOUNDED PRECEDING) AS size FROM workflow_slot
    WHERE instance_id = ?1 AND key >= ?2 AND key < ?3) ORDER BY key`

export function instanceQueries(select: Select): InstanceQueries {
  const { connection } = select
  return {
    instance: (id) => select.row(instanceOf, INSTANCE, id),
    net: (hash) => select.row(netOf, NET, hash),
    listInstances: (query) => {
      const { where, values } = instanceFilter(query)
      const sql = `SELECT ${INSTANCE_CELLS} FROM workflow_instance ${where} ORDER BY id DESC LIMIT ? OFFSET ?`
      return select.list(instanceOf, sql, ...values, query.limit, query.offset ?? 0)
    },
    countListedInstances: (query, atMost) =>
      connection.readLong((on) => countWhere(on, 'workflow_instance', instanceFilter(query), atMost)),
    countInstances: () => select.counts('SELECT state, count(*) FROM workflow_instance GROUP BY state'),
    queuedBefore: async ({ quotaKey, queuedAt, id, atMost }) =>
      (await select.row(([n]) => n as number, QUEUED_BEFORE, quotaKey, queuedAt, id, atMost)) ?? 0,
    children: (instanceId, limit = -1) => select.rows(instanceOf, CHILDREN, instanceId, limit),
    progress: ({ instanceIds }) =>
      connection.read(() => {
        const found = new Map<string, Progress>()
        for (const id of instanceIds) {
          const cells = connection.statement(PROGRESS).get(id)
          if (cells !== undefined) found.set(id, { eventSeq: cells[0] as number, state: cells[1] as InstanceState })
        }
        return found
      }),
  }
}

export function markingQueries(select: Select): MarkingQueries {
  const { connection } = select
  return {
    slots: ({ instanceId, prefix, maxBytes }) =>
      maxBytes === undefined
        ? select.rows(slotOf, SLOTS_WITH, instanceId, prefix, prefix + LAST)
        : select.rows(slotOf, SHOWN_SLOTS, instanceId, prefix, prefix + LAST, maxBytes),
    slot: ({ instanceId, key }) => select.row(([value]) => value as string, SLOT, instanceId, key),
    results: ({ instanceId, nodes, maxBytes }) =>
      connection.read(() =>
        maxBytes === undefined
          ? new Map(nodes.map((node) => [`${instanceId}/${node}`, resultOf(connection, instanceId, node).text]))
          : shownResults(connection, instanceId, nodes, maxBytes),
      ),
    resultAt: (wanted) => connection.read(() => resultAt(connection, wanted)),
  }
}
