// @ts-check
/**
 * The writer of the bare loop on Postgres: one statement per table over arrays, a transaction sent in one go (pg's
 * pipeline mode), plans and array format as Petrel uses them.
 */
import pg from 'pg'
import { NAME, NET, SESSION, TYPE } from './rows.mjs'

const SETTINGS =
  '-c synchronous_commit=on -c jit=off -c plan_cache_mode=force_generic_plan ' +
  '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c enable_sort=off'

const INSERT_RUNS = `INSERT INTO workflow.workflow_run (id, type, payload, status, run_at, leased_by, created_at,
    instance_id, root_id, node, fire, session_id, leased_at, report_id, engine_turn)
  SELECT x.id, $1, x.payload, 'leased', $2, $3, $2, x.instance_id, x.instance_id, x.node, x.fire, $4, $2, x.report_id, true
  FROM unnest($5::uuid[], $6::jsonb[], $7::uuid[], $8::text[], $9::int4[], $10::text[])
    x(id, payload, instance_id, node, fire, report_id)`
const INSERT_EVENTS = `INSERT INTO workflow.workflow_event (workflow_id, instance_id, seq, event_type, node, data, created_at, engine)
  SELECT x.workflow_id, x.instance_id, x.seq, x.event_type, x.node, x.data, $1, true
  FROM unnest($2::uuid[], $3::uuid[], $4::int4[], $5::text[], $6::text[], $7::jsonb[])
    x(workflow_id, instance_id, seq, event_type, node, data)`
const FINISH_RUNS = `UPDATE workflow.workflow_run r SET status = 'succeeded', leased_by = NULL, result = x.result, epoch = 1,
    session_id = NULL, leased_at = NULL, started_at = $1, first_started_at = $1, finished_at = $1, settled_at = $1,
    done_seq = x.done_seq, report_id = x.report_id, updated_at = now(), engine_turn = NOT r.engine_turn
  FROM unnest($2::uuid[], $3::jsonb[], $4::int4[], $5::text[]) x(id, result, done_seq, report_id) WHERE r.id = x.id`
const ADVANCE = (/** @type {string} */ more) => `UPDATE workflow.workflow_instance r
  SET fires = x.fires, succeeded = x.succeeded, event_seq = x.seq${more}
  FROM unnest($1::uuid[], $2::int4[], $3::int4[], $4::int4[]) x(id, fires, succeeded, seq) WHERE r.id = x.id`
const ADVANCE_INSTANCES = {
  first: ADVANCE(', started_at = $5::timestamptz'),
  middle: ADVANCE(''),
  last: ADVANCE(
    `, ended_at = $5::timestamptz, state = 'completed', phase = 'ended', outcome = 'success', live = 0, open = 0`,
  ),
}
const INSERT_INSTANCES = `INSERT INTO workflow.workflow_instance (id, root_id, depth, net_hash, name, dialect, state, phase,
    live, open, fires, event_seq, created_at)
  SELECT id, id, 1, $2, $3, $4, 'running', 'forward', 1, 1, 1, 2, $5 FROM unnest($1::uuid[]) x(id)`
const INSERT_SLOTS = `INSERT INTO workflow.workflow_slot (instance_id, key, value)
  SELECT id, 'a:0', $2::json FROM unnest($1::uuid[]) x(id)`

/** @param {{ url: string, internal: (path: string) => Promise<any> }} params */
export async function barePostgres({ url, internal }) {
  const { binaryArray } = await internal('insides.js')
  const client = new pg.Client({ connectionString: url, options: SETTINGS, .../** @type {{}} */ ({ pipeline: true }) })
  await client.connect()
  /** @param {string} text @param {unknown[]} [values] */
  const send = (text, values = []) => client.query({ name: nameOf(text), text, values })
  /** @param {readonly object[]} rows @param {...[key: string, kind: string]} columns */
  const arrays = (rows, ...columns) => columns.map(([key, kind]) => binaryArray(kind, rows, key))

  /** @param {readonly import('./rows.mjs').NewRun[]} runs @param {string} now */
  const writeRuns = (runs, now) =>
    send(INSERT_RUNS, [
      TYPE,
      now,
      NAME,
      SESSION,
      ...arrays(
        runs,
        ['id', 'uuid'],
        ['payload', 'jsonb'],
        ['instanceId', 'uuid'],
        ['node', 'text'],
        ['fire', 'int'],
        ['reportId', 'text'],
      ),
    ])
  /** @param {readonly import('./rows.mjs').Event[]} events @param {string} now */
  const writeEvents = (events, now) =>
    send(INSERT_EVENTS, [
      now,
      ...arrays(
        events,
        ['runId', 'uuid'],
        ['instanceId', 'uuid'],
        ['seq', 'int'],
        ['type', 'text'],
        ['node', 'text'],
        ['data', 'jsonb'],
      ),
    ])

  return {
    async prepare() {
      await send(
        'INSERT INTO workflow.workflow_net (hash, name, dialect, net) VALUES ($1, $2, $3, $4)',
        Object.values(NET),
      )
    },
    /** @param {import('./rows.mjs').Begin} rows */
    async begin({ now, instances, slot, runs, events }) {
      const at = new Date(now).toISOString()
      const [ids] = arrays(instances, ['id', 'uuid'])
      await Promise.all([
        send('BEGIN'),
        send(INSERT_INSTANCES, [ids, NET.hash, NET.name, NET.dialect, at]),
        send(INSERT_SLOTS, [ids, slot]),
        writeRuns(runs, at),
        writeEvents(events, at),
        send('COMMIT'),
      ])
    },
    /** @param {import('./rows.mjs').Advance} rows */
    async advance({ now, at, instances, finished, runs, events }) {
      const time = new Date(now).toISOString()
      const advanced = arrays(instances, ['id', 'uuid'], ['fires', 'int'], ['succeeded', 'int'], ['seq', 'int'])
      await Promise.all([
        send('BEGIN'),
        send(ADVANCE_INSTANCES[at], at === 'middle' ? advanced : [...advanced, time]),
        send(FINISH_RUNS, [
          time,
          ...arrays(finished, ['id', 'uuid'], ['result', 'jsonb'], ['doneSeq', 'int'], ['reportId', 'text']),
        ]),
        ...(runs.length === 0 ? [] : [writeRuns(runs, time)]),
        writeEvents(events, time),
        send('COMMIT'),
      ])
    },
    async close() {
      await client.end()
    },
  }
}

/** @type {Map<string, string>} */
const names = new Map()

/** @param {string} text */
function nameOf(text) {
  const known = names.get(text) ?? `bare_${names.size}`
  names.set(text, known)
  return known
}
