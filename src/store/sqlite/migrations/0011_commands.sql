-- Commands of deferred runs: what a service elsewhere is asked to do, kept before it is published and until it is answered.
--   epoch         the lease of the run it was deferred under: a command of an earlier one is over
--   body          JSON text as it is sent, byte for byte
--   published_at  the last publication that was confirmed; publishes counts them
--   due_at        the next publication; null: never again
CREATE TABLE workflow_command (
  run_id TEXT NOT NULL PRIMARY KEY,
  instance_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  subject TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  resend_ms INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  published_at INTEGER,
  publishes INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER
) STRICT;

-- What is to be published next. Holds what is in flight, and for a resend interval what has just been answered.
CREATE INDEX idx_workflow_command_due ON workflow_command (due_at) WHERE due_at IS NOT NULL;

-- Messages from outside that could not be taken: the last ten thousand. What they name may not exist.
CREATE TABLE workflow_refused (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  subject TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  instance_id TEXT,
  step_id TEXT,
  body TEXT NOT NULL
) STRICT;

-- The steps of sagas have the numbers of their net's nodes that do work.
CREATE VIEW workflow_saga_plan AS
SELECT n.hash AS net_hash, e.value ->> '$.key' AS name,
       row_number() OVER (PARTITION BY n.hash ORDER BY e.key) - 1 AS step_index,
       coalesce(e.value ->> '$.work.program.subject', '') AS command_subject,
       coalesce(e.value ->> '$.undo.work.program.subject', '') AS compensation_subject
FROM workflow_net n JOIN json_each(n.net, '$.nodes') e
WHERE n.dialect = 'saga' AND e.value ->> '$.work.kind' = 'run';

-- The audit tables of sagas, in their own words.
-- request_json is what it was started with, result_json what its steps returned, by name, once it has completed.
-- current_step_index: how many steps have succeeded, which in a sequence is the number of the one under way.
CREATE VIEW saga_workflow_instance AS
SELECT i.id, i.tenant AS tenant_id, i.name AS type,
       CASE WHEN i.state IN ('completed', 'compensating', 'compensated') THEN i.state
            WHEN i.ended_at IS NOT NULL THEN 'failed' ELSE 'in_progress' END AS state,
       coalesce((SELECT s.value FROM workflow_slot s WHERE s.instance_id = i.id AND s.key = 'in'), 'null') AS request_json,
       CASE WHEN i.state = 'completed' THEN (
         SELECT json_group_object(r.node, json(coalesce(r.result, 'null'))) FROM workflow_run r
         WHERE r.instance_id = i.id AND r.role = 'work' AND r.status = 'succeeded') END AS result_json,
       (SELECT max(iif(s.key = 'e', s.value ->> '$.message', NULL))
               || coalesce('; undo: ' || max(iif(s.key = 'eu', s.value ->> '$.message', NULL)), '')
        FROM workflow_slot s WHERE s.instance_id = i.id AND s.key IN ('e', 'eu')) AS error,
       m.value ->> '$.meta.correlationId' AS correlation_id,
       m.value ->> '$.initiator' AS created_by,
       i.succeeded AS current_step_index,
       (SELECT count(*) FROM workflow_saga_plan p WHERE p.net_hash = i.net_hash) AS step_count,
       i.ended_at AS completed_at,
       (SELECT e.created_at FROM workflow_event e WHERE e.instance_id = i.id AND e.seq = i.event_seq) AS last_event_at,
       i.created_at
FROM workflow_instance i
LEFT JOIN workflow_slot m ON m.instance_id = i.id AND m.key = 'm'
WHERE i.dialect = 'saga' AND i.id = i.root_id;

-- A step is a row, and so is what undoes it, at −(its number + 1).
CREATE VIEW saga_workflow_step AS
SELECT r.id, r.instance_id AS workflow_id,
       CASE r.role WHEN 'undo' THEN -(p.step_index + 1) ELSE p.step_index END AS step_index,
       r.node AS name,
       CASE r.status WHEN 'succeeded' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
            ELSE 'in_progress' END AS state,
       c.body AS request_json, r.result AS response_json, r.last_error AS error,
       coalesce(c.subject, CASE r.role WHEN 'undo' THEN p.compensation_subject ELSE p.command_subject END) AS command_subject,
       coalesce(c.body, '') AS command_json, c.published_at AS command_published_at, r.id AS idempotency_key,
       coalesce(u.subject, p.compensation_subject) AS compensation_subject, coalesce(u.body, '') AS compensation_json,
       r.started_at, r.finished_at AS completed_at, r.created_at
FROM workflow_run r
JOIN workflow_instance i ON i.id = r.instance_id AND i.dialect = 'saga' AND i.id = i.root_id
JOIN workflow_saga_plan p ON p.net_hash = i.net_hash AND p.name = r.node
LEFT JOIN workflow_command c ON c.run_id = r.id
LEFT JOIN workflow_run ur ON ur.instance_id = r.instance_id AND ur.node = r.node AND ur.fire = r.fire
  AND ur.item = r.item AND ur.role = 'undo'
LEFT JOIN workflow_command u ON u.run_id = ur.id
WHERE r.role IN ('work', 'undo');
