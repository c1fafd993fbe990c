/** Rows for tests: complete, so that a test names only the columns it is about. */
import { newId } from '../../src/kernel/ids.ts'
import type { EventRow } from '../../src/model/events/events.ts'
import {
  type GateRow,
  INSTANCE,
  type InstanceRow,
  type LimitRow,
  RUN,
  type RunRow,
  type ScheduleRow,
  type StoredEvent,
  type WorkerRow,
} from '../../src/model/rows.ts'
import { blank } from '../../src/model/table.ts'

/** A whole second, so that every store and format keeps it exactly. */
export const T0 = 1_790_000_000_000

export { newId }

const blankRun = blank(RUN)
const blankInstance = blank(INSTANCE)

export function aRun(given: Partial<RunRow> = {}): RunRow {
  return { ...blankRun(), id: newId(), type: 'mail.send', payload: '{}', runAt: T0, createdAt: T0, ...given }
}

/** Held by a session since `leasedAt`. */
export function aLeasedRun(given: Partial<RunRow> & { readonly sessionId: string }): RunRow {
  return aRun({ status: 'leased', leasedBy: 'worker-1', leasedAt: T0, epoch: 1, ...given })
}

export function anInstance(given: Partial<InstanceRow> = {}): InstanceRow {
  const id = given.id ?? newId()
  const about = { netHash: 'hash-1', name: 'order', dialect: 'dag', createdAt: T0, startedAt: T0 }
  return {
    ...blankInstance(),
    ...about,
    id,
    rootId: id,
    state: 'running',
    phase: 'forward',
    live: 1,
    open: 1,
    fires: 1,
    ...given,
  }
}

export function anEndedInstance(given: Partial<InstanceRow> = {}): InstanceRow {
  return anInstance({ state: 'completed', phase: 'ended', outcome: 'success', live: 0, open: 0, endedAt: T0, ...given })
}

/** A run at a place of an instance. */
export function aStep(instance: InstanceRow, node: string, given: Partial<RunRow> = {}): RunRow {
  return aRun({ instanceId: instance.id, rootId: instance.rootId, node, fire: 1, ...given })
}

export function aGate(instance: InstanceRow, given: Partial<GateRow> = {}): GateRow {
  return {
    id: newId(),
    instanceId: instance.id,
    rootId: instance.rootId,
    node: 'approve',
    fire: 1,
    scope: '',
    state: 'open',
    options: '{"roles":["boss"]}',
    args: null,
    dueAt: null,
    onTimeout: 'reject',
    answer: null,
    answeredBy: null,
    reason: null,
    votes: '[]',
    escalated: 0,
    escalateAt: null,
    createdAt: T0,
    answeredAt: null,
    ...given,
  }
}

export function aLimit(key: string, given: Partial<LimitRow> = {}): LimitRow {
  return {
    key,
    maxConcurrent: 1,
    inUse: 0,
    ratePer: null,
    periodMs: null,
    windowStart: 0,
    windowUsed: 0,
    ...given,
  }
}

export function aWorker(given: Partial<WorkerRow> = {}): WorkerRow {
  return {
    id: newId(),
    name: 'worker-1',
    host: 'here',
    pid: 1,
    runtime: 'node',
    queues: ['default'],
    types: ['mail.%'],
    concurrency: 10,
    state: 'running',
    startedAt: T0,
    heartbeatAt: T0,
    expiresAt: T0 + 30_000,
    tenant: null,
    holds: 'session',
    build: null,
    ...given,
  }
}

/** Also of types that the engine does not know. */
export function anEvent(given: Partial<StoredEvent> & { readonly type: string }): EventRow {
  return {
    runId: null,
    instanceId: null,
    seq: null,
    node: null,
    actor: null,
    tenant: null,
    data: null,
    at: T0,
    ...given,
  } as EventRow
}

export function aSchedule(name: string, given: Partial<ScheduleRow> = {}): ScheduleRow {
  return {
    name,
    expression: '0 * * * *',
    timezone: 'UTC',
    overlap: 'skip',
    enabled: true,
    template: '{"run":{"type":"mail.send"}}',
    nextAt: T0,
    lastAt: null,
    lastId: null,
    fireCount: 0,
    tenant: null,
    createdAt: T0,
    ...given,
  }
}
