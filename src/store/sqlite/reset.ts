/** Empties the database, for tests. */
import type { Connection } from './connection.ts'

/** Nets are identified by their content: a process that remembers having stored one stays correct. */
const KEPT = [
  'workflow_migration',
  'workflow_repeatable',
  'workflow_setting',
  'workflow_net',
  'workflow_key',
  'workflow_sign_in',
]

export function reset(connection: Connection): void {
  connection.exec(END_ALL)
  const tables = connection.statement(`SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'workflow_%'`)
  for (const [name] of tables.all()) {
    if (name === 'workflow_event') connection.exec(KEEP_LAST_EVENT)
    else if (!KEPT.includes(name as string)) connection.exec(`DELETE FROM ${name}`)
  }
}

/** A run that has not ended, or is a step of a running workflow, cannot be deleted. */
const END_ALL = `UPDATE workflow_run SET status = 'cancelled', instance_id = NULL, settled_at = created_at,
  engine_turn = NOT engine_turn WHERE status = 'pending' OR status = 'leased' OR settled_at IS NULL OR instance_id IS NOT NULL`

/** The newest row stays, emptied: the next id is one more than the greatest, and ids must keep growing. */
const KEEP_LAST_EVENT = `
  DELETE FROM workflow_event WHERE id < (SELECT max(id) FROM workflow_event);
  UPDATE workflow_event SET workflow_id = NULL, instance_id = NULL, seq = NULL, event_type = 'store.reset', node = NULL,
    actor = NULL, tenant = NULL, data = NULL;`
