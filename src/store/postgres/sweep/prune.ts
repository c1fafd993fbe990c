/**
 * Retention, in chunks: trees whose root ended before the cut, bare runs that finished or were deleted before it, and
 * event partitions before theirs. SKIP LOCKED: several pruners share the work, and a row in use is not old.
 */
import type pg from 'pg'
import { ask, askOne } from '../connection/ask.ts'
import { uuidArray } from '../connection/batch.ts'
import { toStoreError } from '../connection/failure.ts'
import { FlightError, fly } from '../connection/flight.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Call, type Fields, type Statement, statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'

const OLD_TREES = `SELECT i.id FROM workflow.workflow_instance i
   WHERE i.parent_id IS NULL AND i.ended_at < to_timestamp($1::float8 / 1000)
     AND NOT EXISTS (SELECT FROM workflow.workflow_instance c
                     WHERE c.root_id = i.id AND c.parent_id IS NOT NULL
                       AND (c.ended_at IS NULL OR c.ended_at >= to_timestamp($1::float8 / 1000)))`
/** Dead letters are kept until an operator redrives or deletes them. */
const OLD_RUNS = `SELECT r.id FROM workflow.workflow_run r
   WHERE r.instance_id IS NULL AND r.finished_at < to_timestamp($1::float8 / 1000) AND r.settled_at IS NOT NULL
     AND r.status IN ('succeeded', 'failed', 'cancelled') AND NOT r.dead_letter`
/** Deleted by hand: in any state, unless a worker still has it. */
const DELETED_RUNS = `SELECT r.id FROM workflow.workflow_run r
   WHERE r.deleted_at < to_timestamp($1::float8 / 1000) AND r.instance_id IS NULL
     AND (r.status = 'pending' OR r.settled_at IS NOT NULL)`
const OLDEST = [
  { old: OLD_TREES, id: 'i.id', by: 'i.ended_at' },
  { old: OLD_RUNS, id: 'r.id', by: 'r.finished_at' },
  { old: DELETED_RUNS, id: 'r.id', by: 'r.deleted_at' },
] as const
/** Of trees, of runs, of deleted runs. */
const FOUND = OLDEST.map(({ old, by }) => statement(`${old} ORDER BY ${by} LIMIT $2::int`))
const TAKEN = OLDEST.map(({ old, by }) => statement(`${old} ORDER BY ${by} LIMIT $2::int FOR UPDATE SKIP LOCKED`))
const TAKEN_AMONG = OLDEST.map(({ old, id, by }) =>
  statement(`${old} AND ${id} = ANY ($3::uuid[]) ORDER BY ${by} LIMIT $2::int FOR UPDATE SKIP LOCKED`),
)

const MEMBERS = statement(
  `SELECT i.id FROM workflow.workflow_instance i WHERE i.root_id = ANY ($1::uuid[]) AND i.parent_id IS NOT NULL`,
)

/** The runs of a tree are removed before the tree itself, so that no call takes long however big it is. */
const RUNS_OF_TREES = statement(
  'SELECT r.id FROM workflow.workflow_run r WHERE r.instance_id = ANY ($1::uuid[]) LIMIT $2::int FOR UPDATE SKIP LOCKED',
)
/** Members of trees that have no run left. */
const BARE_TREES = statement(
  `SELECT i.id FROM workflow.workflow_instance i WHERE i.root_id = ANY ($1::uuid[]) AND NOT EXISTS (
     SELECT FROM workflow.workflow_instance m JOIN workflow.workflow_run r ON r.instance_id = m.id WHERE m.root_id = i.root_id)`,
)

/** Keys are permanent: they are moved to where inserts look for them. See workflow.refuse_kept_keys. */
export const REMOVE_RUNS = [
  statement('DELETE FROM workflow.workflow_command c WHERE c.run_id = ANY ($1::uuid[])'),
  statement('DELETE FROM workflow.workflow_checkpoint c WHERE c.run_id = ANY ($1::uuid[])'),
  statement('DELETE FROM workflow.workflow_log l WHERE l.run_id = ANY ($1::uuid[])'),
  statement('DELETE FROM workflow.workflow_unique u WHERE u.run_id = ANY ($1::uuid[])'),
  statement('DELETE FROM workflow.workflow_term t WHERE t.id = ANY ($1::uuid[])'),
  statement(
    `WITH gone AS (DELETE FROM workflow.workflow_run r WHERE r.id = ANY ($1::uuid[]) RETURNING r.id, r.idempotency_key),
     kept AS (
       INSERT INTO workflow.workflow_kept_key (idempotency_key, run_id)
       SELECT g.idempotency_key, g.id FROM gone g WHERE g.idempotency_key IS NOT NULL ORDER BY g.idempotency_key
       ON CONFLICT (idempotency_key) DO NOTHING)
     SELECT count(*) FROM gone`,
  ),
]
const REMOVE_TREES = [
  ...['workflow_slot', 'workflow_item', 'workflow_gate'].map((name) =>
    statement(`DELETE FROM workflow.${name} x WHERE x.instance_id = ANY ($1::uuid[])`),
  ),
  statement('DELETE FROM workflow.workflow_name x WHERE x.root_id = ANY ($1::uuid[])'),
  statement('DELETE FROM workflow.workflow_term t WHERE t.id = ANY ($1::uuid[])'),
  statement('DELETE FROM workflow.workflow_parked x WHERE x.owner = ANY ($1::uuid[]::text[])'),
  statement("DELETE FROM workflow.workflow_pause x WHERE x.kind = 'instance' AND x.key = ANY ($1::uuid[]::text[])"),
  statement(
    'WITH gone AS (DELETE FROM workflow.workflow_instance i WHERE i.id = ANY ($1::uuid[]) RETURNING i.id) SELECT count(*) FROM gone',
  ),
]
const RUN_IDS = `ARRAY (SELECT r.id FROM workflow.workflow_run r JOIN workflow.workflow_instance i ON i.id = r.instance_id
     WHERE i.root_id = ANY ($1::uuid[]))`
const TREE_IDS = 'ARRAY (SELECT i.id FROM workflow.workflow_instance i WHERE i.root_id = ANY ($1::uuid[]))'
/** They were read before; an instance of theirs that has been resumed since refuses the transaction. */
const EXPECT_ENDED = statement(
  `SELECT workflow.expect_count(count(*), 0) FROM workflow.workflow_instance i
   WHERE i.root_id = ANY ($1::uuid[]) AND i.ended_at IS NULL`,
)
const REMOVE_WHOLE_TREES = [
  EXPECT_ENDED,
  ...REMOVE_RUNS.map(({ text }) => statement(text.replaceAll('$1::uuid[]', RUN_IDS))),
  ...REMOVE_TREES.map(({ text }) => statement(text.replaceAll('$1::uuid[]', TREE_IDS))),
]
/** Whether it has more runs than $2. Locks nothing, so the answer for a small tree needs no commit. */
const IS_LARGE = statement(
  `SELECT count(*) > $2::int FROM (SELECT FROM workflow.workflow_run r JOIN workflow.workflow_instance i ON i.id = r.instance_id
     WHERE i.root_id = $1::uuid LIMIT $2::int + 1) found`,
)
const FORGET_SESSIONS = statement(
  `DELETE FROM workflow.workflow_worker d WHERE d.id IN (
     SELECT w.id FROM workflow.workflow_worker w WHERE w.state = 'dead' AND w.expires_at < to_timestamp($1::float8 / 1000)
       AND NOT EXISTS (SELECT FROM workflow.workflow_run r WHERE r.session_id = w.id AND ${LEASED})
     ORDER BY w.id FOR UPDATE SKIP LOCKED)`,
)
/** A failure that recurs afterwards begins a new group. */
const OLD_GROUPS = statement(
  `DELETE FROM workflow.workflow_error_group d WHERE d.fingerprint IN (
     SELECT g.fingerprint FROM workflow.workflow_error_group g WHERE g.last_at < to_timestamp($1::float8 / 1000)
     ORDER BY g.last_at LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
)
/** They are evidence of nothing, so they are not kept. */
const EXPIRED_SIGN_INS = statement(
  `DELETE FROM workflow.workflow_sign_in d WHERE d.hash IN (
     SELECT s.hash FROM workflow.workflow_sign_in s WHERE s.expires_at <= workflow.clock()
     ORDER BY s.expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
)
/** Where no run with a key waits, the turns begin with the first key again. */
const UNUSED_TURNS = statement(
  `DELETE FROM workflow.workflow_fair_turn d WHERE (d.queue, d.priority, d.scope) IN (
     SELECT t.queue, t.priority, t.scope FROM workflow.workflow_fair_turn t WHERE NOT EXISTS (
       SELECT FROM workflow.workflow_run r
       WHERE r.status = 'pending' AND r.deleted_at IS NULL AND r.fair_key IS NOT NULL AND r.queue = t.queue)
     LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
)
const ENSURE_PARTITIONS = statement('SELECT workflow.ensure_event_partitions()')
const DROP_PARTITIONS = statement('SELECT workflow.drop_event_partitions(to_timestamp($1::float8 / 1000))')

const BEGIN: Call = { statement: statement('BEGIN'), values: [] }
const COMMIT: Call = { statement: statement('COMMIT'), values: [] }
const ROLLBACK: Call = { statement: statement('ROLLBACK'), values: [] }
/**
 * A partition is attached and detached under a lock on the whole table: retry at the next prune rather than delay
 * writers.
 */
const HURRY: Call = { statement: statement("SELECT set_config('lock_timeout', '500ms', true)"), values: [] }

export interface PruneParams {
  readonly endedBefore: number
  readonly eventsBefore: number
  readonly limit: number
  readonly among?: readonly string[]
}

export async function prunable(
  lanes: Lanes,
  { endedBefore, limit }: { readonly endedBefore: number; readonly limit: number },
): Promise<readonly { readonly id: string }[]> {
  const values = [String(endedBefore), String(limit)]
  const row = (fields: Fields): string => fields[0] as string
  const found = await Promise.all(FOUND.map((known) => ask(lanes, { statement: known, values, row })))
  return [...new Set(found.flat())].slice(0, limit).map((id) => ({ id }))
}

/** Ended trees, with everything that belongs to them, in the transaction of the caller. */
export function removeTreesCalls(roots: readonly string[]): Call[] {
  if (roots.length === 0) return []
  const values = [uuidArray(roots)]
  return REMOVE_WHOLE_TREES.map((known) => ({ statement: known, values }))
}

/** Runs of a tree that has more than `limit`, not its instances: what is left is still a tree. */
export async function trimTree(
  lanes: Lanes,
  { rootId, limit }: { readonly rootId: string; readonly limit: number },
): Promise<number> {
  const large = ([is]: Fields): boolean => is === 't'
  if ((await askOne(lanes, { statement: IS_LARGE, values: [rootId, String(limit)], row: large })) !== true) return 0
  return undoingFailures(lanes, async (client) => {
    const ids: string[] = []
    const members = [rootId]
    const list = (into: string[]) => (fields: Fields) => void into.push(fields[0] as string)
    await fly(client, [BEGIN, { statement: MEMBERS, values: [uuidArray([rootId])], row: list(members) }])
    const values = [uuidArray(members), String(limit + 1)]
    await fly(client, [{ statement: RUNS_OF_TREES, values, row: list(ids) }])
    const some = ids.length <= limit ? [] : ids.slice(0, limit)
    const remove = REMOVE_RUNS.map((known): Call => ({ statement: known, values: [uuidArray(some)] }))
    await fly(client, [...(some.length === 0 ? [] : remove), COMMIT])
    return some.length
  })
}

export async function prune(lanes: Lanes, params: PruneParams): Promise<number> {
  const rows = await undoingFailures(lanes, (client) => pruneRows(client, params))
  if (onlyRows(params)) return rows
  try {
    return rows + (await prunePartitions(lanes, params.eventsBefore))
  } catch (error) {
    throw toStoreError(error)
  }
}

async function undoingFailures<T>(lanes: Lanes, work: (client: pg.Client) => Promise<T>): Promise<T> {
  try {
    return await lanes.use(async (lane) => {
      try {
        return await work(lane.client)
      } catch (error) {
        if (!lane.lost) await fly(lane.client, [ROLLBACK]).catch(() => {})
        throw error
      }
    })
  } catch (error) {
    throw toStoreError(error)
  }
}

function onlyRows({ among }: PruneParams): boolean {
  return among !== undefined && among.length > 0
}

async function pruneRows(client: pg.Client, params: PruneParams): Promise<number> {
  const { endedBefore, limit, among } = params
  let removed = 0
  const count = (fields: Fields): void => {
    removed += Number(fields[0])
  }
  const list =
    (into: string[]) =>
    (fields: Fields): void =>
      void into.push(fields[0] as string)
  const over = (statements: readonly Statement[], ids: readonly string[]): Call[] =>
    ids.length === 0 ? [] : statements.map((known) => ({ statement: known, values: [uuidArray(ids)], row: count }))

  const old: string[] = []
  const trees: string[] = []
  const values = [String(endedBefore), String(limit), ...(among === undefined ? [] : [uuidArray(among)])]
  const taken = among === undefined ? TAKEN : TAKEN_AMONG
  await fly(client, [
    BEGIN,
    ...taken.map((known, i) => ({ statement: known, values, row: list(i === 0 ? trees : old) })),
  ])
  // A run may be both old and deleted.
  const runs = [...new Set(old)]
  const left = limit - runs.length
  const whole: string[] = []
  const emptied = left > 0 ? trees : []
  if (emptied.length > 0) {
    const members = [...emptied]
    await fly(client, [{ statement: MEMBERS, values: [uuidArray(emptied)], row: list(members) }])
    await fly(client, [{ statement: RUNS_OF_TREES, values: [uuidArray(members), String(left)], row: list(runs) }])
  }
  // A run that another transaction holds is kept, and its tree with it.
  const bare: Call = { statement: BARE_TREES, values: [uuidArray(emptied)], row: list(whole) }
  await fly(client, [...over(REMOVE_RUNS, runs), bare])
  await fly(client, [
    ...over(REMOVE_TREES, whole),
    ...(onlyRows(params)
      ? []
      : [
          ...[FORGET_SESSIONS, OLD_GROUPS].map((known) => ({ statement: known, values: [String(endedBefore)] })),
          ...[EXPIRED_SIGN_INS, UNUSED_TURNS].map((known) => ({ statement: known, values: [] })),
        ]),
    COMMIT,
  ])
  return removed
}

async function prunePartitions(lanes: Lanes, before: number): Promise<number> {
  return lanes.use(async (lane) => {
    let removed = 0
    const take = (fields: Fields): void => {
      removed = Number(fields[0])
    }
    try {
      const drop: Call = { statement: DROP_PARTITIONS, values: [String(before)], row: take }
      await fly(lane.client, [BEGIN, HURRY, { statement: ENSURE_PARTITIONS, values: [] }, drop, COMMIT])
      return removed
    } catch (error) {
      if (!lane.lost) await fly(lane.client, [ROLLBACK]).catch(() => {})
      if (error instanceof FlightError && (error.cause as { code?: string }).code === '55P03') return 0
      throw error
    }
  })
}
