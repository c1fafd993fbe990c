/** The narrow rows: what to select and how to read it. */
import { MAX_SHOWN_CHARACTERS } from '../../../kernel/limits.ts'
import type {
  GateRow,
  LimitRow,
  NetRow,
  QueueRow,
  ScheduleRow,
  SlotRow,
  StoredEvent,
  UniqueRow,
  WorkerRow,
} from '../../../model/rows.ts'
import { ALWAYS_BYTES, EVENT_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import type { Cells, Value } from '../driver.ts'
import { shownJson } from '../shown.ts'

export const SLOT_CELLS = 'instance_id, key, value'

export function slotOf(cells: Cells): SlotRow {
  return { instanceId: cells[0] as string, key: cells[1] as string, value: cells[2] as string }
}

export const GATE_CELLS = `id, instance_id, root_id, node, fire, scope, state, options, args, due_at, on_timeout, answer,
  answered_by, reason, votes, escalated, escalate_at, created_at, answered_at`

const LONG_OF_GATES = ['options', 'args', 'answer', 'votes']

/** Gates in this order; their long values until the sum exceeds PAGE_BYTES. Only sizes are read of the others. */
export function shownGates({ where, order, page }: { where: string; order: string; page: string }): string {
  const size = LONG_OF_GATES.map((name) => `coalesce(octet_length(${name}), 0)`).join(' + ')
  const columns = GATE_CELLS.split(/,\s*/).map((name) => {
    if (name === 'reason') return `substr(reason, 1, ${MAX_SHOWN_CHARACTERS})`
    if (!LONG_OF_GATES.includes(name)) return name
    return shownJson(name, `(shown_size <= ${PAGE_BYTES} OR octet_length(${name}) <= ${ALWAYS_BYTES})`)
  })
  return `SELECT ${columns.join(', ')} FROM (
    SELECT id AS shown_id, sum(size) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS shown_size
    FROM (SELECT id, ${size} AS size FROM workflow_gate ${where} ORDER BY ${order} ${page}))
    JOIN workflow_gate ON id = shown_id ORDER BY ${order}`
}

export function gateOf(cells: Cells): GateRow {
  return {
    id: cells[0] as string,
    instanceId: cells[1] as string,
    rootId: cells[2] as string,
    node: cells[3] as string,
    fire: cells[4] as number,
    scope: cells[5] as string,
    state: cells[6] as GateRow['state'],
    options: cells[7] as string,
    args: cells[8] as string | null,
    dueAt: cells[9] as number | null,
    onTimeout: cells[10] as GateRow['onTimeout'],
    answer: cells[11] as string | null,
    answeredBy: cells[12] as string | null,
    reason: cells[13] as string | null,
    votes: cells[14] as string,
    escalated: cells[15] as number,
    escalateAt: cells[16] as number | null,
    createdAt: cells[17] as number,
    answeredAt: cells[18] as number | null,
  }
}

export const NET_CELLS = 'hash, name, dialect, net'

export function netOf(cells: Cells): NetRow {
  return { hash: cells[0] as string, name: cells[1] as string, dialect: cells[2] as string, net: cells[3] as string }
}

export const QUEUE_CELLS = 'name, paused'

export function queueOf(cells: Cells): QueueRow {
  return { name: cells[0] as string, paused: cells[1] === 1 }
}

export const LIMIT_CELLS = 'key, max_concurrent, in_use, rate_per, period_ms, window_start, window_used'

export function limitOf(cells: Cells): LimitRow {
  return {
    key: cells[0] as string,
    maxConcurrent: cells[1] as number | null,
    inUse: cells[2] as number,
    ratePer: cells[3] as number | null,
    periodMs: cells[4] as number | null,
    windowStart: cells[5] as number,
    windowUsed: cells[6] as number,
  }
}

export const UNIQUE_CELLS = 'key, run_id, expires_at, states'

export function uniqueOf(cells: Cells): UniqueRow {
  return {
    key: cells[0] as string,
    runId: cells[1] as string,
    expiresAt: cells[2] as number | null,
    states: JSON.parse(cells[3] as string) as string[],
  }
}

export const WORKER_CELLS = `id, name, host, pid, runtime, queues, types, concurrency, state, started_at, heartbeat_at,
  expires_at, tenant, holds`

export function workerOf(cells: Cells): WorkerRow {
  return {
    id: cells[0] as string,
    name: cells[1] as string,
    host: cells[2] as string,
    pid: cells[3] as number,
    runtime: cells[4] as string,
    queues: JSON.parse(cells[5] as string) as string[],
    types: JSON.parse(cells[6] as string) as string[],
    concurrency: cells[7] as number,
    state: cells[8] as WorkerRow['state'],
    startedAt: cells[9] as number,
    heartbeatAt: cells[10] as number,
    expiresAt: cells[11] as number,
    tenant: cells[12] as string | null,
    holds: cells[13] as WorkerRow['holds'],
  }
}

/** The first nine cells: who it is and how it stands. */
export function aboutWorker(worker: WorkerRow): readonly Value[] {
  const { id, name, host, pid, runtime, queues, types, concurrency, state } = worker
  return [id, name, host, pid, runtime, JSON.stringify(queues), JSON.stringify(types), concurrency, state]
}

export const SCHEDULE_CELLS = `name, expression, timezone, overlap, enabled, template, next_at, last_at, last_id,
  fire_count, tenant, created_at`

export function scheduleOf(cells: Cells): ScheduleRow {
  return {
    name: cells[0] as string,
    expression: cells[1] as string,
    timezone: cells[2] as string,
    overlap: cells[3] as ScheduleRow['overlap'],
    enabled: cells[4] === 1,
    template: cells[5] as string,
    nextAt: cells[6] as number | null,
    lastAt: cells[7] as number | null,
    lastId: cells[8] as string | null,
    fireCount: cells[9] as number,
    tenant: cells[10] as string | null,
    createdAt: cells[11] as number,
  }
}

/** Data beyond its bound is a marker (../../shown.ts). */
export const EVENT_CELLS = `id, workflow_id, instance_id, seq, event_type, node, actor, tenant,
  ${shownJson('data', `octet_length(data) <= ${EVENT_BYTES}`)}, created_at`

export function eventOf(cells: Cells): StoredEvent {
  return {
    id: cells[0] as number,
    runId: cells[1] as string | null,
    instanceId: cells[2] as string | null,
    seq: cells[3] as number | null,
    type: cells[4] as string,
    node: cells[5] as string | null,
    actor: cells[6] as string | null,
    tenant: cells[7] as string | null,
    data: cells[8] as string | null,
    at: cells[9] as number,
  }
}
