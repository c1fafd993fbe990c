/** The rows that change rarely: items, nets, queues, limits, unique keys, workers, schedules, commands. All but items are upserts. */
import { ITEM, LIMIT, QUEUE, SCHEDULE, UNIQUE, WORKER } from '../../../model/rows.ts'
import type { Delta } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'
import { upserter } from '../row/put.ts'
import { putCommand } from '../tables/commands.ts'
import { putDefinition, restoreDefinition, retireDefinition } from '../tables/definitions.ts'

const putItem = upserter(ITEM, { keys: ['instance_id', 'node', 'fire', 'first'] })
const PUT_NET = 'INSERT OR IGNORE INTO workflow_net (hash, name, dialect, net) VALUES (?, ?, ?, ?)'
const INSERT_NAME = 'INSERT INTO workflow_name (name, root_id) VALUES (?, ?)'
const putQueue = upserter(QUEUE, { keys: ['name'] })
const putLimit = upserter(LIMIT, { keys: ['key'] })
const putUnique = upserter(UNIQUE, { keys: ['key'] })
const REMOVE_UNIQUE = 'DELETE FROM workflow_unique WHERE key = ?'
const putWorker = upserter(WORKER, { keys: ['id'], kept: ['started_at'] })
const putSchedule = upserter(SCHEDULE, { keys: ['name'], kept: ['created_at'] })
const REMOVE_SCHEDULE = 'DELETE FROM workflow_cron WHERE name = ?'

export function putRest(connection: Connection, delta: Delta, now: number): void {
  for (const chunk of delta.items ?? []) putItem(connection, chunk)
  for (const net of delta.nets ?? []) connection.statement(PUT_NET).get(net.hash, net.name, net.dialect, net.net)
  for (const { name, rootId } of delta.names ?? []) connection.statement(INSERT_NAME).get(name, rootId)
  for (const queue of delta.queues ?? []) putQueue(connection, queue)
  for (const limit of delta.limits ?? []) putLimit(connection, limit)
  for (const key of delta.uniques?.remove ?? []) connection.statement(REMOVE_UNIQUE).get(key)
  for (const unique of delta.uniques?.put ?? []) putUnique(connection, unique)
  for (const worker of delta.workers?.put ?? []) putWorker(connection, worker)
  const { put = [], retire = [], restore = [] } = delta.definitions ?? {}
  for (const row of put) putDefinition(connection, row)
  for (const id of retire) retireDefinition(connection, id, now)
  for (const id of restore) restoreDefinition(connection, id)
  for (const command of delta.commands?.put ?? []) putCommand(connection, command)
  for (const name of delta.schedules?.remove ?? []) connection.statement(REMOVE_SCHEDULE).get(name)
  for (const schedule of delta.schedules?.put ?? []) putSchedule(connection, schedule)
}
