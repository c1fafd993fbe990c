"""All statements. They are those of the table's own contract, with additional fencing.

A write returns rows only if it happened: the table's triggers drop the reports of a late worker, and the conditions
here prevent sending them. `epoch` changes whenever a lease ends, so an earlier lease of the same worker is distinct.
"""

from __future__ import annotations

#: The fields of Run, in order. JSON as text, so that the caller's jsonb settings in psycopg2 do not matter.
_RUN = """r.id::text AS id, r.type, r.payload::text AS payload, r.status, r.priority, r.run_at, r.idempotency_key,
  r.attempt, r.max_attempts, r.leased_by, r.lease_until, r.last_error, r.result::text AS result, r.created_at,
  r.deleted_at, r.queue, r.tenant, r.instance_id::text AS instance_id, r.node,
  r.cancel_requested_at IS NOT NULL AS cancel_requested, r.error::text AS error"""

#: Columns that keep their defaults are not named.
SUBMIT = f"""
INSERT INTO workflow.workflow_run AS r ({{columns}}) VALUES ({{values}})
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING {_RUN}"""

BY_KEY = f"SELECT {_RUN} FROM workflow.workflow_run r WHERE r.idempotency_key = %(idempotency_key)s"

GET = f"SELECT {_RUN} FROM workflow.workflow_run r WHERE r.id = %(id)s::uuid"

LIST = f"""
SELECT {_RUN} FROM workflow.workflow_run r
WHERE r.inbox AND (r.deleted_at IS NOT NULL) = %(deleted)s {{conditions}}
ORDER BY r.created_at DESC, r.id DESC
LIMIT %(limit)s"""

#: The view shows every event, also where one stored row represents several.
EVENTS = """
SELECT event_type, created_at, actor, data::text FROM workflow.workflow_history
WHERE workflow_id = %(id)s::uuid
ORDER BY created_at, event_id, part"""

CANCEL = f"""
UPDATE workflow.workflow_run r SET status = 'cancelled', updated_at = now()
WHERE r.id = %(id)s::uuid AND r.status IN ('pending', 'leased')
RETURNING {_RUN}"""

#: An expired lease may be taken over: the table counts it as a failed attempt, and ends a run without another
#: attempt. So a picked row may be refused: it is returned without an epoch, and excluded (`refused`) from the next
#: claim, so that it does not block the others. Runs held by Petrel's own workers are never picked.
#: The registry assigns types to runtimes; a type that is not registered is open to all.
CLAIM = f"""
WITH picked AS MATERIALIZED (
  SELECT c.id FROM workflow.workflow_run c
  WHERE ((c.status = 'pending' AND c.run_at <= now())
      OR (c.status = 'leased' AND c.lease_until < now()
          AND c.session_id IS NULL AND c.lease_ms IS NULL AND NOT c.deferred))
    AND c.deleted_at IS NULL
    AND {{types}} {{queues}}
    AND c.id <> ALL (%(refused)s::uuid[])
    AND NOT EXISTS (
      SELECT FROM workflow.workflow_registry g
      WHERE g.workflow_name = c.type AND g.deleted_at IS NULL AND (NOT g.is_enabled OR g.runtime <> %(runtime)s))
  ORDER BY c.priority, c.created_at
  FOR UPDATE SKIP LOCKED
  LIMIT %(limit)s
), taken AS (
  UPDATE workflow.workflow_run r
  SET status = 'leased', leased_by = %(worker_id)s,
      lease_until = now() + %(lease_seconds)s * interval '1 second', updated_at = now()
  FROM picked WHERE r.id = picked.id
  RETURNING r.epoch, {_RUN}
)
SELECT picked.id::text, taken.* FROM picked LEFT JOIN taken ON taken.id = picked.id::text"""

_HELD = """r.id = %(id)s::uuid AND r.status = 'leased' AND r.leased_by = %(worker_id)s AND r.epoch = %(epoch)s"""

HEARTBEAT = f"""
UPDATE workflow.workflow_run r
SET lease_until = now() + %(lease_seconds)s * interval '1 second', updated_at = now()
WHERE {_HELD}
RETURNING r.cancel_requested_at IS NOT NULL"""

CHECK = f"SELECT r.cancel_requested_at IS NOT NULL FROM workflow.workflow_run r WHERE {_HELD}"

COMPLETE = f"""
UPDATE workflow.workflow_run r SET status = 'succeeded', result = %(result)s::jsonb, updated_at = now()
WHERE {_HELD}
RETURNING true"""

FAIL = f"""
UPDATE workflow.workflow_run r
SET status = %(status)s, attempt = %(attempt)s, run_at = now() + %(delay_seconds)s * interval '1 second',
    last_error = %(last_error)s, updated_at = now()
WHERE {_HELD}
RETURNING true"""

RELEASE = f"""
UPDATE workflow.workflow_run r SET status = 'pending', updated_at = now()
WHERE {_HELD}
RETURNING true"""

STATUS = "SELECT r.status FROM workflow.workflow_run r WHERE r.id = %(id)s::uuid"
