/**
 * Rows that are locked when loaded. The order is always roots → runs → limits → unique keys, each ordered by its key.
 */
import type { ScheduleRow } from '../../../model/rows.ts'
import { INSTANCE, LIMIT, RUN, SCHEDULE, scheduleFrom, selectList, UNIQUE } from '../columns.ts'
import { textArray } from '../connection/batch.ts'
import { type Call, type Fields, statement } from '../connection/statement.ts'

/**
 * Roots come first and alone: a transaction that holds a root may read and write its whole tree without further locks.
 * The rows come with the lock: FOR UPDATE returns the newest version, also of a row it had to wait for.
 */
export const LOCK_ROOTS = statement(
  `SELECT ${selectList(INSTANCE, 'i')} FROM workflow.workflow_instance i
   WHERE i.id = ANY ($1::uuid[]) ORDER BY i.id FOR UPDATE`,
)

/** For settles that continue with other roots instead of waiting for these. */
export const LOCK_FREE_ROOTS = statement(
  `SELECT ${selectList(INSTANCE, 'i')} FROM workflow.workflow_instance i
   WHERE i.id = ANY ($1::uuid[]) ORDER BY i.id FOR UPDATE SKIP LOCKED`,
)

/** Runs are locked in addition to their root: claims, starts and foreign clients change runs without a root's lock. */
export const RUNS = statement(
  `SELECT ${selectList(RUN, 'r')} FROM workflow.workflow_run r WHERE r.id = ANY ($1::uuid[]) ORDER BY r.id FOR UPDATE`,
)

/**
 * Pending runs of an instance, along their own index. The condition occurs twice: rows may change before they are
 * locked. As in claimable.ts, only the primary key fits.
 */
export const UNSTARTED_RUNS = statement(
  `SELECT ${selectList(RUN, 'r')} FROM workflow.workflow_run r
   WHERE r.id = ANY (ARRAY (
     SELECT c.id FROM unnest($1::uuid[], $2::int4[]) n(instance_id, count) CROSS JOIN LATERAL (
       SELECT r.id FROM workflow.workflow_run r WHERE r.status = 'pending' AND r.instance_id = n.instance_id
       ORDER BY r.id LIMIT n.count) c
   )) AND r.status || '' = 'pending' ORDER BY r.id FOR UPDATE`,
)

/**
 * Deferred runs of instances, and those that plain SQL holds. Rare, and an instance has few runs in flight: the place
 * index finds them.
 */
export const LEASED_RUNS = statement(
  `SELECT ${selectList(RUN, 'r')} FROM workflow.workflow_run r
   WHERE r.instance_id = ANY ($1::uuid[]) AND r.status || '' = 'leased'
     AND (r.instance_id = ANY ($2::uuid[]) OR (r.session_id IS NULL AND r.lease_ms IS NULL))
   ORDER BY r.id FOR UPDATE`,
)

/**
 * Waits for transactions of foreign clients that gave back runs of this tree (repeatable/60_run_update.sql): they read
 * whether it is paused, and that must not change before they commit.
 */
export const FOREIGN_RETURNS = statement('SELECT pg_advisory_xact_lock(hashtextextended($1::text, 27))')

export const LIMITS = statement(
  `SELECT ${selectList(LIMIT, 'l')} FROM workflow.workflow_limit l WHERE l.key = ANY ($1::text[]) ORDER BY l.key FOR UPDATE`,
)

/** Inserts a missing row, so that it can be locked: no other transaction can insert it until this one has committed. */
export const MAKE_LIMITS = statement(
  `INSERT INTO workflow.workflow_limit (key, window_start) SELECT k.key, to_timestamp(0) FROM unnest($1::text[]) k(key)
   ORDER BY k.key ON CONFLICT (key) DO NOTHING`,
)

export const UNIQUES = statement(
  `SELECT ${selectList(UNIQUE, 'u')} FROM workflow.workflow_unique u WHERE u.key = ANY ($1::text[]) ORDER BY u.key FOR UPDATE`,
)

/** Locked, so that two schedulers do not fire for the same time. */
const SCHEDULES = statement(
  `SELECT ${selectList(SCHEDULE, 'c')} FROM workflow.workflow_cron c WHERE c.name = ANY ($1::text[]) ORDER BY c.name FOR UPDATE`,
)

export function schedulesCall(names: readonly string[], to: Map<string, ScheduleRow>): Call {
  const row = (fields: Fields): void => {
    const schedule = scheduleFrom(fields)
    to.set(schedule.name, schedule)
  }
  return { statement: SCHEDULES, values: [textArray(names)], row }
}
