// @ts-check
/** The writer of the bare loop on SQLite: prepared statements, events sixteen to a statement. */
import { NAME, NET, SESSION, TYPE } from './rows.mjs'

const EVENTS = 16
const EVENT_ROW = '(?, ?, ?, ?, ?, ?, ?, 1)'

/** @param {any} database */
export function bareSqlite(database) {
  /** @param {string} sql */
  const prepared = (sql) => {
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    return statement
  }
  const startTransaction = prepared('BEGIN IMMEDIATE')
  const commit = prepared('COMMIT')
  const insertInstance = prepared(
    `INSERT INTO workflow_instance (id, root_id, depth, net_hash, name, dialect, state, phase, live, open, fires, event_seq,
       created_at) VALUES (?, ?, 1, ?, ?, ?, 'running', 'forward', 1, 1, 1, 2, ?)`,
  )
  const insertSlot = prepared(`INSERT INTO workflow_slot (instance_id, key, value) VALUES (?, 'a:0', ?)`)
  const insertRun = prepared(
    `INSERT INTO workflow_run (id, type, payload, status, run_at, leased_by, created_at, instance_id, root_id, node, fire,
       session_id, leased_at, report_id, updated_at, engine_turn)
     VALUES (?, ?, ?, 'leased', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`,
  )
  const finishRun = prepared(
    `UPDATE workflow_run SET status = 'succeeded', leased_by = NULL, result = ?, epoch = 1, session_id = NULL,
       leased_at = NULL, started_at = ?, first_started_at = ?, finished_at = ?, settled_at = ?, done_seq = ?,
       report_id = ?, updated_at = ?, engine_turn = NOT engine_turn WHERE id = ?`,
  )
  const advanceInstance = {
    first: prepared(
      'UPDATE workflow_instance SET fires = ?, succeeded = ?, event_seq = ?, started_at = ? WHERE id = ?',
    ),
    middle: prepared('UPDATE workflow_instance SET fires = ?, succeeded = ?, event_seq = ? WHERE id = ?'),
    last: prepared(
      `UPDATE workflow_instance SET fires = ?, succeeded = ?, event_seq = ?, ended_at = ?, state = 'completed',
         phase = 'ended', outcome = 'success', live = 0, open = 0 WHERE id = ?`,
    ),
  }
  const into =
    'INSERT INTO workflow_event (workflow_id, instance_id, seq, event_type, node, data, created_at, engine) VALUES'
  const insertEvent = prepared(`${into} ${EVENT_ROW}`)
  const insertEvents = prepared(`${into} ${Array(EVENTS).fill(EVENT_ROW).join(', ')}`)

  /** @param {readonly import('./rows.mjs').NewRun[]} runs @param {number} now */
  const writeRuns = (runs, now) => {
    for (const { id, payload, instanceId, node, fire, reportId } of runs) {
      insertRun.get(id, TYPE, payload, now, NAME, now, instanceId, instanceId, node, fire, SESSION, now, reportId, now)
    }
  }
  /** @param {readonly import('./rows.mjs').Event[]} events @param {number} now */
  const writeEvents = (events, now) => {
    const whole = events.length - (events.length % EVENTS)
    for (let first = 0; first < whole; first += EVENTS) {
      insertEvents.get(...events.slice(first, first + EVENTS).flatMap((event) => eventCells(event, now)))
    }
    for (const event of events.slice(whole)) insertEvent.get(...eventCells(event, now))
  }

  return {
    async prepare() {
      database
        .prepare('INSERT INTO workflow_net (hash, name, dialect, net) VALUES (?, ?, ?, ?)')
        .run(...Object.values(NET))
    },
    /** @param {import('./rows.mjs').Begin} rows */
    async begin({ now, instances, slot, runs, events }) {
      startTransaction.get()
      for (const { id } of instances) insertInstance.get(id, id, NET.hash, NET.name, NET.dialect, now)
      for (const { id } of instances) insertSlot.get(id, slot)
      writeRuns(runs, now)
      writeEvents(events, now)
      commit.get()
    },
    /** @param {import('./rows.mjs').Advance} rows */
    async advance({ now, at, instances, finished, runs, events }) {
      startTransaction.get()
      for (const { id, result, doneSeq, reportId } of finished) {
        finishRun.get(result, now, now, now, now, doneSeq, reportId, now, id)
      }
      for (const { id, fires, succeeded, seq } of instances) {
        if (at === 'middle') advanceInstance.middle.get(fires, succeeded, seq, id)
        else advanceInstance[at].get(fires, succeeded, seq, now, id)
      }
      writeRuns(runs, now)
      writeEvents(events, now)
      commit.get()
    },
    async close() {
      database.close()
    },
  }
}

/** @param {import('./rows.mjs').Event} event @param {number} now */
function eventCells({ runId, instanceId, seq, type, node, data }, now) {
  return [runId, instanceId, seq, type, node, data, now]
}
