/** The runs of an instance that have not begun, and those that are held. */
import { RUN_CELLS } from '../row/run.ts'

/** `LIMIT ? + 0`: see claimable.ts. */
export const WAITING = `SELECT ${RUN_CELLS} FROM workflow_run INDEXED BY idx_workflow_run_waiting
  WHERE status = 'pending' AND instance_id IS NOT NULL AND instance_id = ? ORDER BY id LIMIT ? + 0`
/** Deferred, or held by plain SQL: leased without a session, the smallest part of that index. */
export const UNATTENDED = `SELECT ${RUN_CELLS} FROM workflow_run INDEXED BY idx_workflow_run_leased
  WHERE status = 'leased' AND session_id IS NULL AND lease_ms IS NULL AND instance_id = ? ORDER BY id LIMIT ? + 0`
export const LEASED = `SELECT ${RUN_CELLS} FROM workflow_run WHERE status = 'leased' AND instance_id = ? ORDER BY id LIMIT ? + 0`
