-- What a person asks of the tables.

CREATE VIEW workflow.workflow_step AS
SELECT r.id AS run_id, r.instance_id, r.root_id, i.name AS workflow, i.dialect, i.state AS instance_state,
       r.node, r.fire, r.item, r.role, r.scope, r.type, r.queue, r.status, r.attempt, r.max_attempts,
       r.leased_by, r.run_at, r.leased_at, r.started_at, r.finished_at, r.unknown_outcome, r.deferred, r.dead_letter,
       r.last_error, r.tenant, r.created_at
FROM workflow.workflow_run r LEFT JOIN workflow.workflow_instance i ON i.id = r.instance_id;

-- The full history. To keep writes few, one stored row may stand for several events: `created` with leased_at in its
-- data is created + leased (a hand-off); the row that ends a lease carries leased_at and started_at where nobody told
-- them before. Here each becomes a row of its own. A lease still open is read off the run, unless a stored row has
-- told it already (a hand-off, a deferral). A run inserted by plain SQL, or whose first events retention has removed,
-- has its `created` from the run.
-- part: 0 created, 1 leased, 2 started, 3 the event itself. Read it ordered by created_at, event_id, part.
-- The times in data come from several clocks, so they are held within the row that tells them.
CREATE VIEW workflow.workflow_history AS
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
WHERE r.status = 'leased' AND r.leased_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM workflow.workflow_event e
                  WHERE e.workflow_id = r.id AND (e.data ->> 'leased_at')::timestamptz = r.leased_at)
UNION ALL
SELECT r.id, 'started', jsonb_build_object('worker_id', r.leased_by), r.started_at,
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 2
FROM workflow.workflow_run r
WHERE r.status = 'leased' AND r.started_at >= r.leased_at
  AND NOT EXISTS (SELECT FROM workflow.workflow_event e
                  WHERE e.workflow_id = r.id AND (e.data ->> 'started_at')::timestamptz = r.started_at)
UNION ALL
SELECT r.id, 'created', NULL, r.created_at, r.instance_id, NULL, r.node, NULL, r.tenant, NULL, 0
FROM workflow.workflow_run r
WHERE NOT EXISTS (SELECT FROM workflow.workflow_event e WHERE e.workflow_id = r.id AND e.event_type = 'created');
