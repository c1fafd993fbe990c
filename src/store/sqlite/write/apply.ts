/** Writes a delta. Loops over prepared statements: with one writer, sets or an order gain nothing. */
import { StoreConflictError } from '../../../kernel/store-errors.ts'
import { FAILURE } from '../../../model/errors/groups.ts'
import { FAIR_TURN } from '../../../model/queues/fair.ts'
import {
  type GateRow,
  INSTANCE,
  type InstanceRow,
  ITEM,
  LIMIT,
  QUEUE,
  RUN,
  type RunRow,
  SCHEDULE,
  UNIQUE,
  WORKER,
} from '../../../model/rows.ts'
import type { Delta } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'
import { storeFailure } from '../failure.ts'
import type { Loading } from '../load/loading.ts'
import { upserter } from '../row/put.ts'
import { RowWriter, storable } from '../row/writer.ts'
import { writeBulk } from '../tables/bulk.ts'
import { putCommand } from '../tables/commands.ts'
import { writeDebounces } from '../tables/debounce.ts'
import { putDefinition, restoreDefinition, retireDefinition, tagDefinition } from '../tables/definitions.ts'
import { putFire, REMOVE_FIRES } from '../tables/fires.ts'
import { putParked, putPause, removePause } from '../tables/pauses.ts'
import { insertEvents } from './events.ts'

const PUT_SLOT = `INSERT INTO workflow_slot (instance_id, key, value) VALUES (?, ?, ?)
  ON CONFLICT (instance_id, key) DO UPDATE SET value = excluded.value`
const REMOVE_SLOT = 'DELETE FROM workflow_slot WHERE instance_id = ? AND key = ?'
const KEEP_KEY = `INSERT OR IGNORE INTO workflow_kept_key (idempotency_key, run_id)
  SELECT idempotency_key, id FROM workflow_run WHERE id = ? AND idempotency_key IS NOT NULL`
/**
 * Only a run that has ended, and is not a step of a running workflow, can be deleted: a trigger enforces that for plain
 * SQL.
 */
const END_RUN = `UPDATE workflow_run SET status = iif(status = 'pending' OR status = 'leased', 'cancelled', status),
  instance_id = NULL, settled_at = coalesce(settled_at, 0), engine_turn = NOT engine_turn WHERE id = ?`
const REMOVE_RUN = [
  'run WHERE id',
  'checkpoint WHERE run_id',
  'unique WHERE run_id',
  'command WHERE run_id',
  'term WHERE id',
].map((place) => `DELETE FROM workflow_${place} = ?`)
const PUT_TERM = 'INSERT OR IGNORE INTO workflow_term (id, term, tenant) VALUES (?, ?, ?)'
const SIGNAL = `UPDATE workflow_run SET cancel_requested_at = ?, engine_turn = NOT engine_turn
  WHERE instance_id = ? AND status = 'leased' AND cancel_requested_at IS NULL`
const KEPT = 'SELECT run_id FROM workflow_kept_key WHERE idempotency_key = ?'
const INSERT_GATE = `INSERT INTO workflow_gate (id, instance_id, root_id, node, fire, scope, state, options, args, due_at,
  on_timeout, answer, answered_by, reason, votes, escalated, escalate_at, created_at, answered_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const UPDATE_GATE = `UPDATE workflow_gate SET state = ?, due_at = ?, answer = ?, answered_by = ?, reason = ?,
  votes = ?, escalated = ?, escalate_at = ?, answered_at = ? WHERE id = ?`

export class DeltaWriter {
  readonly #connection: Connection
  readonly #runs: RowWriter<RunRow>
  readonly #instances: RowWriter<InstanceRow>

  constructor(connection: Connection) {
    this.#connection = connection
    this.#runs = new RowWriter(connection, RUN, true)
    this.#instances = new RowWriter(connection, INSTANCE, false)
  }

  /** Updates come before inserts: a unique key may pass from a row that ends to one that begins. */
  apply(delta: Delta, loaded: Loading): void {
    const { instances, runs, slots, gates, events } = delta
    if (runs?.remove) for (const id of runs.remove) this.#removeRun(id)
    if (runs?.update) {
      for (const run of runs.update) {
        namingRow(run, nameRun, () => this.#runs.update(loaded.knownRuns.get(run.id), run, loaded.now))
      }
    }
    if (instances?.update) {
      for (const instance of instances.update) {
        this.#instances.update(loaded.knownInstances.get(instance.id), instance, loaded.now)
      }
    }
    if (instances?.insert) {
      for (const instance of instances.insert) {
        namingRow(instance, nameInstance, () => this.#instances.insert(instance, loaded.now))
      }
    }
    // Before the inserts: an undo or a final that follows from the stop must not be stopped with it.
    if (delta.signal) for (const id of delta.signal) this.#connection.statement(SIGNAL).get(loaded.now, id)
    if (runs?.insert) for (const run of runs.insert) namingRow(run, nameRun, () => this.#insertRun(run, loaded.now))
    if (slots?.remove)
      for (const { instanceId, key } of slots.remove) this.#connection.statement(REMOVE_SLOT).get(instanceId, key)
    if (slots?.put) {
      for (const { instanceId, key, value } of slots.put) {
        this.#connection.statement(PUT_SLOT).get(instanceId, storable(key, 'key'), storable(value, 'value'))
      }
    }
    if (gates?.insert) for (const gate of gates.insert) namingRow(gate, nameGate, () => this.#insertGate(gate))
    if (gates?.update) for (const gate of gates.update) this.#updateGate(gate)
    putRest(this.#connection, delta, loaded.now)
    for (const { id, term, tenant } of delta.terms ?? []) this.#connection.statement(PUT_TERM).get(id, term, tenant)
    if (events) insertEvents(this.#connection, events)
  }

  #insertRun(run: RunRow, now: number): void {
    if (run.idempotencyKey !== null) {
      const kept = this.#connection.statement(KEPT).get(run.idempotencyKey)
      if (kept !== undefined) {
        throw new StoreConflictError(
          'idempotency_key_kept',
          `idempotency key ${run.idempotencyKey} was used by run ${kept[0]}, which retention has removed`,
        )
      }
    }
    this.#runs.insert(run, now)
  }

  #removeRun(id: string): void {
    for (const sql of [KEEP_KEY, END_RUN, ...REMOVE_RUN]) this.#connection.statement(sql).get(id)
  }

  #insertGate(gate: GateRow): void {
    this.#connection
      .statement(INSERT_GATE)
      .get(
        gate.id,
        gate.instanceId,
        gate.rootId,
        gate.node,
        gate.fire,
        gate.scope,
        gate.state,
        gate.options,
        gate.args,
        gate.dueAt,
        gate.onTimeout,
        gate.answer,
        gate.answeredBy,
        gate.reason,
        gate.votes,
        gate.escalated,
        gate.escalateAt,
        gate.createdAt,
        gate.answeredAt,
      )
  }

  #updateGate(gate: GateRow): void {
    const { state, dueAt, answer, answeredBy, reason, votes, escalated, escalateAt, answeredAt } = gate
    this.#connection
      .statement(UPDATE_GATE)
      .get(state, dueAt, answer, answeredBy, reason, votes, escalated, escalateAt, answeredAt, gate.id)
  }
}

/** Runs a write; if it fails, the error names the row. */
function namingRow<Row>(row: Row, name: (row: Row) => string, write: () => void): void {
  try {
    write()
  } catch (error) {
    throw storeFailure(error, name(row))
  }
}

function nameRun(run: RunRow): string {
  const key = run.idempotencyKey === null ? '' : `, idempotency key ${run.idempotencyKey}`
  const place =
    run.instanceId === null ? '' : `, place ${run.instanceId}/${run.node}/${run.fire}/${run.item}/${run.role}`
  return `run ${run.id}${key}${place}`
}

function nameInstance(instance: InstanceRow): string {
  return `instance ${instance.id}${instance.startKey === null ? '' : `, start key ${instance.startKey}`}`
}

function nameGate(gate: GateRow): string {
  return `gate ${gate.id}, place ${gate.instanceId}/${gate.node}/${gate.fire}`
}

const putItem = upserter(ITEM, { keys: ['instance_id', 'node', 'fire', 'first'] })
const PUT_NET = 'INSERT OR IGNORE INTO workflow_net (hash, name, dialect, net) VALUES (?, ?, ?, ?)'
const INSERT_NAME = 'INSERT INTO workflow_name (name, root_id) VALUES (?, ?)'
const putQueue = upserter(QUEUE, { keys: ['name'] })
const putLimit = upserter(LIMIT, { keys: ['key'] })
const putFairTurn = upserter(FAIR_TURN, { keys: ['queue', 'priority', 'scope'] })
const putUnique = upserter(UNIQUE, { keys: ['key'] })
const REMOVE_UNIQUE = 'DELETE FROM workflow_unique WHERE key = ?'
const putWorker = upserter(WORKER, { keys: ['id'], kept: ['started_at'] })
const putFailure = upserter(FAILURE, { keys: ['id'] })
const putSchedule = upserter(SCHEDULE, { keys: ['name'], kept: ['created_at'] })
const REMOVE_SCHEDULE = 'DELETE FROM workflow_cron WHERE name = ?'

/** The rows that change rarely. */
function putRest(connection: Connection, delta: Delta, now: number): void {
  for (const chunk of delta.items ?? []) putItem(connection, chunk)
  for (const net of delta.nets ?? []) connection.statement(PUT_NET).get(net.hash, net.name, net.dialect, net.net)
  for (const { name, rootId } of delta.names ?? []) connection.statement(INSERT_NAME).get(name, rootId)
  for (const queue of delta.queues ?? []) putQueue(connection, queue)
  for (const limit of delta.limits ?? []) putLimit(connection, limit)
  for (const turn of delta.fairTurns ?? []) putFairTurn(connection, turn)
  for (const key of delta.uniques?.remove ?? []) connection.statement(REMOVE_UNIQUE).get(key)
  for (const unique of delta.uniques?.put ?? []) putUnique(connection, unique)
  for (const worker of delta.workers?.put ?? []) putWorker(connection, worker)
  const { put = [], retire = [], restore = [], tag = [] } = delta.definitions ?? {}
  for (const row of put) putDefinition(connection, row)
  for (const id of retire) retireDefinition(connection, id, now)
  for (const id of restore) restoreDefinition(connection, id)
  for (const { id, tags } of tag) tagDefinition(connection, id, tags)
  for (const key of delta.pauses?.remove ?? []) removePause(connection, key)
  for (const pause of delta.pauses?.put ?? []) putPause(connection, pause)
  for (const parked of delta.parked ?? []) putParked(connection, parked)
  for (const command of delta.commands?.put ?? []) putCommand(connection, command)
  for (const name of delta.schedules?.remove ?? []) {
    for (const sql of [REMOVE_SCHEDULE, REMOVE_FIRES]) connection.statement(sql).get(name)
  }
  for (const schedule of delta.schedules?.put ?? []) putSchedule(connection, schedule)
  for (const failure of delta.failures ?? []) putFailure(connection, failure)
  for (const fire of delta.fires ?? []) putFire(connection, fire)
  if (delta.debounces !== undefined) writeDebounces(connection, delta.debounces)
  if (delta.bulk !== undefined) writeBulk(connection, delta.bulk)
}
