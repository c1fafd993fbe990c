-- Revision 1.
-- Views for people and for clients.

CREATE OR REPLACE VIEW workflow.workflow_step AS
SELECT r.id AS run_id, r.instance_id, r.root_id, i.name AS workflow, i.dialect, i.state AS instance_state,
       r.node, r.fire, r.item, r.role, r.scope, r.type, r.queue, r.status, r.attempt, r.max_attempts,
       r.leased_by, r.run_at, r.leased_at, r.started_at, r.finished_at, r.unknown_outcome, r.deferred, r.dead_letter,
       r.last_error, r.tenant, r.created_at
FROM workflow.workflow_run r LEFT JOIN workflow.workflow_instance i ON i.id = r.instance_id;

-- The full history of runs. To keep writes few, one stored row may stand for several events: `created` with leased_at in
-- its data is created and leased (a hand-off), and the row that ends a lease carries leased_at and started_at if no earlier
-- row recorded them. Here each becomes a row of its own. An open lease is read from the run, unless a stored row has
-- recorded it already: a hand-off, a deferral, or a lease of its own (lease_ms), whose `started` row names the lease. A run
-- whose first events retention has removed gets its `created` from the run.
-- part: 0 created, 1 leased, 2 started, 3 the event itself. Read the view ordered by created_at, event_id, part.
--
-- Leases are read only from rows that the engine wrote: `data` of a client is its own affair, and a text in it that happens
-- to be called leased_at must not break the history of every run. Each event of a run that foreign clients work on is a
-- stored row: created, leased, started, heartbeat and the ends.
--
-- No event is shown before an earlier one of its run. The times come from several clocks: a trigger records the time of the
-- statement, and the engine that of its transaction, which may have begun before the commit of a client that it then saw.
-- The order of the ids is right, because every writer of an event holds the lock of the run. So `at` never decreases along
-- the ids, and a lease begins no earlier than the event that released the run (free_at).
CREATE OR REPLACE VIEW workflow.workflow_history AS
WITH recorded AS NOT MATERIALIZED (
  SELECT e.*,
         max(e.created_at) OVER along AS at,
         max(e.created_at) FILTER (WHERE e.event_type IN ('created', 'retried', 'returned', 'redriven'))
           OVER (along ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_at
  FROM workflow.workflow_event e
  WHERE e.workflow_id IS NOT NULL
  WINDOW along AS (PARTITION BY e.workflow_id ORDER BY e.id)
)
SELECT e.workflow_id, e.event_type,
       CASE WHEN e.engine THEN nullif(e.data - '{leased_at,leased_by,started_at}'::text[], '{}'::jsonb) ELSE e.data END AS data,
       e.at AS created_at, e.instance_id, e.seq, e.node, e.actor, e.tenant, e.id AS event_id,
       CASE e.event_type WHEN 'created' THEN 0 ELSE 3 END AS part
FROM recorded e
UNION ALL
SELECT e.workflow_id, 'leased', jsonb_build_object('worker_id', e.data -> 'leased_by'),
       CASE e.event_type
         WHEN 'created' THEN greatest((e.data ->> 'leased_at')::timestamptz, e.at)
         ELSE greatest(least((e.data ->> 'leased_at')::timestamptz, e.at), e.free_at) END,
       e.instance_id, e.seq, e.node, e.data ->> 'leased_by', e.tenant, e.id, 1
FROM recorded e
WHERE e.engine AND e.data ->> 'leased_at' IS NOT NULL
UNION ALL
SELECT e.workflow_id, 'started', jsonb_build_object('worker_id', e.data -> 'leased_by'),
       greatest(least((e.data ->> 'started_at')::timestamptz, e.at),
                CASE WHEN e.data ->> 'leased_at' IS NOT NULL THEN least((e.data ->> 'leased_at')::timestamptz, e.at) END,
                e.free_at),
       e.instance_id, e.seq, e.node, e.data ->> 'leased_by', e.tenant, e.id, 2
FROM recorded e
WHERE e.engine AND e.data ->> 'started_at' IS NOT NULL
UNION ALL
SELECT r.id, 'leased', jsonb_build_object('worker_id', r.leased_by),
       greatest(r.leased_at, (SELECT max(e.created_at) FROM workflow.workflow_event e WHERE e.workflow_id = r.id
                              AND e.event_type IN ('created', 'retried', 'returned', 'redriven'))),
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 1
FROM workflow.workflow_run r
WHERE r.status = 'leased' AND r.leased_at IS NOT NULL AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT FROM workflow.workflow_event e WHERE e.workflow_id = r.id
                  AND CASE WHEN e.engine THEN (e.data ->> 'leased_at')::timestamptz = r.leased_at END)
UNION ALL
SELECT r.id, 'started', jsonb_build_object('worker_id', r.leased_by),
       greatest(r.started_at, (SELECT max(e.created_at) FROM workflow.workflow_event e WHERE e.workflow_id = r.id
                               AND e.event_type IN ('created', 'retried', 'returned', 'redriven'))),
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 2
FROM workflow.workflow_run r
WHERE r.status = 'leased' AND r.started_at >= r.leased_at AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT FROM workflow.workflow_event e WHERE e.workflow_id = r.id
                  AND CASE WHEN e.engine THEN (e.data ->> 'started_at')::timestamptz = r.started_at END)
UNION ALL
SELECT r.id, 'created', NULL, r.created_at, r.instance_id, NULL, r.node, NULL, r.tenant, NULL, 0
FROM workflow.workflow_run r
WHERE NOT EXISTS (SELECT FROM workflow.workflow_event e WHERE e.workflow_id = r.id AND e.event_type = 'created');
