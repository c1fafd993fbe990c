-- Revision 1.
-- Views for people and for clients.

CREATE VIEW workflow_step AS
SELECT r.id AS run_id, r.instance_id, r.root_id, i.name AS workflow, i.dialect, i.state AS instance_state,
       r.node, r.fire, r.item, r.role, r.scope, r.type, r.queue, r.status, r.attempt, r.max_attempts,
       r.leased_by, r.run_at, r.leased_at, r.started_at, r.finished_at, r.unknown_outcome, r.deferred, r.dead_letter,
       r.last_error, r.tenant, r.created_at
FROM workflow_run r LEFT JOIN workflow_instance i ON i.id = r.instance_id;

-- The full history of runs. To keep writes few, one stored row may stand for several events: `created` with leased_at in
-- its data is created and leased (a hand-off), and the row that ends a lease carries leased_at and started_at if no earlier
-- row recorded them. Here each becomes a row of its own. An open lease is read from the run, unless a stored row has
-- recorded it already: a hand-off, a deferral, or a lease of its own (lease_ms), whose `started` row names the lease. A run
-- whose first events retention has removed gets its `created` from the run.
-- part: 0 created, 1 leased, 2 started, 3 the event itself. Read the view ordered by created_at, event_id, part.
--
-- Leases are read only from rows that the engine wrote: `data` of a client is its own affair. The times in data come from
-- several clocks, so they are kept within the bounds of their row.
CREATE VIEW workflow_history AS
WITH recorded AS (
  SELECT e.*,
         CAST(round((julianday(e.data ->> '$.leased_at') - 2440587.5) * 86400000) AS INTEGER) AS leased_ms,
         CAST(round((julianday(e.data ->> '$.started_at') - 2440587.5) * 86400000) AS INTEGER) AS started_ms,
         e.data ->> '$.leased_by' AS worker
  FROM workflow_event e
  WHERE e.workflow_id IS NOT NULL AND e.engine = 1
)
SELECT workflow_id, event_type,
       nullif(json_remove(data, '$.leased_at', '$.leased_by', '$.started_at'), '{}') AS data,
       created_at, instance_id, seq, node, actor, tenant, id AS event_id,
       CASE event_type WHEN 'created' THEN 0 ELSE 3 END AS part
FROM recorded
UNION ALL
SELECT workflow_id, event_type, data, created_at, instance_id, seq, node, actor, tenant, id, 3
FROM workflow_event WHERE workflow_id IS NOT NULL AND engine = 0
UNION ALL
SELECT workflow_id, 'leased', json_object('worker_id', worker),
       CASE event_type WHEN 'created' THEN max(leased_ms, created_at) ELSE min(leased_ms, created_at) END,
       instance_id, seq, node, worker, tenant, id, 1
FROM recorded WHERE leased_ms IS NOT NULL
UNION ALL
SELECT workflow_id, 'started', json_object('worker_id', worker),
       max(min(started_ms, created_at), coalesce(min(leased_ms, created_at), 0)),
       instance_id, seq, node, worker, tenant, id, 2
FROM recorded WHERE started_ms IS NOT NULL
UNION ALL
SELECT r.id, 'leased', json_object('worker_id', r.leased_by), r.leased_at,
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 1
FROM workflow_run r
WHERE r.status = 'leased' AND r.leased_at IS NOT NULL AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT 1 FROM recorded t WHERE t.workflow_id = r.id AND t.leased_ms = r.leased_at)
UNION ALL
SELECT r.id, 'started', json_object('worker_id', r.leased_by), r.started_at,
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 2
FROM workflow_run r
WHERE r.status = 'leased' AND r.started_at >= r.leased_at AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT 1 FROM recorded t WHERE t.workflow_id = r.id AND t.started_ms = r.started_at)
UNION ALL
SELECT r.id, 'created', NULL, r.created_at, r.instance_id, NULL, r.node, NULL, r.tenant, NULL, 0
FROM workflow_run r
WHERE NOT EXISTS (SELECT 1 FROM workflow_event e WHERE e.workflow_id = r.id AND e.event_type = 'created');
