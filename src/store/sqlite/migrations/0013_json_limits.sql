-- JSON written by plain SQL is limited in size and depth, as JSON through any other interface is (engine/edge.ts has the
-- same two numbers, and test/inbox/json-limits.test.ts compares them). What SQLite itself does not read as JSON (1000
-- levels and more) the other triggers refuse.

-- A trigger has no recursion of its own and a view no argument: a value is put here, measured and taken away again, in
-- one statement. Only one with more than 200 opening brackets comes here.
CREATE TABLE workflow_json_measured (value TEXT NOT NULL);

CREATE VIEW workflow_json_depth AS
WITH RECURSIVE
  container AS MATERIALIZED (
    SELECT j.id, j.parent FROM workflow_json_measured m, json_tree(m.value) j WHERE j.type IN ('array', 'object')),
  reached (id, depth) AS (
    SELECT id, 1 FROM container WHERE parent IS NULL
    UNION ALL
    SELECT c.id, r.depth + 1 FROM reached r JOIN container c ON c.parent = r.id WHERE r.depth <= 200)
SELECT max(depth) AS depth FROM reached;

-- What was written, and where, for the message.
CREATE VIEW workflow_json_check AS SELECT NULL AS place, NULL AS value;

CREATE TRIGGER workflow_json_check INSTEAD OF INSERT ON workflow_json_check
WHEN length(new.value) > 400
BEGIN
  SELECT CASE new.place
    WHEN 'payload' THEN RAISE(ABORT, 'workflow_run.payload: has at most 1048576 bytes; keep large values elsewhere and store a reference')
    WHEN 'result' THEN RAISE(ABORT, 'workflow_run.result: has at most 1048576 bytes; keep large values elsewhere and store a reference')
    WHEN 'data' THEN RAISE(ABORT, 'workflow_event.data: has at most 1048576 bytes; keep large values elsewhere and store a reference')
    ELSE RAISE(ABORT, 'workflow_schedule.payload: has at most 1048576 bytes; keep large values elsewhere and store a reference')
  END WHERE length(CAST(new.value AS BLOB)) > 1048576;
  INSERT INTO workflow_json_measured (value)
  SELECT new.value WHERE json_valid(new.value) AND length(new.value) - length(replace(replace(new.value, '[', ''), '{', '')) > 200;
  SELECT CASE new.place
    WHEN 'payload' THEN RAISE(ABORT, 'workflow_run.payload: is nested at most 200 levels deep, not more')
    WHEN 'result' THEN RAISE(ABORT, 'workflow_run.result: is nested at most 200 levels deep, not more')
    WHEN 'data' THEN RAISE(ABORT, 'workflow_event.data: is nested at most 200 levels deep, not more')
    ELSE RAISE(ABORT, 'workflow_schedule.payload: is nested at most 200 levels deep, not more')
  END FROM workflow_json_depth WHERE depth > 200;
  DELETE FROM workflow_json_measured;
END;

CREATE TRIGGER workflow_run_payload_insert_limit BEFORE INSERT ON workflow_run
WHEN new.engine_turn = 0 AND length(new.payload) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('payload', new.payload);
END;

CREATE TRIGGER workflow_run_payload_limit BEFORE UPDATE OF payload ON workflow_run
WHEN new.engine_turn = old.engine_turn AND length(new.payload) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('payload', new.payload);
END;

CREATE TRIGGER workflow_run_result_limit BEFORE UPDATE OF result ON workflow_run
WHEN new.engine_turn = old.engine_turn AND length(new.result) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('result', new.result);
END;

-- As before (0007), but a long message is cut. A failure is always recorded, so it is not refused; the engine reads no
-- more of it either.
DROP TRIGGER workflow_inbox_update;
CREATE TRIGGER workflow_inbox_update INSTEAD OF INSERT ON workflow_inbox_update
BEGIN
  -- A claim.
  UPDATE workflow_run SET started_at = c.now, first_started_at = coalesce(first_started_at, c.now),
    timeout_at = iif(timeout_per = 'node', coalesce(first_started_at, c.now), c.now) + timeout_ms, report_id = NULL,
    updated_at = c.now, engine_turn = NOT engine_turn
  FROM workflow_clock c WHERE workflow_run.rowid = new.run AND new.was = 'pending' AND status = 'leased';

  -- The lease is left: a failure (counted, at most max_attempts), or given back (counted only when it had run out).
  UPDATE workflow_run SET status = e.status, attempt = new.attempt_was + e.counted, epoch = epoch + 1, leased_by = NULL,
    lease_until = NULL, deliveries = 0, last_error = iif(e.expired, 'the lease ran out', substr(last_error, 1, 65536)),
    error = CASE WHEN e.expired
                 THEN json_object('code', 'lease_expired', 'message', 'the lease ran out', 'category', 'transient')
                 WHEN e.counted
                 THEN json_object('code', 'handler_error', 'message', coalesce(substr(last_error, 1, 65536), 'failed without a word'))
                 ELSE error END,
    started_at = iif(e.status = 'pending', NULL, started_at),
    timeout_at = iif(e.status = 'pending' AND timeout_per = 'attempt', NULL, timeout_at),
    report_id = iif(e.status = 'pending', NULL, report_id), finished_at = iif(e.status = 'pending', NULL, e.now),
    updated_at = e.now, engine_turn = NOT engine_turn
  FROM (
    SELECT now, counted, expired,
      CASE WHEN given = 'failed' OR (counted AND (ending OR new.attempt_was + 1 >= max_attempts)) THEN 'failed'
           WHEN ending THEN 'cancelled' ELSE 'pending' END AS status
    FROM (
      SELECT c.now, r.status AS given, r.max_attempts,
        r.status = 'failed' OR r.attempt > new.attempt_was OR new.lease_was <= c.now AS counted,
        r.status = 'pending' AND r.attempt = new.attempt_was AND new.lease_was <= c.now AS expired,
        r.cancel_requested_at IS NOT NULL
          OR EXISTS (SELECT 1 FROM workflow_instance i WHERE i.id = r.instance_id AND i.phase = 'drain') AS ending
      FROM workflow_run r, workflow_clock c WHERE r.rowid = new.run)) e
  WHERE workflow_run.rowid = new.run AND new.was = 'leased'
    AND (workflow_run.status = 'pending' OR workflow_run.status = 'failed');

  -- Success, the first of them.
  UPDATE workflow_run SET leased_by = NULL, lease_until = NULL, epoch = epoch + 1, finished_at = c.now, last_error = NULL,
    error = NULL, updated_at = c.now, engine_turn = NOT engine_turn
  FROM workflow_clock c WHERE workflow_run.rowid = new.run AND status = 'succeeded' AND finished_at IS NULL;

  -- Cancelled, whoever holds it; a run of an instance also by its deletion, since nobody would ever end it.
  UPDATE workflow_run SET status = 'cancelled', leased_by = NULL, lease_until = NULL, epoch = epoch + 1,
    finished_at = c.now, unknown_outcome = new.was = 'leased', last_error = 'cancelled by plain SQL',
    error = json_object('code', 'cancelled', 'message', 'cancelled by plain SQL'),
    updated_at = c.now, engine_turn = NOT engine_turn
  FROM workflow_clock c
  WHERE workflow_run.rowid = new.run AND finished_at IS NULL
    AND (status = 'cancelled'
      OR (status = new.was AND instance_id IS NOT NULL AND new.deleted_was IS NULL AND deleted_at IS NOT NULL));

  -- All the rest.
  UPDATE workflow_run SET updated_at = c.now, engine_turn = NOT engine_turn
  FROM workflow_clock c WHERE workflow_run.rowid = new.run AND engine_turn = new.turn;

  INSERT INTO workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  SELECT id, 'leased', json_object('worker_id', leased_by, 'attempt', attempt), updated_at, instance_id, node, leased_by,
    tenant, 1
  FROM workflow_run WHERE rowid = new.run AND new.was = 'pending' AND status = 'leased';
  INSERT INTO workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  SELECT id, 'started', json_object('worker_id', leased_by), updated_at, instance_id, node, leased_by, tenant, 1
  FROM workflow_run WHERE rowid = new.run AND new.was = 'pending' AND status = 'leased';
  INSERT INTO workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  SELECT id, 'heartbeat',
    json_object('extended_by_seconds', CAST(round((lease_until - updated_at) / 1000.0) AS INTEGER)), updated_at,
    instance_id, node, leased_by, tenant, 1
  FROM workflow_run
  WHERE rowid = new.run AND new.was = 'leased' AND status = 'leased' AND lease_until IS NOT new.lease_was;
  INSERT INTO workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  SELECT id, iif(attempt > new.attempt_was, 'retried', 'returned'),
    iif(attempt > new.attempt_was, json_object('attempt', attempt, 'error', json(error),
      'run_at', strftime('%Y-%m-%dT%H:%M:%fZ', run_at / 1000.0, 'unixepoch')), NULL),
    updated_at, instance_id, node, new.worker_was, tenant, 1
  FROM workflow_run WHERE rowid = new.run AND new.was = 'leased' AND status = 'pending';
  -- With the lease of a session, which nobody has told yet.
  INSERT INTO workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  SELECT id, status, nullif(json_patch('{}', json_object(
      'attempt', iif(status = 'succeeded', NULL, attempt), 'error', json(error),
      'leased_at', iif(session_id IS NOT NULL AND report_id IS NULL, strftime('%Y-%m-%dT%H:%M:%fZ', leased_at / 1000.0, 'unixepoch'), NULL),
      'leased_by', iif(session_id IS NOT NULL AND report_id IS NULL, new.worker_was, NULL),
      'started_at', iif(session_id IS NOT NULL, strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), NULL))), '{}'),
    updated_at, instance_id, node, iif(status = 'cancelled', NULL, new.worker_was), tenant, 1
  FROM workflow_run
  WHERE rowid = new.run AND (new.was = 'pending' OR new.was = 'leased') AND status <> 'pending' AND status <> 'leased'
    AND instance_id IS NULL;
END;

CREATE TRIGGER workflow_event_data_limit BEFORE INSERT ON workflow_event WHEN new.engine = 0 AND length(new.data) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('data', new.data);
END;

CREATE TRIGGER workflow_schedule_payload_insert_limit BEFORE INSERT ON workflow_schedule WHEN length(new.payload) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('schedule', new.payload);
END;

CREATE TRIGGER workflow_schedule_payload_limit BEFORE UPDATE OF payload ON workflow_schedule WHEN length(new.payload) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('schedule', new.payload);
END;

CREATE TRIGGER workflow_registry_insert_texts BEFORE INSERT ON workflow_registry BEGIN
  SELECT RAISE(ABORT, 'workflow_registry.workflow_name, runtime, intent_type: have at most 255 characters')
  WHERE length(new.workflow_name) > 255 OR length(new.runtime) > 255 OR length(new.intent_type) > 255;
  SELECT RAISE(ABORT, 'workflow_registry.description: has at most 10000 characters') WHERE length(new.description) > 10000;
END;

CREATE TRIGGER workflow_registry_update_texts BEFORE UPDATE ON workflow_registry BEGIN
  SELECT RAISE(ABORT, 'workflow_registry.workflow_name, runtime, intent_type: have at most 255 characters')
  WHERE length(new.workflow_name) > 255 OR length(new.runtime) > 255 OR length(new.intent_type) > 255;
  SELECT RAISE(ABORT, 'workflow_registry.description: has at most 10000 characters') WHERE length(new.description) > 10000;
END;
