/** The rows that change rarely: items, nets, queues, limits, unique keys, workers, schedules, commands. All but items are upserts. */
import type { Delta } from '../../store.ts'
import type { Connection } from '../connection.ts'
import { aboutWorker } from '../row/others.ts'
import { storable } from '../row/writer.ts'
import { putCommand } from '../tables/commands.ts'
import { putDefinition, restoreDefinition, retireDefinition } from '../tables/definitions.ts'

const PUT_ITEMS = `INSERT INTO workflow_item (instance_id, node, fire, first, "values") VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (instance_id, node, fire, first) DO UPDATE SET "values" = excluded."values"`
const PUT_NET = 'INSERT OR IGNORE INTO workflow_net (hash, name, dialect, net) VALUES (?, ?, ?, ?)'
const INSERT_NAME = 'INSERT INTO workflow_name (name, root_id) VALUES (?, ?)'
const PUT_QUEUE = `INSERT INTO workflow_queue (name, paused) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`
const PUT_LIMIT = `INSERT INTO workflow_limit (key, max_concurrent, in_use, rate_per, period_ms, window_start, window_used)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET max_concurrent = excluded.max_concurrent, in_use = excluded.in_use,
    rate_per = excluded.rate_per, period_ms = excluded.period_ms, window_start = excluded.window_start,
    window_used = excluded.window_used`
const PUT_UNIQUE = `INSERT INTO workflow_unique (key, run_id, expires_at, states) VALUES (?, ?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET run_id = excluded.run_id, expires_at = excluded.expires_at, states = excluded.states`
const REMOVE_UNIQUE = 'DELETE FROM workflow_unique WHERE key = ?'
const PUT_WORKER = `INSERT INTO workflow_worker (id, name, host, pid, runtime, queues, types, concurrency, state, started_at,
  heartbeat_at, expires_at, tenant, holds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, host = excluded.host, pid = excluded.pid,
    runtime = excluded.runtime, queues = excluded.queues, types = excluded.types, concurrency = excluded.concurrency,
    state = excluded.state, heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at,
    tenant = excluded.tenant, holds = excluded.holds`
const PUT_SCHEDULE = `INSERT INTO workflow_cron (name, expression, timezone, overlap, enabled, template, next_at, last_at,
  last_id, fire_count, tenant, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET expression = excluded.expression, timezone = excluded.timezone,
    overlap = excluded.overlap, enabled = excluded.enabled, template = excluded.template, next_at = excluded.next_at,
    last_at = excluded.last_at, last_id = excluded.last_id, fire_count = excluded.fire_count, tenant = excluded.tenant`
const REMOVE_SCHEDULE = 'DELETE FROM workflow_cron WHERE name = ?'

export function putRest(connection: Connection, delta: Delta, now: number): void {
  for (const chunk of delta.items ?? []) {
    connection.statement(PUT_ITEMS).get(chunk.instanceId, chunk.node, chunk.fire, chunk.first, chunk.values)
  }
  for (const net of delta.nets ?? []) connection.statement(PUT_NET).get(net.hash, net.name, net.dialect, net.net)
  for (const { name, rootId } of delta.names ?? []) connection.statement(INSERT_NAME).get(name, rootId)
  for (const queue of delta.queues ?? []) connection.statement(PUT_QUEUE).get(queue.name, queue.paused ? 1 : 0)
  for (const limit of delta.limits ?? []) {
    connection
      .statement(PUT_LIMIT)
      .get(
        limit.key,
        limit.maxConcurrent,
        limit.inUse,
        limit.ratePer,
        limit.periodMs,
        limit.windowStart,
        limit.windowUsed,
      )
  }
  for (const key of delta.uniques?.remove ?? []) connection.statement(REMOVE_UNIQUE).get(key)
  for (const unique of delta.uniques?.put ?? []) {
    connection
      .statement(PUT_UNIQUE)
      .get(storable(unique.key, 'key'), unique.runId, unique.expiresAt, JSON.stringify(unique.states))
  }
  for (const worker of delta.workers?.put ?? []) {
    connection
      .statement(PUT_WORKER)
      .get(...aboutWorker(worker), worker.startedAt, worker.heartbeatAt, worker.expiresAt, worker.tenant, worker.holds)
  }
  const { put = [], retire = [], restore = [] } = delta.definitions ?? {}
  for (const row of put) putDefinition(connection, row)
  for (const id of retire) retireDefinition(connection, id, now)
  for (const id of restore) restoreDefinition(connection, id)
  for (const command of delta.commands?.put ?? []) putCommand(connection, command)
  for (const name of delta.schedules?.remove ?? []) connection.statement(REMOVE_SCHEDULE).get(name)
  for (const schedule of delta.schedules?.put ?? []) {
    connection
      .statement(PUT_SCHEDULE)
      .get(
        schedule.name,
        schedule.expression,
        schedule.timezone,
        schedule.overlap,
        schedule.enabled ? 1 : 0,
        schedule.template,
        schedule.nextAt,
        schedule.lastAt,
        schedule.lastId,
        schedule.fireCount,
        schedule.tenant,
        schedule.createdAt,
      )
  }
}
