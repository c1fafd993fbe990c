-- Revision 4.
-- Changes of runs by plain SQL. 55_run_insert.sql explains the triggers; src/model/run-transitions.ts has the transitions as
-- data.

CREATE TRIGGER workflow_run_update_check BEFORE UPDATE ON workflow_run WHEN new.engine_turn = old.engine_turn
BEGIN
  SELECT CASE
    -- An ended run stays as it is.
    WHEN old.status <> 'pending' AND old.status <> 'leased'
    THEN iif(new.deleted_at IS NOT old.deleted_at AND (new.status, new.result, new.last_error, new.run_at, new.priority)
      IS (old.status, old.result, old.last_error, old.run_at, old.priority), NULL, RAISE(IGNORE))
    WHEN new.status NOT IN ('pending', 'leased', 'succeeded', 'failed', 'cancelled')
    THEN RAISE(ABORT, 'workflow_run.status: must be pending, leased, succeeded, failed or cancelled')
    WHEN new.priority NOT BETWEEN -2147483648 AND 2147483647
    THEN RAISE(ABORT, 'workflow_run.priority: must be a whole number of 32 bits')
    WHEN new.run_at NOT BETWEEN 0 AND 253402300799999 OR new.lease_until NOT BETWEEN 0 AND 253402300799999
      OR new.deleted_at NOT BETWEEN 0 AND 253402300799999
    THEN RAISE(ABORT, 'workflow_run.run_at, lease_until, deleted_at: must be milliseconds since 1970, up to the year 9999')
    WHEN new.result IS NOT NULL AND NOT json_valid(new.result)
    THEN RAISE(ABORT, 'workflow_run.result: must be JSON')
    WHEN (new.epoch, new.session_id, new.deliveries, new.leased_at, new.started_at, new.first_started_at, new.finished_at,
        new.settled_at, new.done_seq, new.report_id, new.deferred, new.unknown_outcome, new.timeout_at)
      IS NOT (old.epoch, old.session_id, old.deliveries, old.leased_at, old.started_at, old.first_started_at,
        old.finished_at, old.settled_at, old.done_seq, old.report_id, old.deferred, old.unknown_outcome, old.timeout_at)
      OR (new.error, new.unique_key, new.dead_letter, new.cancel_requested_at, new.lease_ms)
      IS NOT (old.error, old.unique_key, old.dead_letter, old.cancel_requested_at, old.lease_ms)
    THEN RAISE(ABORT, 'workflow_run.epoch, session_id, started_at, error and the like: only the engine writes them; of a run only status, priority, run_at, type, payload, queue, max_attempts, attempt, leased_by, lease_until, last_error, result, updated_at and deleted_at may be changed')

    WHEN new.status = 'cancelled'
    THEN NULL
    WHEN new.status = 'succeeded'
    THEN iif(new.session_id IS NULL AND new.lease_ms IS NULL, NULL, RAISE(IGNORE))
    WHEN new.status = 'failed' OR (new.status = 'pending' AND old.status = 'leased')
    THEN iif(old.status = 'leased' AND new.session_id IS NULL AND new.lease_ms IS NULL
      AND (new.deferred = 0 OR new.status = 'failed'), NULL, RAISE(IGNORE))

    WHEN old.status = 'pending' AND new.status = 'leased'
    THEN CASE
      WHEN new.leased_by IS NULL OR length(new.leased_by) NOT BETWEEN 1 AND 255
        OR instr(CAST(new.leased_by AS BLOB), x'00') > 0
      THEN RAISE(ABORT, 'workflow_run.leased_by: a claim names its worker, in 1 to 255 characters')
      WHEN new.lease_until IS NULL OR new.lease_until <= (SELECT now FROM workflow_clock)
      THEN RAISE(ABORT, 'workflow_run.lease_until: a claim lasts until a later time, in milliseconds since 1970')
      WHEN new.deleted_at IS NOT NULL OR old.run_at > (SELECT now FROM workflow_clock)
        OR EXISTS (SELECT 1 FROM workflow_instance i WHERE i.id = new.instance_id AND i.phase = 'drain')
      THEN RAISE(IGNORE)
    END
    WHEN old.status = 'pending'
    THEN CASE
      WHEN new.leased_by IS NOT NULL
      THEN RAISE(ABORT, 'workflow_run.leased_by: a claim sets status to leased, leased_by and lease_until')
      -- The heartbeat of a worker that has lost its lease.
      WHEN new.lease_until IS NOT NULL
      THEN RAISE(IGNORE)
      WHEN new.result IS NOT NULL OR new.last_error IS NOT old.last_error
      THEN RAISE(ABORT, 'workflow_run.result, last_error: go with status succeeded or with a failure')
    END

    -- A heartbeat, or columns without consequence. A claim of a leased run passes here: workflow_run_reclaim decides.
    WHEN new.session_id IS NOT NULL OR new.lease_ms IS NOT NULL OR new.deferred = 1
    THEN iif(new.deleted_at IS NOT old.deleted_at AND new.lease_until IS old.lease_until, NULL, RAISE(IGNORE))
    WHEN new.lease_until IS NOT old.lease_until
      AND (new.lease_until IS NULL OR new.lease_until <= (SELECT now FROM workflow_clock))
    THEN RAISE(ABORT, 'workflow_run.lease_until: a heartbeat moves it to a later time, in milliseconds since 1970')
  END;
END;

-- A failure. Its number distinguishes a late worker from the current one: each lease that ended without success has counted.
CREATE TRIGGER workflow_run_failure_check BEFORE UPDATE OF attempt ON workflow_run
WHEN new.engine_turn = old.engine_turn
BEGIN
  SELECT CASE
    WHEN new.attempt NOT BETWEEN 0 AND 2147483647
    THEN RAISE(ABORT, 'workflow_run.attempt: must not be negative')
    WHEN old.status <> 'leased' AND old.status <> 'pending'
    THEN RAISE(IGNORE)
    WHEN new.status = 'pending' OR new.status = 'failed'
    THEN iif(old.status = 'leased' AND new.attempt = old.attempt + 1, NULL, RAISE(IGNORE))
    WHEN new.attempt <> old.attempt
    THEN RAISE(ABORT, 'workflow_run.attempt: counts failed executions: it goes with status pending or failed')
  END;
END;

-- A claim of a leased run. It changes nothing while the lease is current. An expired lease costs an attempt: the run is
-- pending again, or has failed if no attempt is left. The claim itself changes nothing even then, since RETURNING would show
-- the attempt as it was; the next claim finds the run pending.
CREATE VIEW workflow_inbox_reclaim AS SELECT NULL AS run, NULL AS epoch, NULL AS worker;

CREATE TRIGGER workflow_run_reclaim BEFORE UPDATE OF leased_by ON workflow_run
WHEN new.engine_turn = old.engine_turn AND new.status = 'leased' AND old.status = 'leased'
BEGIN
  INSERT INTO workflow_inbox_reclaim (run, epoch, worker) VALUES (old.rowid, old.epoch, old.leased_by);
  SELECT RAISE(IGNORE);
END;

-- Not for a run that is to be cancelled or whose workflow is ending: the engine decides about those.
CREATE TRIGGER workflow_inbox_reclaim INSTEAD OF INSERT ON workflow_inbox_reclaim
BEGIN
  UPDATE workflow_run SET status = e.status, attempt = attempt + 1, epoch = epoch + 1, leased_by = NULL, lease_until = NULL,
    last_error = 'the lease ran out',
    error = json_object('code', 'lease_expired', 'message', 'the lease ran out', 'category', 'transient'),
    started_at = iif(e.status = 'pending', NULL, started_at),
    timeout_at = iif(e.status = 'pending' AND timeout_per = 'attempt', NULL, timeout_at),
    run_at = iif(e.status = 'pending', e.now, run_at), finished_at = iif(e.status = 'pending', NULL, e.now),
    unknown_outcome = e.status = 'failed', deliveries = 0, updated_at = e.now, engine_turn = NOT engine_turn
  FROM (
    SELECT c.now, iif(r.attempt + 1 < r.max_attempts, 'pending', 'failed') AS status
    FROM workflow_run r, workflow_clock c
    WHERE r.rowid = new.run AND r.lease_until <= c.now AND r.session_id IS NULL AND r.lease_ms IS NULL AND r.deferred = 0
      AND r.cancel_requested_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM workflow_instance i WHERE i.id = r.instance_id AND i.phase = 'drain')) e
  WHERE workflow_run.rowid = new.run;
  INSERT INTO workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  SELECT id, iif(status = 'pending', 'retried', 'failed'), json_patch('{}', json_object(
      'attempt', attempt, 'error', json(error), 'reason', 'lease_expired',
      'run_at', iif(status = 'pending', strftime('%Y-%m-%dT%H:%M:%fZ', run_at / 1000.0, 'unixepoch'), NULL))),
    updated_at, instance_id, node, new.worker, tenant, 1
  FROM workflow_run
  WHERE rowid = new.run AND epoch > new.epoch AND (status = 'pending' OR instance_id IS NULL);
  INSERT INTO workflow_inbox_park (run) VALUES (new.run);
END;

-- A run of a paused workflow that is pending again is parked (src/model/pauses): it keeps its time in workflow_parked and is
-- due beyond every clock.
CREATE VIEW workflow_inbox_park AS SELECT NULL AS run;

CREATE TRIGGER workflow_inbox_park INSTEAD OF INSERT ON workflow_inbox_park
BEGIN
  DELETE FROM workflow_parked WHERE (owner, id) = (SELECT r.root_id, r.id FROM workflow_run r
    JOIN workflow_instance i ON i.id = r.root_id AND i.paused IS NOT NULL
    WHERE r.rowid = new.run AND r.status = 'pending' AND r.run_at < 253386403200000);
  INSERT INTO workflow_parked (owner, id, kind, since, run_at, expires_at, timeout_at)
  SELECT r.root_id, r.id, 'run', c.now, r.run_at, iif(i.paused = 'stop', r.expires_at, NULL),
    iif(i.paused = 'stop', r.timeout_at, NULL)
  FROM workflow_run r JOIN workflow_instance i ON i.id = r.root_id AND i.paused IS NOT NULL, workflow_clock c
  WHERE r.rowid = new.run AND r.status = 'pending' AND r.run_at < 253386403200000;
  UPDATE workflow_run SET run_at = 253386403200000, expires_at = iif(i.paused = 'stop', NULL, expires_at),
    timeout_at = iif(i.paused = 'stop', NULL, timeout_at), engine_turn = NOT engine_turn
  FROM workflow_instance i
  WHERE workflow_run.rowid = new.run AND i.id = workflow_run.root_id AND i.paused IS NOT NULL
    AND workflow_run.status = 'pending' AND workflow_run.run_at < 253386403200000;
END;

-- A claim of a paused type gets nothing, and must not find the same run first again: the run is parked.
CREATE VIEW workflow_inbox_park_type AS SELECT NULL AS run;

CREATE TRIGGER workflow_inbox_park_type INSTEAD OF INSERT ON workflow_inbox_park_type
BEGIN
  DELETE FROM workflow_parked WHERE (owner, id) = (SELECT 'type:' || r.type, r.id FROM workflow_run r WHERE r.rowid = new.run);
  INSERT INTO workflow_parked (owner, id, kind, since, run_at)
  SELECT 'type:' || r.type, r.id, 'run', c.now, r.run_at FROM workflow_run r, workflow_clock c WHERE r.rowid = new.run;
  UPDATE workflow_run SET run_at = 253386403200000, engine_turn = NOT engine_turn WHERE rowid = new.run;
END;

CREATE TRIGGER workflow_run_paused_type BEFORE UPDATE OF status ON workflow_run
WHEN new.engine_turn = old.engine_turn AND old.status = 'pending' AND new.status = 'leased'
  AND old.run_at <= (SELECT now FROM workflow_clock)
  AND EXISTS (SELECT 1 FROM workflow_pause p WHERE p.kind = 'type' AND p.key = old.type)
BEGIN
  INSERT INTO workflow_inbox_park_type (run) VALUES (old.rowid);
  SELECT RAISE(IGNORE);
END;

-- The row as it was; the table has the row as it is now.
CREATE VIEW workflow_inbox_update AS SELECT NULL AS run, NULL AS turn, NULL AS was, NULL AS attempt_was, NULL AS worker_was,
  NULL AS lease_was, NULL AS deleted_was;

CREATE TRIGGER workflow_run_update AFTER UPDATE ON workflow_run WHEN new.engine_turn = old.engine_turn
BEGIN
  INSERT INTO workflow_inbox_update (run, turn, was, attempt_was, worker_was, lease_was, deleted_was)
  VALUES (new.rowid, new.engine_turn, old.status, old.attempt, old.leased_by, old.lease_until, old.deleted_at);
END;

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

  -- The first success.
  UPDATE workflow_run SET leased_by = NULL, lease_until = NULL, epoch = epoch + 1, finished_at = c.now, last_error = NULL,
    error = NULL, updated_at = c.now, engine_turn = NOT engine_turn
  FROM workflow_clock c WHERE workflow_run.rowid = new.run AND status = 'succeeded' AND finished_at IS NULL;

  -- A cancel, whatever holds the run. deleted_at cancels a run of an instance as well: no claim would ever end it.
  UPDATE workflow_run SET status = 'cancelled', leased_by = NULL, lease_until = NULL, epoch = epoch + 1,
    finished_at = c.now, unknown_outcome = new.was = 'leased', last_error = 'cancelled by plain SQL',
    error = json_object('code', 'cancelled', 'message', 'cancelled by plain SQL'),
    updated_at = c.now, engine_turn = NOT engine_turn
  FROM workflow_clock c
  WHERE workflow_run.rowid = new.run AND finished_at IS NULL
    AND (status = 'cancelled'
      OR (status = new.was AND instance_id IS NOT NULL AND new.deleted_was IS NULL AND deleted_at IS NOT NULL));

  -- All other changes.
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
  -- With the lease of a session, which no event has recorded yet.
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
  INSERT INTO workflow_inbox_park (run) VALUES (new.run);
END;

-- Columns that the engine never writes again.
CREATE TRIGGER workflow_run_edit_check BEFORE UPDATE OF id, type, payload, idempotency_key, max_attempts, created_at, queue,
  tenant, instance_id, root_id, node, fire, item, role, scope, timeout_ms, timeout_per, expires_at, retry, limit_key, meta,
  inbox, fair_key ON workflow_run WHEN new.engine_turn = old.engine_turn
BEGIN
  SELECT CASE
    WHEN old.status <> 'pending' AND old.status <> 'leased'
    THEN RAISE(IGNORE)
    WHEN (new.id, new.idempotency_key, new.created_at, new.tenant, new.instance_id, new.root_id, new.node, new.fire, new.item)
        IS NOT (old.id, old.idempotency_key, old.created_at, old.tenant, old.instance_id, old.root_id, old.node, old.fire,
          old.item)
      OR (new.role, new.scope, new.timeout_ms, new.timeout_per, new.expires_at, new.retry, new.limit_key, new.meta, new.inbox, new.fair_key)
        IS NOT (old.role, old.scope, old.timeout_ms, old.timeout_per, old.expires_at, old.retry, old.limit_key, old.meta,
          old.inbox, old.fair_key)
    THEN RAISE(ABORT, 'workflow_run.id, idempotency_key, created_at, tenant, instance_id and the like: cannot be changed')
    WHEN new.max_attempts NOT BETWEEN 1 AND 1000 AND new.max_attempts <> old.max_attempts
    THEN RAISE(ABORT, 'workflow_run.max_attempts: must be from 1 to 1000')
    WHEN new.type = old.type AND new.payload = old.payload AND new.queue = old.queue
    THEN NULL
    WHEN old.status <> 'pending' OR new.status <> 'pending'
    THEN RAISE(ABORT, 'workflow_run.type, payload, queue: can be changed only while the run is pending')
    WHEN old.inbox = 0 AND (new.type <> old.type OR new.payload <> old.payload)
    THEN RAISE(ABORT, 'workflow_run.type, payload: can be changed only of an inbox run, not of a step or a job')
    WHEN length(new.queue) NOT BETWEEN 1 AND 255 OR instr(CAST(new.queue AS BLOB), x'00') > 0
    THEN RAISE(ABORT, 'workflow_run.queue: must have 1 to 255 characters')
    WHEN NOT json_valid(new.payload)
    THEN RAISE(ABORT, 'workflow_run.payload: must be JSON')
    WHEN new.type <> old.type AND (length(new.type) NOT BETWEEN 1 AND 255 OR new.type GLOB '*[' || char(9) || '-' || char(13, 32, 133, 160) || ']*'
      OR new.type GLOB '.*' OR instr(new.type, '..') > 0 OR instr(CAST(new.type AS BLOB), x'00') > 0
      OR rtrim(new.type, '0123456789') NOT GLOB '?*.v' OR rtrim(new.type, '0123456789') = new.type)
    THEN RAISE(ABORT, 'workflow_run.type: must be dotted and end in a version, such as content.thumbnail.v1, in at most 255 characters')
  END;
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
