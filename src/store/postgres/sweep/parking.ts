/**
 * Parks what waits in a paused tree, and releases it after the pause, a portion per transaction. Each holds the lock of the
 * root, so no fold sees half of a portion. A cursor passes every row once: `<instance>/<run>` while runs are parked, then
 * `members/<instance>`. What begins to wait behind the cursor was parked by the transaction that made it wait.
 */
import type pg from 'pg'
import type { PausePortion, PauseRow } from '../../../model/pauses/pauses.ts'
import { PARKED_AT } from '../../../model/rows.ts'
import { decoder, PAUSE, selectList } from '../columns.ts'
import { toStoreError } from '../connection/failure.ts'
import { fly } from '../connection/flight.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Call, type Fields, statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'
import { LOCK_ROOTS } from '../load/locked.ts'

const BEGIN: Call = { statement: statement('BEGIN'), values: [] }
const COMMIT: Call = { statement: statement('COMMIT'), values: [] }
const ROLLBACK: Call = { statement: statement('ROLLBACK'), values: [] }

const PARKED = `to_timestamp(${PARKED_AT / 1000})`
const PAUSED = statement(
  `SELECT ${selectList(PAUSE, 'p')} FROM workflow.workflow_pause p WHERE p.kind = 'instance' AND p.key = $1`,
)
const pauseFrom: (fields: Fields) => PauseRow = decoder(PAUSE)

/** The members of the tree, with its root. Below a locked root nothing else creates or ends one. */
const MEMBERS = `member AS MATERIALIZED (
    SELECT $1::uuid AS id
    UNION ALL
    SELECT i.id FROM workflow.workflow_instance i WHERE i.root_id = $1::uuid AND i.parent_id IS NOT NULL AND i.ended_at IS NULL
  )`
const OF_PAUSE = `pause AS MATERIALIZED (
    SELECT p.key, p.paused_at, p.resumed_at, p.timeouts = 'stop' AS stops FROM workflow.workflow_pause p
    WHERE p.kind = 'instance' AND p.key = $1::uuid::text
  )`

/**
 * $1 root, $2 and $3 instance and run of the cursor, $4 limit. As in load/locked.ts, the condition on status is repeated
 * in a form that no index fits: a run may be claimed before it is locked.
 */
const PARK_RUNS = statement(
  `WITH ${OF_PAUSE}, ${MEMBERS},
   picked AS MATERIALIZED (
     SELECT m.id AS instance_id, c.id FROM (
       SELECT m.id FROM member m WHERE $2::uuid IS NULL OR m.id >= $2::uuid ORDER BY m.id OFFSET 0) m
     CROSS JOIN LATERAL (
       SELECT r.id FROM workflow.workflow_run r
       WHERE r.status = 'pending' AND r.instance_id = m.id AND ($2::uuid IS NULL OR m.id > $2::uuid OR r.id > $3::uuid)
       ORDER BY r.id LIMIT $4::int4) c
     ORDER BY m.id, c.id LIMIT $4::int4
   ), held AS MATERIALIZED (
     SELECT r.id, r.run_at, r.expires_at, r.timeout_at FROM workflow.workflow_run r
     WHERE r.id = ANY (ARRAY (SELECT k.id FROM picked k)) AND r.status || '' = 'pending' AND r.run_at < ${PARKED}
     ORDER BY r.id FOR UPDATE
   ), kept AS (
     INSERT INTO workflow.workflow_parked (owner, id, kind, since, run_at, expires_at, timeout_at)
     SELECT p.key, h.id, 'run', p.paused_at, h.run_at, CASE WHEN p.stops THEN h.expires_at END, CASE WHEN p.stops THEN h.timeout_at END
     FROM held h CROSS JOIN pause p
     ON CONFLICT (owner, id) DO UPDATE SET kind = excluded.kind, since = excluded.since, run_at = excluded.run_at,
       expires_at = excluded.expires_at, timeout_at = excluded.timeout_at
   ), moved AS (
     UPDATE workflow.workflow_run r SET run_at = ${PARKED},
       expires_at = CASE WHEN p.stops THEN NULL ELSE r.expires_at END,
       timeout_at = CASE WHEN p.stops THEN NULL ELSE r.timeout_at END, engine_turn = NOT r.engine_turn
     FROM held h CROSS JOIN pause p WHERE r.id = h.id
   )
   SELECT k.instance_id, k.id, (SELECT count(*) FROM picked) FROM picked k ORDER BY k.instance_id DESC, k.id DESC LIMIT 1`,
)

/** Timeouts of work that no worker holds. $1 root. */
const PARK_DEFERRED = statement(
  `WITH ${OF_PAUSE}, held AS MATERIALIZED (
     SELECT r.id, r.timeout_at FROM workflow.workflow_run r
     WHERE ${LEASED} AND r.session_id IS NULL AND r.deferred AND r.root_id = $1::uuid AND r.timeout_at IS NOT NULL
     ORDER BY r.id FOR UPDATE
   ), kept AS (
     INSERT INTO workflow.workflow_parked (owner, id, kind, since, timeout_at)
     SELECT p.key, h.id, 'run', p.paused_at, h.timeout_at FROM held h CROSS JOIN pause p
     ON CONFLICT (owner, id) DO UPDATE SET since = excluded.since, run_at = NULL, expires_at = NULL, timeout_at = excluded.timeout_at
   )
   UPDATE workflow.workflow_run r SET timeout_at = NULL, engine_turn = NOT r.engine_turn FROM held h WHERE r.id = h.id`,
)

/** Deadlines and gates of the next members. $1 root, $2 the member before, $3 limit. */
const PARK_MEMBERS = statement(
  `WITH ${OF_PAUSE}, ${MEMBERS},
   picked AS MATERIALIZED (
     SELECT m.id FROM member m WHERE $2::uuid IS NULL OR m.id > $2::uuid ORDER BY m.id LIMIT $3::int4
   ), due AS MATERIALIZED (
     SELECT i.id, i.deadline_at, i.phase FROM workflow.workflow_instance i
     WHERE i.id = ANY (ARRAY (SELECT k.id FROM picked k)) AND i.ended_at IS NULL AND i.deadline_at IS NOT NULL
   ), kept AS (
     INSERT INTO workflow.workflow_parked (owner, id, kind, since, deadline_at, phase)
     SELECT p.key, d.id, 'instance', p.paused_at, d.deadline_at, d.phase FROM due d CROSS JOIN pause p
     ON CONFLICT (owner, id) DO UPDATE SET since = excluded.since, deadline_at = excluded.deadline_at, phase = excluded.phase
   ), moved AS (
     UPDATE workflow.workflow_instance i SET deadline_at = NULL FROM due d WHERE i.id = d.id
   ), gate AS MATERIALIZED (
     SELECT g.id, g.due_at, g.escalate_at FROM workflow.workflow_gate g
     WHERE g.instance_id = ANY (ARRAY (SELECT k.id FROM picked k)) AND g.state || '' = 'open'
       AND (g.due_at IS NOT NULL OR g.escalate_at IS NOT NULL)
   ), kept_gate AS (
     INSERT INTO workflow.workflow_parked (owner, id, kind, since, due_at, escalate_at)
     SELECT p.key, g.id, 'gate', p.paused_at, g.due_at, g.escalate_at FROM gate g CROSS JOIN pause p
     ON CONFLICT (owner, id) DO UPDATE SET since = excluded.since, due_at = excluded.due_at, escalate_at = excluded.escalate_at
   ), moved_gate AS (
     UPDATE workflow.workflow_gate g SET due_at = NULL, escalate_at = NULL FROM gate o WHERE g.id = o.id
   )
   SELECT max(k.id::text), count(*) FROM picked k`,
)
const NOTE = statement(
  `UPDATE workflow.workflow_pause p SET cursor = $2, state = $3 WHERE p.kind = 'instance' AND p.key = $1`,
)

/**
 * $1 root, $2 limit. Times that stood still move by the length of their standstill; a run that was due then keeps its
 * place. A timeout over all attempts is longer by it, since it is counted again from the first start. The entries are
 * picked before they meet the pause: a join would sort all that are left, in every portion.
 */
const RELEASE = statement(
  `WITH ${OF_PAUSE}, picked AS MATERIALIZED (
     SELECT k.*, p.stops, greatest(k.since, p.paused_at) AS stood,
       CASE WHEN p.stops THEN greatest(p.resumed_at - greatest(k.since, p.paused_at), interval '0') ELSE interval '0' END AS shift
     FROM pause p CROSS JOIN (
       SELECT k.* FROM workflow.workflow_parked k WHERE k.owner = $1::uuid::text ORDER BY k.id LIMIT $2::int4) k
   ), held AS MATERIALIZED (
     SELECT r.id FROM workflow.workflow_run r
     WHERE r.id = ANY (ARRAY (SELECT k.id FROM picked k WHERE k.kind = 'run')) ORDER BY r.id FOR UPDATE
   ), run AS (
     UPDATE workflow.workflow_run r SET
       run_at = CASE WHEN r.status = 'leased' THEN r.run_at
         WHEN k.run_at > k.stood AND k.run_at < '9999-01-01 00:00:00+00' THEN k.run_at + k.shift ELSE k.run_at END,
       expires_at = coalesce(k.expires_at + k.shift, r.expires_at),
       timeout_at = coalesce(k.timeout_at + k.shift, r.timeout_at),
       timeout_ms = r.timeout_ms + CASE WHEN r.timeout_per = 'node' AND r.first_started_at IS NOT NULL
         THEN round(extract(epoch FROM k.shift) * 1000)::bigint ELSE 0 END,
       engine_turn = NOT r.engine_turn
     FROM picked k JOIN held h ON h.id = k.id
     WHERE r.id = k.id AND ((r.status = 'pending' AND r.run_at >= ${PARKED} AND k.run_at IS NOT NULL)
       OR (r.status = 'leased' AND r.deferred AND k.run_at IS NULL))
     RETURNING r.queue
   ), instance AS (
     UPDATE workflow.workflow_instance i SET queued_at = coalesce(k.queued_at, i.queued_at),
       deadline_at = coalesce(i.deadline_at, CASE WHEN i.phase = k.phase THEN k.deadline_at + k.shift END)
     FROM picked k WHERE k.kind = 'instance' AND i.id = k.id AND i.ended_at IS NULL
   ), gate AS (
     UPDATE workflow.workflow_gate g SET due_at = coalesce(g.due_at, k.due_at + k.shift),
       escalate_at = coalesce(g.escalate_at, k.escalate_at + k.shift)
     FROM picked k WHERE k.kind = 'gate' AND g.id = k.id AND g.state || '' = 'open'
   ), gone AS (
     DELETE FROM workflow.workflow_parked w USING picked k WHERE w.owner = k.owner AND w.id = k.id
   )
   SELECT (SELECT count(*) FROM picked), (SELECT coalesce(json_agg(DISTINCT r.queue), '[]') FROM run r)`,
)
/** Commands that came up during the pause and were held back: they are due at once. $1 root. */
const RENEW_COMMANDS = statement(
  `WITH held AS MATERIALIZED (
     SELECT c.run_id FROM workflow.workflow_run r JOIN workflow.workflow_command c ON c.run_id = r.id
     WHERE ${LEASED} AND r.session_id IS NULL AND r.deferred AND r.root_id = $1::uuid AND c.due_at IS NOT NULL
     ORDER BY c.run_id FOR UPDATE OF c
   )
   UPDATE workflow.workflow_command c SET due_at = least(c.due_at, workflow.clock()) FROM held h
   WHERE c.run_id = h.run_id AND (c.published_at IS NULL OR c.due_at > c.published_at + make_interval(secs => c.resend_ms / 1000.0))`,
)
const OVER = statement(`DELETE FROM workflow.workflow_pause p WHERE p.kind = 'instance' AND p.key = $1`)

interface PortionParams {
  readonly rootId: string
  readonly limit: number
}

export async function parkOrRelease(lanes: Lanes, params: PortionParams): Promise<PausePortion> {
  try {
    return await lanes.use(async (lane) => {
      try {
        return await portion(lane.client, params)
      } catch (error) {
        if (!lane.lost) await fly(lane.client, [ROLLBACK]).catch(() => {})
        throw error
      }
    })
  } catch (error) {
    throw toStoreError(error)
  }
}

async function portion(client: pg.Client, { rootId, limit }: PortionParams): Promise<PausePortion> {
  let pause: PauseRow | undefined
  const row = (fields: Fields): void => {
    pause = pauseFrom(fields)
  }
  await fly(client, [
    BEGIN,
    { statement: LOCK_ROOTS, values: [`{${rootId}}`] },
    { statement: PAUSED, values: [rootId], row },
  ])
  if (pause === undefined || pause.state === 'paused') {
    await fly(client, [ROLLBACK])
    return { done: true, queues: [] }
  }
  return pause.state === 'pausing' ? park(client, pause, limit) : release(client, rootId, limit)
}

const IN_MEMBERS = 'members/'

async function park(client: pg.Client, pause: PauseRow, limit: number): Promise<PausePortion> {
  const root = pause.key
  const stops = pause.timeouts === 'stop'
  const from = pause.cursor ?? ''
  const inMembers = from.startsWith(IN_MEMBERS)
  const next = inMembers ? await parkMembers(client, root, from, limit) : await parkRuns(client, root, from, limit)
  const members = !inMembers && next === null && stops
  const cursor = members ? IN_MEMBERS : next
  const note: Call = { statement: NOTE, values: [root, cursor, cursor === null ? 'paused' : 'pausing'] }
  const deferred: Call[] = members ? [{ statement: PARK_DEFERRED, values: [root] }] : []
  await fly(client, [...deferred, note, COMMIT])
  return { done: cursor === null, queues: [] }
}

/** The cursor after this portion; null: no run is left. */
async function parkRuns(client: pg.Client, root: string, cursor: string, limit: number): Promise<string | null> {
  const [instance = null, run = null] = cursor === '' ? [] : cursor.split('/')
  let last: string | null = null
  const row = ([instanceId, id, count]: Fields): void => {
    last = Number(count) < limit ? null : `${instanceId}/${id}`
  }
  await fly(client, [{ statement: PARK_RUNS, values: [root, instance, run, String(limit)], row }])
  return last
}

async function parkMembers(client: pg.Client, root: string, cursor: string, limit: number): Promise<string | null> {
  const after = cursor.slice(IN_MEMBERS.length)
  let last: string | null = null
  const row = ([id, count]: Fields): void => {
    last = Number(count) < limit ? null : `${IN_MEMBERS}${id}`
  }
  await fly(client, [{ statement: PARK_MEMBERS, values: [root, after === '' ? null : after, String(limit)], row }])
  return last
}

async function release(client: pg.Client, rootId: string, limit: number): Promise<PausePortion> {
  let released = 0
  let queues: readonly string[] = []
  const row = ([count, names]: Fields): void => {
    released = Number(count)
    queues = JSON.parse(names as string)
  }
  await fly(client, [{ statement: RELEASE, values: [rootId, String(limit)], row }])
  const done = released < limit
  const over = [RENEW_COMMANDS, OVER].map((known): Call => ({ statement: known, values: [rootId] }))
  await fly(client, [...(done ? over : []), COMMIT])
  return { done, queues }
}
