/**
 * The triggers of the inbox enforce the rules on the writes of other programs. They ignore the engine's own writes
 * (their WHEN excludes them), but SQLite pays for them before it tests that: a statement that has triggers keeps a copy
 * of every page it touches. So the engine's connection forgets them. Measured per row: insert 9.3 → 5.9 µs, update 7.9
 * → 4.8, event 5.1 → 3.1.
 *
 * SQLite reads the schema once, and again when its version has changed. Here it is read in the middle of a transaction
 * that has removed those triggers and is then rolled back: the file is unchanged, also for all other connections, and
 * only this connection's copy of the schema lacks them. When another program changes the schema (VACUUM does), this
 * connection reads it again and has the triggers back. That is slower and otherwise the same, so nothing may rely on
 * their absence.
 */
import type { Database } from './driver.ts'

/** Only triggers that do nothing on a write of the engine. Any statement that names a table reads the schema. */
const FORGET = `
  PRAGMA writable_schema = ON;
  DELETE FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN ('workflow_run', 'workflow_event')
    AND sql LIKE '%WHEN new.engine%';
  PRAGMA writable_schema = RESET;
  SELECT 1 FROM sqlite_schema LIMIT 0;
`

/**
 * Takes the write lock for a moment. A binding that does not allow its defensive mode to be disabled keeps the
 * triggers.
 */
export function forgetTriggers(database: Database): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    database.enableDefensive?.(false)
    database.exec(FORGET)
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('may not be modified'))) throw error
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK')
    database.exec('PRAGMA writable_schema = OFF')
    database.enableDefensive?.(true)
  }
}

/** Before a migration, which may change them. */
export const RECALL_TRIGGERS = 'PRAGMA writable_schema = RESET'
