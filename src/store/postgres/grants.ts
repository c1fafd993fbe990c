/**
 * Exactly the rights of a client that works on the inbox by plain SQL. Columns are named one by one: the engine's own
 * (epoch, engine_turn, instance_id …) cannot be forged, so the triggers can distinguish the engine's writes from the
 * client's. Clients cannot delete.
 */

/** The columns a producer sets for new work. The trigger ensures that status and attempt have their default values. */
const INSERT_RUN = [
  'id',
  'type',
  'payload',
  'status',
  'priority',
  'run_at',
  'idempotency_key',
  'attempt',
  'max_attempts',
  'queue',
  'fair_key',
]

/** The columns a worker reports, and those a producer may change while a run is pending. */
const UPDATE_RUN = [
  'type',
  'payload',
  'status',
  'priority',
  'run_at',
  'attempt',
  'max_attempts',
  'queue',
  'leased_by',
  'lease_until',
  'last_error',
  'result',
  'updated_at',
  'deleted_at',
]

const INSERT_EVENT = ['workflow_id', 'event_type', 'data']

const SCHEDULE = [
  'type',
  'payload',
  'schedule',
  'timezone',
  'next_run_at',
  'last_run_at',
  'enabled',
  'priority',
  'max_attempts',
  'updated_at',
  'deleted_at',
]

/** NAMEDATALEN − 1: PostgreSQL cuts off longer names, and would mean another role. */
const LONGEST_NAME = 63

/** SQL for a superuser, or an owner of the schema who may alter roles. The role must exist; running it again changes nothing. */
export function grantsFor(role: string): string {
  const to = roleIdentifier(role)
  return `-- Rights of ${to.replaceAll('\n', ' ').replaceAll('\r', ' ')} on Petrel's inbox: to put work in, to execute it, to read.
-- Make the role first: CREATE ROLE <name> LOGIN PASSWORD '<password>';
BEGIN;
REVOKE ALL ON ALL TABLES IN SCHEMA workflow FROM ${to};
REVOKE ALL ON ALL SEQUENCES IN SCHEMA workflow FROM ${to};
REVOKE ALL ON SCHEMA workflow FROM ${to};
GRANT USAGE ON SCHEMA workflow TO ${to};
GRANT SELECT, INSERT (${INSERT_RUN.join(', ')}),
  UPDATE (${UPDATE_RUN.join(', ')})
  ON workflow.workflow_run TO ${to};
GRANT SELECT, INSERT (${INSERT_EVENT.join(', ')}) ON workflow.workflow_event TO ${to};
GRANT USAGE ON SEQUENCE workflow.workflow_event_id_seq TO ${to};
GRANT SELECT, INSERT (id, ${SCHEDULE.join(', ')}),
  UPDATE (${SCHEDULE.join(', ')})
  ON workflow.workflow_schedule TO ${to};
GRANT SELECT ON workflow.workflow_registry, workflow.workflow_history, workflow.workflow_step TO ${to};
-- simple-workflow's clients send times without a zone and mean UTC, and name no schema.
ALTER ROLE ${to} SET timezone = 'UTC';
ALTER ROLE ${to} SET search_path = workflow;
COMMIT;
`
}

/** Quoted, so that it stays a name whatever it contains. */
function roleIdentifier(role: string): string {
  if (role === '' || role.includes('\0') || Buffer.byteLength(role) > LONGEST_NAME) {
    throw new RangeError(`a role has a name of 1 to ${LONGEST_NAME} bytes without NUL, not ${JSON.stringify(role)}`)
  }
  // PostgreSQL takes "public" for all roles even in quotes, and reserves pg_ and none.
  if (role === 'public' || role === 'none' || role.startsWith('pg_')) {
    throw new RangeError(`${role} is not a role of one client: rights would go to others too`)
  }
  return `"${role.replaceAll('"', '""')}"`
}
