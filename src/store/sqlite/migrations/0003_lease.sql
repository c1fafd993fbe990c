-- Workers over HTTP: each run they take has a lease of its own, renewed by their heartbeats.

-- Length of such a lease, so that a heartbeat can renew it for as long again. Null for everybody else's leases.
ALTER TABLE workflow_run ADD COLUMN lease_ms INTEGER;

-- session: its runs live and die with it. lease: its runs have leases of their own, which end early when it dies.
ALTER TABLE workflow_worker
  ADD COLUMN holds TEXT NOT NULL DEFAULT 'session' CHECK (holds = 'session' OR holds = 'lease');

-- Counting what waits must not look at every scheduled run to find those that wait for their next attempt.
CREATE INDEX idx_workflow_run_again ON workflow_run (queue, run_at)
  WHERE status = 'pending' AND attempt > 0 AND deleted_at IS NULL;

-- Ended runs by queue and minute. Written beside the work, about once a second and process; minutes older than a few
-- days are added up in minute 0.
CREATE TABLE workflow_total (
  queue TEXT NOT NULL,
  minute INTEGER NOT NULL,
  succeeded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  retried INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (queue, minute)
) STRICT, WITHOUT ROWID;

-- Lists of instances by the kind of their net.
CREATE INDEX idx_workflow_net_kind ON workflow_net (net ->> '$.kind') WHERE net ->> '$.kind' IS NOT NULL;

-- As before, but a lease of its own is told when it begins (one `started` event that names its lease), so it is not
-- read off the run as well.
DROP VIEW workflow_history;
CREATE VIEW workflow_history AS
WITH told AS (
  SELECT e.*,
         CAST(round((julianday(e.data ->> '$.leased_at') - 2440587.5) * 86400000) AS INTEGER) AS leased_ms,
         CAST(round((julianday(e.data ->> '$.started_at') - 2440587.5) * 86400000) AS INTEGER) AS started_ms,
         e.data ->> '$.leased_by' AS worker
  FROM workflow_event e
  WHERE e.workflow_id IS NOT NULL
)
SELECT workflow_id, event_type,
       nullif(json_remove(data, '$.leased_at', '$.leased_by', '$.started_at'), '{}') AS data,
       created_at, instance_id, seq, node, actor, tenant, id AS event_id,
       CASE event_type WHEN 'created' THEN 0 ELSE 3 END AS part
FROM told
UNION ALL
SELECT workflow_id, 'leased', json_object('worker_id', worker),
       CASE event_type WHEN 'created' THEN max(leased_ms, created_at) ELSE min(leased_ms, created_at) END,
       instance_id, seq, node, worker, tenant, id, 1
FROM told WHERE leased_ms IS NOT NULL
UNION ALL
SELECT workflow_id, 'started', json_object('worker_id', worker),
       max(min(started_ms, created_at), coalesce(min(leased_ms, created_at), 0)),
       instance_id, seq, node, worker, tenant, id, 2
FROM told WHERE started_ms IS NOT NULL
UNION ALL
SELECT r.id, 'leased', json_object('worker_id', r.leased_by), r.leased_at,
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 1
FROM workflow_run r
WHERE r.status = 'leased' AND r.leased_at IS NOT NULL AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT 1 FROM told t WHERE t.workflow_id = r.id AND t.leased_ms = r.leased_at)
UNION ALL
SELECT r.id, 'started', json_object('worker_id', r.leased_by), r.started_at,
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 2
FROM workflow_run r
WHERE r.status = 'leased' AND r.started_at >= r.leased_at AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT 1 FROM told t WHERE t.workflow_id = r.id AND t.started_ms = r.started_at)
UNION ALL
SELECT r.id, 'created', NULL, r.created_at, r.instance_id, NULL, r.node, NULL, r.tenant, NULL, 0
FROM workflow_run r
WHERE NOT EXISTS (SELECT 1 FROM workflow_event e WHERE e.workflow_id = r.id AND e.event_type = 'created');
