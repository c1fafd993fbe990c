-- Revision 1.
-- The audit tables of sagas, in the words of their notation.

-- A step of a saga has the number of its node among the nodes of the net that do work.
CREATE VIEW workflow_saga_plan AS
SELECT n.hash AS net_hash, e.value ->> '$.key' AS name,
       row_number() OVER (PARTITION BY n.hash ORDER BY e.key) - 1 AS step_index,
       coalesce(e.value ->> '$.work.program.subject', '') AS command_subject,
       coalesce(e.value ->> '$.undo.work.program.subject', '') AS compensation_subject
FROM workflow_net n JOIN json_each(n.net, '$.nodes') e
WHERE n.dialect = 'saga' AND e.value ->> '$.work.kind' = 'run';

-- request_json is the input of the saga, result_json the results of its steps by name, once it has completed.
-- current_step_index is the number of steps that have succeeded: in a sequence, the number of the current step.
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

-- A step is a row; its compensation is another, with step_index −(number + 1).
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
