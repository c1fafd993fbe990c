-- Commands of deferred runs: what a service elsewhere is asked to do, kept before it is published and until it is answered.
--   epoch         the lease of the run it was deferred under: a command of an earlier one is over
--   body          JSON text as it is sent, byte for byte
--   published_at  the last publication that was confirmed; publishes counts them
--   due_at        the next publication; null: never again
CREATE TABLE workflow.workflow_command (
  run_id       uuid PRIMARY KEY,
  instance_id  uuid NOT NULL,
  epoch        integer NOT NULL,
  subject      text NOT NULL,
  body         text NOT NULL CHECK (body::json IS NOT NULL),
  resend_ms    bigint NOT NULL,
  created_at   timestamptz NOT NULL,
  published_at timestamptz,
  publishes    integer NOT NULL DEFAULT 0,
  due_at       timestamptz
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);

-- What is to be published next. Holds what is in flight, and for a resend interval what has just been answered.
CREATE INDEX workflow_command_due ON workflow.workflow_command (due_at) WHERE due_at IS NOT NULL;

-- Messages from outside that could not be taken: the last ten thousand. What they name may not exist.
CREATE TABLE workflow.workflow_refused (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at          timestamptz NOT NULL,
  subject     text NOT NULL,
  code        text NOT NULL,
  message     text NOT NULL,
  instance_id text,
  step_id     text,
  body        text NOT NULL
);

-- The steps of sagas have the numbers of their net's nodes that do work.
CREATE VIEW workflow.workflow_saga_plan AS
SELECT n.hash AS net_hash, e.node ->> 'key' AS name,
       (row_number() OVER (PARTITION BY n.hash ORDER BY e.at) - 1)::integer AS step_index,
       coalesce(e.node #>> '{work,program,subject}', '') AS command_subject,
       coalesce(e.node #>> '{undo,work,program,subject}', '') AS compensation_subject
FROM workflow.workflow_net n
CROSS JOIN LATERAL json_array_elements(n.net -> 'nodes') WITH ORDINALITY e(node, at)
WHERE n.dialect = 'saga' AND e.node #>> '{work,kind}' = 'run';

-- The audit tables of sagas, in their own words. A role that may not create schemas may use one made for it.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'saga') THEN
    CREATE SCHEMA saga;
  END IF;
END
$$;

-- request_json is what it was started with, result_json what its steps returned, by name, once it has completed.
-- current_step_index: how many steps have succeeded, which in a sequence is the number of the one under way.
CREATE VIEW saga.workflow_instance AS
SELECT i.id, i.tenant AS tenant_id, i.name AS type,
       CASE WHEN i.state IN ('completed', 'compensating', 'compensated') THEN i.state
            WHEN i.ended_at IS NOT NULL THEN 'failed' ELSE 'in_progress' END AS state,
       coalesce((SELECT s.value FROM workflow.workflow_slot s WHERE s.instance_id = i.id AND s.key = 'in')::jsonb, 'null')
         AS request_json,
       CASE WHEN i.state = 'completed' THEN (
         SELECT coalesce(jsonb_object_agg(r.node, coalesce(r.result, 'null')), '{}') FROM workflow.workflow_run r
         WHERE r.instance_id = i.id AND r.role = 'work' AND r.status = 'succeeded') END AS result_json,
       (SELECT nullif(concat_ws('; undo: ', max(s.value ->> 'message') FILTER (WHERE s.key = 'e'),
                                max(s.value ->> 'message') FILTER (WHERE s.key = 'eu')), '')
        FROM workflow.workflow_slot s WHERE s.instance_id = i.id AND s.key IN ('e', 'eu')) AS error,
       m.value #>> '{meta,correlationId}' AS correlation_id,
       m.value ->> 'initiator' AS created_by,
       i.succeeded AS current_step_index,
       (SELECT count(*)::integer FROM workflow.workflow_saga_plan p WHERE p.net_hash = i.net_hash) AS step_count,
       i.ended_at AS completed_at,
       (SELECT e.created_at FROM workflow.workflow_event e WHERE e.instance_id = i.id AND e.seq = i.event_seq) AS last_event_at,
       i.created_at
FROM workflow.workflow_instance i
LEFT JOIN workflow.workflow_slot m ON m.instance_id = i.id AND m.key = 'm'
WHERE i.dialect = 'saga' AND i.id = i.root_id;

-- A step is a row, and so is what undoes it, at −(its number + 1).
CREATE VIEW saga.workflow_step AS
SELECT r.id, r.instance_id AS workflow_id,
       CASE r.role WHEN 'undo' THEN -(p.step_index + 1) ELSE p.step_index END AS step_index,
       r.node AS name,
       CASE r.status WHEN 'succeeded' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
            ELSE 'in_progress' END AS state,
       c.body::jsonb AS request_json, r.result AS response_json, r.last_error AS error,
       coalesce(c.subject, CASE r.role WHEN 'undo' THEN p.compensation_subject ELSE p.command_subject END) AS command_subject,
       coalesce(c.body, '') AS command_json, c.published_at AS command_published_at, r.id::text AS idempotency_key,
       coalesce(u.subject, p.compensation_subject) AS compensation_subject, coalesce(u.body, '') AS compensation_json,
       r.started_at, r.finished_at AS completed_at, r.created_at
FROM workflow.workflow_run r
JOIN workflow.workflow_instance i ON i.id = r.instance_id AND i.dialect = 'saga' AND i.id = i.root_id
JOIN workflow.workflow_saga_plan p ON p.net_hash = i.net_hash AND p.name = r.node
LEFT JOIN workflow.workflow_command c ON c.run_id = r.id
LEFT JOIN workflow.workflow_run ur ON ur.instance_id = r.instance_id AND ur.node = r.node AND ur.fire = r.fire
  AND ur.item = r.item AND ur.role = 'undo'
LEFT JOIN workflow.workflow_command u ON u.run_id = ur.id
WHERE r.role IN ('work', 'undo');
