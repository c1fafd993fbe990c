/** Finds due work, and makes small writes that touch no instance. */
import { sleep } from '../../../kernel/sleep.ts'
import type { GateRow, ScheduleRow, WorkerRow } from '../../../model/rows.ts'
import type { DebounceRow } from '../../../model/schedules/debounce.ts'
import type { Beat, RunKey, Sweeps } from '../../sweeps.ts'
import { gateFrom, scheduleFrom } from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { numberArray, textArray, uuidArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { LOCK_WAIT_MS, STEPWISE } from '../connection/settings.ts'
import type { Fields, Statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { isUuid } from '../connection/uuid.ts'
import type { Recent } from '../recent.ts'
import { DUE_DEBOUNCES, debounceFrom } from '../tables/debounce.ts'
import { BEAT, BEAT_LEASE, KEEP_ALIVE } from './beat.ts'
import { clockWentBack } from './clock-back.ts'
import * as due from './due.ts'
import * as held from './held.ts'
import { type PruneParams, prunable, prune } from './prune.ts'
import { recountLimits } from './recount.ts'
import { addTotals } from './totals.ts'

const runKeyFrom = (fields: Fields): RunKey => ({
  id: fields[0] as string,
  rootId: fields[1] as string | null,
  instanceId: fields[2] as string | null,
})

const instanceKeyFrom = (fields: Fields) => ({ id: fields[0] as string, rootId: fields[1] as string })

function aboutWorker(worker: WorkerRow): string[] {
  const { id, name, host, pid, runtime, queues, types, concurrency, state } = worker
  return [
    id,
    name,
    host,
    String(pid),
    runtime,
    JSON.stringify(queues),
    JSON.stringify(types),
    String(concurrency),
    state,
  ]
}

interface Start {
  readonly id: string
  readonly epoch: number
  readonly at: number
}

/** A start whose row is locked is recorded later. */
const LOCKED_PAUSE_MS = 250

const lockableFrom = (fields: Fields) => ({ id: fields[0] as string, locked: fields[1] === 't' })

interface Limited {
  readonly limit: number
}

/**
 * Finding due work has a connection of its own, as do renewals of leases, which may wait for a locked run, and beats,
 * which must not: however many callers read, no timer is late and no session dies because of them.
 */
export interface SweepLanes {
  readonly timers: Lanes
  readonly holds: Lanes
  readonly beats: Lanes
  readonly reads: Lanes
  /** Shared with reads that may take long: statistics are not urgent. */
  readonly lists: Lanes
  readonly recent: Recent
}

export class PostgresSweeps implements Sweeps {
  readonly #timers: Lanes
  readonly #holds: Lanes
  readonly #beats: Lanes
  readonly #lanes: Lanes
  readonly #lists: Lanes
  readonly #recent: Recent

  constructor(params: SweepLanes) {
    this.#timers = params.timers
    this.#holds = params.holds
    this.#beats = params.beats
    this.#lanes = params.reads
    this.#lists = params.lists
    this.#recent = params.recent
  }

  async beat(params: { readonly worker: WorkerRow; readonly ttlMs: number }): Promise<Beat> {
    const { worker, ttlMs } = params
    const values = [...aboutWorker(worker), String(worker.startedAt), worker.tenant, String(ttlMs), worker.build]
    const row = (fields: Fields): Beat => ({
      state: fields[0] as WorkerRow['state'],
      stop: JSON.parse(fields[1] as string),
    })
    return (await askOne(this.#beats, { statement: BEAT, values, row })) as Beat
  }

  async lostRuns(params: Limited): Promise<readonly RunKey[]> {
    const over = await ask(this.#timers, { statement: due.BURY_SESSIONS, row: (fields) => fields[0] as string })
    if (over.length > 0) {
      const row = (fields: Fields): string => fields[0] as string
      this.#recent.forgetRuns(await ask(this.#timers, { statement: due.BURY_HOLDERS, values: [textArray(over)], row }))
    }
    return this.#limited(due.LOST_RUNS, params, runKeyFrom)
  }

  expiredLeases(params: Limited): Promise<readonly RunKey[]> {
    return this.#limited(due.EXPIRED_LEASES, params, runKeyFrom)
  }

  overdueRuns(params: Limited): Promise<readonly RunKey[]> {
    return this.#limited(due.OVERDUE_RUNS, params, runKeyFrom)
  }

  overdueInstances(params: Limited): Promise<readonly { readonly id: string; readonly rootId: string }[]> {
    return this.#limited(due.OVERDUE_INSTANCES, params, instanceKeyFrom)
  }

  overdueGates(params: Limited): Promise<readonly GateRow[]> {
    return this.#limited(due.OVERDUE_GATES, params, gateFrom)
  }

  escalatingGates(params: Limited): Promise<readonly GateRow[]> {
    return this.#limited(due.ESCALATING_GATES, params, gateFrom)
  }

  unsettledRuns(params: Limited): Promise<readonly RunKey[]> {
    return this.#limited(due.UNSETTLED_RUNS, params, runKeyFrom)
  }

  foreignStarts(params: Limited): Promise<readonly RunKey[]> {
    return this.#limited(due.BEGUN_OUTSIDE, params, runKeyFrom)
  }

  unfinishedCascades(params: Limited): Promise<readonly { readonly id: string; readonly rootId: string }[]> {
    return this.#limited(due.UNFINISHED_CASCADES, params, instanceKeyFrom)
  }

  freeQuotas(params: Limited): Promise<readonly string[]> {
    return this.#limited(due.FREE_QUOTAS, params, (fields) => fields[0] as string)
  }

  nextQueued(
    params: Limited & { readonly key: string; readonly skip: readonly string[] },
  ): Promise<readonly { readonly id: string; readonly netHash: string }[]> {
    const values = [params.key, String(params.limit), uuidArray(params.skip)]
    const row = (fields: Fields) => ({ id: fields[0] as string, netHash: fields[1] as string })
    return ask(this.#timers, { statement: due.NEXT_QUEUED, values, row })
  }

  dueSchedules(params: Limited): Promise<readonly ScheduleRow[]> {
    return this.#limited(due.DUE_SCHEDULES, params, scheduleFrom)
  }

  dueDebounces(params: Limited): Promise<readonly DebounceRow[]> {
    return this.#limited(DUE_DEBOUNCES, params, debounceFrom)
  }

  async nextDueAt(after?: number): Promise<number | null> {
    return askOne(this.#timers, {
      statement: due.NEXT_DUE,
      values: [after === undefined ? null : String(after)],
      settings: STEPWISE,
      row: (fields) => (fields[0] ? parseTime(fields[0]) : null),
    })
  }

  async started(params: { readonly runs: readonly Start[] }): Promise<readonly string[]> {
    const { runs } = params
    if (runs.length === 0) return []
    this.#recent.forgetRuns(runs.map((run) => run.id))
    const values = [
      uuidArray(runs.map((run) => run.id)),
      numberArray(runs.map((run) => run.epoch)),
      numberArray(runs.map((run) => run.at)),
    ]
    const found = await ask(this.#holds, { statement: held.STARTED, values, row: lockableFrom })
    const locked = new Set(found.filter((run) => run.locked).map((run) => run.id))
    if (locked.size > 0) this.#startedLater(runs.filter((run) => locked.has(run.id)))
    return found.flatMap((run) => (run.locked ? [] : [run.id]))
  }

  /** Not awaited. A run that has ended meanwhile is no longer found; closing the store ends it too. */
  #startedLater(runs: readonly Start[]): void {
    setTimeout(() => void this.started({ runs }).catch(() => undefined), LOCKED_PAUSE_MS).unref()
  }

  async extendLeases(params: {
    readonly holder: string | null
    readonly runIds: readonly string[]
    readonly leaseMs: number | null
    readonly epochs?: readonly number[]
  }): Promise<readonly string[]> {
    const ids = params.runIds.filter(isUuid)
    if (ids.length === 0) return []
    this.#recent.forgetRuns(ids)
    const epochs = params.epochs?.filter((_, at) => isUuid(params.runIds[at] ?? ''))
    const values = [
      uuidArray(ids),
      params.holder,
      params.leaseMs === null ? null : String(params.leaseMs),
      epochs === undefined ? null : numberArray(epochs),
    ]
    const extend = () => ask(this.#holds, { statement: held.EXTEND_LEASES, values, row: lockableFrom })
    const found = await extend()
    if (found.every((run) => !run.locked)) return found.map((run) => run.id)
    // A lease that stays locked is not extended, but its holder keeps it and renews it again soon.
    await sleep(LOCK_WAIT_MS)
    return (await extend()).map((run) => run.id)
  }

  async beatLease(params: { readonly worker: WorkerRow; readonly ttlMs: number }): Promise<WorkerRow['state']> {
    const { worker, ttlMs } = params
    const values = [...aboutWorker(worker), worker.tenant, String(ttlMs), worker.build]
    const row = (fields: Fields): WorkerRow['state'] => fields[0] as WorkerRow['state']
    return (await askOne(this.#beats, { statement: BEAT_LEASE, values, row })) ?? 'dead'
  }

  async keepAlive({ workerId }: { readonly workerId: string }): Promise<void> {
    await ask(this.#beats, { statement: KEEP_ALIVE, values: [workerId], row: () => null })
  }

  addTotals(params: Parameters<Sweeps['addTotals']>[0]): Promise<void> {
    return addTotals(this.#lists, params.totals)
  }

  async checkpoint(params: {
    readonly runId: string
    readonly epoch: number
    readonly state: string
  }): Promise<number | null> {
    const values = [params.runId, String(params.epoch), params.state]
    return askOne(this.#holds, { statement: held.CHECKPOINT, values, row: (fields) => Number(fields[0]) })
  }

  async progress(params: { readonly runId: string; readonly epoch: number; readonly value: string }): Promise<boolean> {
    const values = [params.runId, String(params.epoch), params.value]
    return (await askOne(this.#holds, { statement: held.PROGRESS, values, row: () => true })) ?? false
  }

  clockWentBack(params: { readonly known: boolean }): Promise<boolean> {
    return clockWentBack(this.#timers, params)
  }

  recountLimits(params: { readonly keys: readonly string[] }): Promise<void> {
    return recountLimits(this.#lanes, params.keys)
  }

  prunable(params: {
    readonly endedBefore: number
    readonly limit: number
  }): Promise<readonly { readonly id: string }[]> {
    return prunable(this.#timers, params)
  }

  prune(params: PruneParams): Promise<number> {
    return prune(this.#timers, params)
  }

  #limited<T>(statement: Statement, params: Limited, row: (fields: Fields) => T): Promise<T[]> {
    return ask(this.#timers, { statement, values: [String(params.limit)], row })
  }
}
