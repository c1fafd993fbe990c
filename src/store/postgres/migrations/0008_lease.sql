-- Workers over HTTP: each run they take has a lease of its own, renewed by their heartbeats.

-- Length of such a lease, so that a heartbeat can renew it for as long again. Null for everybody else's leases.
ALTER TABLE workflow.workflow_run ADD COLUMN lease_ms bigint;

-- session: its runs live and die with it. lease: its runs have leases of their own, which end early when it dies.
ALTER TABLE workflow.workflow_worker
  ADD COLUMN holds text NOT NULL DEFAULT 'session' CHECK (holds IN ('session', 'lease'));

-- Counting what is held must not walk over what waits: deferred runs are in neither of the two indexes of leases.
CREATE INDEX workflow_run_deferred ON workflow.workflow_run (queue) WHERE status = 'leased' AND deferred;

-- Counting what waits must not look at every scheduled run to find those that wait for their next attempt.
CREATE INDEX workflow_run_again ON workflow.workflow_run (queue, run_at)
  WHERE status = 'pending' AND attempt > 0 AND deleted_at IS NULL;

-- Ended runs by queue and minute. Written beside the work, about once a second and process; minutes older than a few
-- days are added up in the minute of the epoch.
CREATE TABLE workflow.workflow_total (
  queue     text NOT NULL,
  minute    timestamptz NOT NULL,
  succeeded bigint NOT NULL DEFAULT 0,
  failed    bigint NOT NULL DEFAULT 0,
  cancelled bigint NOT NULL DEFAULT 0,
  retried   bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (queue, minute)
) WITH (fillfactor = 50);

-- Lists of instances by the kind of their net.
CREATE INDEX workflow_net_kind ON workflow.workflow_net ((net ->> 'kind')) WHERE net ->> 'kind' IS NOT NULL;

-- As before, but a lease of its own is told when it begins (one `started` event that names its lease), so it is not
-- read off the run as well.
CREATE OR REPLACE VIEW workflow.workflow_history AS
SELECT e.workflow_id, e.event_type,
       nullif(e.data - '{leased_at,leased_by,started_at}'::text[], '{}'::jsonb) AS data,
       e.created_at, e.instance_id, e.seq, e.node, e.actor, e.tenant, e.id AS event_id,
       CASE e.event_type WHEN 'created' THEN 0 ELSE 3 END AS part
FROM workflow.workflow_event e
WHERE e.workflow_id IS NOT NULL
UNION ALL
SELECT e.workflow_id, 'leased', jsonb_build_object('worker_id', e.data -> 'leased_by'),
       CASE e.event_type
         WHEN 'created' THEN greatest((e.data ->> 'leased_at')::timestamptz, e.created_at)
         ELSE least((e.data ->> 'leased_at')::timestamptz, e.created_at) END,
       e.instance_id, e.seq, e.node, e.data ->> 'leased_by', e.tenant, e.id, 1
FROM workflow.workflow_event e
WHERE e.workflow_id IS NOT NULL AND e.data ->> 'leased_at' IS NOT NULL
UNION ALL
SELECT e.workflow_id, 'started', jsonb_build_object('worker_id', e.data -> 'leased_by'),
       greatest(least((e.data ->> 'started_at')::timestamptz, e.created_at),
                CASE WHEN e.data ->> 'leased_at' IS NOT NULL
                     THEN least((e.data ->> 'leased_at')::timestamptz, e.created_at) END),
       e.instance_id, e.seq, e.node, e.data ->> 'leased_by', e.tenant, e.id, 2
FROM workflow.workflow_event e
WHERE e.workflow_id IS NOT NULL AND e.data ->> 'started_at' IS NOT NULL
UNION ALL
SELECT r.id, 'leased', jsonb_build_object('worker_id', r.leased_by), r.leased_at,
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 1
FROM workflow.workflow_run r
WHERE r.status = 'leased' AND r.leased_at IS NOT NULL AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT FROM workflow.workflow_event e
                  WHERE e.workflow_id = r.id AND (e.data ->> 'leased_at')::timestamptz = r.leased_at)
UNION ALL
SELECT r.id, 'started', jsonb_build_object('worker_id', r.leased_by), r.started_at,
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 2
FROM workflow.workflow_run r
WHERE r.status = 'leased' AND r.started_at >= r.leased_at AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT FROM workflow.workflow_event e
                  WHERE e.workflow_id = r.id AND (e.data ->> 'started_at')::timestamptz = r.started_at)
UNION ALL
SELECT r.id, 'created', NULL, r.created_at, r.instance_id, NULL, r.node, NULL, r.tenant, NULL, 0
FROM workflow.workflow_run r
WHERE NOT EXISTS (SELECT FROM workflow.workflow_event e WHERE e.workflow_id = r.id AND e.event_type = 'created');
