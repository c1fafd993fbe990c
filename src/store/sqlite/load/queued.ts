/** Queues of instances. */
import { HELD_AT } from '../../../model/rows.ts'
import type { Connection } from '../connection.ts'

/** Whether an instance waits under a quota. A paused one is queued beyond every clock, and keeps no other from beginning. */
const QUEUED_UNDER = `SELECT 1 FROM workflow_instance INDEXED BY idx_workflow_instance_slot
  WHERE slot_key IS NOT NULL AND ended_at IS NULL AND slot_key = ? AND state = 'queued' AND queued_at < ${HELD_AT} LIMIT 1`

export function isQueuedUnder(connection: Connection, key: string): boolean {
  return connection.statement(QUEUED_UNDER).get(key) !== undefined
}
