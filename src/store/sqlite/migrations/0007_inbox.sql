-- The inbox: what programs write into the tables by plain SQL, held to the promises.

-- Flipped by every write of the engine. A write that leaves it alone comes from outside.
ALTER TABLE workflow_run ADD COLUMN engine_turn INTEGER NOT NULL DEFAULT 0;
-- Put in by plain SQL or as an inbox run.
ALTER TABLE workflow_run ADD COLUMN inbox INTEGER NOT NULL DEFAULT 0;
-- 1: written by the engine, or by a trigger in its place.
ALTER TABLE workflow_event ADD COLUMN engine INTEGER NOT NULL DEFAULT 0;
UPDATE workflow_event SET engine = 1;

-- Lists of the inbox, newest first.
CREATE INDEX idx_workflow_run_inbox ON workflow_run (created_at DESC, id DESC) WHERE inbox = 1;
-- Retention of soft-deleted runs.
CREATE INDEX idx_workflow_run_deleted_at ON workflow_run (deleted_at) WHERE deleted_at IS NOT NULL;

-- The store's clock, for SQL: lease_until = (SELECT now FROM workflow_clock) + 30000.
CREATE VIEW workflow_clock AS
SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + coalesce(
  (SELECT CAST(value AS INTEGER) FROM workflow_setting WHERE key = 'clock_offset_ms'), 0) AS now;

-- What a statement means is told by the columns it names (leased_by: a claim; attempt: a failure) and by the status before
-- and after. A BEFORE trigger refuses (RAISE(ABORT), naming the column and the rule) or lets the row be as it was
-- (RAISE(IGNORE): 0 rows changed, which is what a worker that lost a race should see). An AFTER trigger completes the row
-- by an UPDATE of its own, which flips engine_turn and so is no foreign write. Triggers of one kind have no order, so none
-- relies on another.
--
-- A foreign lease has neither session nor lease_ms and is not deferred. Its `leased` and `started` are told when it begins;
-- leased_at stays NULL. Whatever ends a run here leaves settled_at NULL: the engine advances the instance and, for a run of
-- an instance, tells the end; the end of a bare run is told here.
--
-- A trigger costs before its WHEN is looked at: SQLite sets up as many registers as its whole program needs, and every
-- statement that might fire one copies the pages it changes (insert of a run 5.8 → 9.3 µs, update 4.7 → 7.9, event 3.1 →
-- 5.1). So the engine's connections forget those whose WHEN begins with new.engine: see triggers.ts. For when they have
-- them after all, they are few, and what a foreign write really does lies behind the views workflow_inbox_*, in INSTEAD OF
-- triggers that only a foreign write sets up.

-- 1. A new run.

-- INSERT OR REPLACE would remove the run that has the key. A statement inside a trigger takes the conflict clause of the
-- one that fired it, so an INSERT OR IGNORE that meets this row overwrites it only then.
INSERT INTO workflow_setting (key, value) VALUES ('on_conflict', 'keep');

CREATE TRIGGER workflow_run_insert_check BEFORE INSERT ON workflow_run WHEN new.engine_turn = 0
BEGIN
  SELECT CASE
    WHEN new.status <> 'pending'
    THEN RAISE(ABORT, 'workflow_run.status: a new run is pending; claim it by an UPDATE')
    WHEN length(new.id) <> 36 OR new.id GLOB '*[^0-9a-f-]*' OR new.id NOT GLOB '????????-????-????-????-????????????'
    THEN RAISE(ABORT, 'workflow_run.id: must be a UUID in lower case; leave it out to have one made')
    WHEN length(new.type) NOT BETWEEN 1 AND 255 OR new.type GLOB '*[' || char(9) || '-' || char(13, 32, 133, 160) || ']*'
      OR new.type GLOB '.*' OR instr(new.type, '..') > 0 OR instr(CAST(new.type AS BLOB), x'00') > 0
      OR rtrim(new.type, '0123456789') NOT GLOB '?*.v' OR rtrim(new.type, '0123456789') = new.type
    THEN RAISE(ABORT, 'workflow_run.type: must be dotted and end in a version, such as content.thumbnail.v1, in at most 255 characters')
    WHEN NOT json_valid(new.payload)
    THEN RAISE(ABORT, 'workflow_run.payload: must be JSON')
    WHEN length(new.idempotency_key) NOT BETWEEN 1 AND 512 OR instr(CAST(new.idempotency_key AS BLOB), x'00') > 0
    THEN RAISE(ABORT, 'workflow_run.idempotency_key: must have 1 to 512 characters')
    WHEN new.attempt <> 0
    THEN RAISE(ABORT, 'workflow_run.attempt: counts failed executions, so a new run has 0')
    WHEN new.max_attempts NOT BETWEEN 1 AND 1000
    THEN RAISE(ABORT, 'workflow_run.max_attempts: must be from 1 to 1000')
    WHEN new.priority NOT BETWEEN -2147483648 AND 2147483647
    THEN RAISE(ABORT, 'workflow_run.priority: must be a whole number of 32 bits')
    WHEN new.run_at NOT BETWEEN 0 AND 253402300799999 OR new.created_at NOT BETWEEN 0 AND 253402300799999
    THEN RAISE(ABORT, 'workflow_run.run_at, created_at: must be milliseconds since 1970, up to the year 9999')
    WHEN length(new.queue) NOT BETWEEN 1 AND 255 OR instr(CAST(new.queue AS BLOB), x'00') > 0
    THEN RAISE(ABORT, 'workflow_run.queue: must have 1 to 255 characters')
    WHEN new.timeout_ms NOT BETWEEN 1 AND 253402300799999 OR new.expires_at NOT BETWEEN 0 AND 253402300799999
    THEN RAISE(ABORT, 'workflow_run.timeout_ms, expires_at: must be milliseconds')
    WHEN (new.leased_by, new.lease_until, new.last_error, new.result, new.deleted_at) IS NOT (NULL, NULL, NULL, NULL, NULL)
    THEN RAISE(ABORT, 'workflow_run.leased_by, lease_until, last_error, result, deleted_at: a new run has none')
    WHEN (new.instance_id, new.root_id, new.node, new.fire, new.item, new.role, new.scope, new.epoch, new.session_id)
        IS NOT (NULL, NULL, NULL, 0, -1, 'work', '', 0, NULL)
      OR (new.deliveries, new.leased_at, new.started_at, new.first_started_at, new.finished_at, new.settled_at)
        IS NOT (0, NULL, NULL, NULL, NULL, NULL)
      OR (new.done_seq, new.report_id, new.deferred, new.unknown_outcome, new.timeout_at, new.retry, new.error)
        IS NOT (NULL, NULL, 0, 0, NULL, NULL, NULL)
      OR (new.unique_key, new.dead_letter, new.cancel_requested_at, new.meta, new.lease_ms) IS NOT (NULL, 0, NULL, NULL, NULL)
    THEN RAISE(ABORT, 'workflow_run.instance_id and the like: only the engine writes them; a new run has id, type, payload, priority, run_at, idempotency_key, max_attempts, queue, tenant, limit_key, timeout_ms, timeout_per, expires_at')
  END;
  INSERT OR IGNORE INTO workflow_setting (key, value) SELECT 'on_conflict', 'replace' FROM workflow_run
    WHERE idempotency_key = new.idempotency_key OR id = new.id;
  SELECT RAISE(ABORT, 'workflow_run.idempotency_key, id: a run cannot be replaced; use ON CONFLICT DO NOTHING')
    FROM workflow_setting WHERE key = 'on_conflict' AND value = 'replace';
  -- The key of a run that retention has removed is still taken.
  SELECT RAISE(IGNORE) FROM workflow_kept_key WHERE idempotency_key = new.idempotency_key;
END;

CREATE VIEW workflow_inbox_insert AS SELECT NULL AS run;

CREATE TRIGGER workflow_run_insert AFTER INSERT ON workflow_run WHEN new.engine_turn = 0
BEGIN
  INSERT INTO workflow_inbox_insert (run) VALUES (new.rowid);
END;

-- The defaults of the times come from the machine's clock. `now` stands still within a statement, so a time that was left
-- out can be told, and is read again from the store's clock.
CREATE TRIGGER workflow_inbox_insert INSTEAD OF INSERT ON workflow_inbox_insert
BEGIN
  UPDATE workflow_run SET inbox = 1, engine_turn = 1, updated_at = c.now,
    run_at = iif(run_at = c.machine, c.now, run_at), created_at = iif(created_at = c.machine, c.now, created_at)
  FROM (SELECT now, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS machine FROM workflow_clock) c
  WHERE workflow_run.rowid = new.run;
  INSERT INTO workflow_event (workflow_id, event_type, data, created_at, tenant, engine)
  SELECT id, 'created', iif(run_at > updated_at, json_object('run_at', strftime('%Y-%m-%dT%H:%M:%fZ', run_at / 1000.0, 'unixepoch')), NULL),
    updated_at, tenant, 1
  FROM workflow_run WHERE rowid = new.run;
END;

-- 2. A changed run.

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
      -- The heartbeat of a worker whose lease was taken back.
      WHEN new.lease_until IS NOT NULL
      THEN RAISE(IGNORE)
      WHEN new.result IS NOT NULL OR new.last_error IS NOT old.last_error
      THEN RAISE(ABORT, 'workflow_run.result, last_error: go with status succeeded or with a failure')
    END

    -- A heartbeat, or nothing that matters. A claim of a leased run passes here: workflow_run_reclaim decides.
    WHEN new.session_id IS NOT NULL OR new.lease_ms IS NOT NULL OR new.deferred = 1
    THEN iif(new.deleted_at IS NOT old.deleted_at AND new.lease_until IS old.lease_until, NULL, RAISE(IGNORE))
    WHEN new.lease_until IS NOT old.lease_until
      AND (new.lease_until IS NULL OR new.lease_until <= (SELECT now FROM workflow_clock))
    THEN RAISE(ABORT, 'workflow_run.lease_until: a heartbeat moves it to a later time, in milliseconds since 1970')
  END;
END;

-- A failure. Its number tells a late worker's from the current one's: each lease that ended without success has counted.
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

-- A claim of a leased run. While the lease runs it changes nothing. One that ran out is taken back, for an attempt, or ends
-- if none is left. The claim itself changes nothing even then, since RETURNING would show the attempt as it was: the next
-- one finds the run pending.
CREATE VIEW workflow_inbox_reclaim AS SELECT NULL AS run, NULL AS epoch, NULL AS worker;

CREATE TRIGGER workflow_run_reclaim BEFORE UPDATE OF leased_by ON workflow_run
WHEN new.engine_turn = old.engine_turn AND new.status = 'leased' AND old.status = 'leased'
BEGIN
  INSERT INTO workflow_inbox_reclaim (run, epoch, worker) VALUES (old.rowid, old.epoch, old.leased_by);
  SELECT RAISE(IGNORE);
END;

-- Of a run that is to end, the engine decides.
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
END;

-- What the row was; what it has become is in the table.
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
    lease_until = NULL, deliveries = 0, last_error = iif(e.expired, 'the lease ran out', last_error),
    error = CASE WHEN e.expired
                 THEN json_object('code', 'lease_expired', 'message', 'the lease ran out', 'category', 'transient')
                 WHEN e.counted
                 THEN json_object('code', 'handler_error', 'message', coalesce(last_error, 'failed without a word'))
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

-- Columns that the engine never writes again.
CREATE TRIGGER workflow_run_edit_check BEFORE UPDATE OF id, type, payload, idempotency_key, max_attempts, created_at, queue,
  tenant, instance_id, root_id, node, fire, item, role, scope, timeout_ms, timeout_per, expires_at, retry, limit_key, meta,
  inbox ON workflow_run WHEN new.engine_turn = old.engine_turn
BEGIN
  SELECT CASE
    WHEN old.status <> 'pending' AND old.status <> 'leased'
    THEN RAISE(IGNORE)
    WHEN (new.id, new.idempotency_key, new.created_at, new.tenant, new.instance_id, new.root_id, new.node, new.fire, new.item)
        IS NOT (old.id, old.idempotency_key, old.created_at, old.tenant, old.instance_id, old.root_id, old.node, old.fire,
          old.item)
      OR (new.role, new.scope, new.timeout_ms, new.timeout_per, new.expires_at, new.retry, new.limit_key, new.meta, new.inbox)
        IS NOT (old.role, old.scope, old.timeout_ms, old.timeout_per, old.expires_at, old.retry, old.limit_key, old.meta,
          old.inbox)
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

-- SQLite knows no grants. Work that has not ended is not removed by accident, and a key stays taken.
CREATE TRIGGER workflow_run_delete BEFORE DELETE ON workflow_run
BEGIN
  SELECT RAISE(ABORT, 'workflow_run.status: a run that has not ended cannot be removed; cancel it, or set deleted_at')
  WHERE (old.status = 'leased' OR (old.status = 'pending' AND old.deleted_at IS NULL))
    AND NOT EXISTS (SELECT 1 FROM workflow_instance i WHERE i.id = old.instance_id AND i.ended_at IS NOT NULL);
  INSERT OR IGNORE INTO workflow_kept_key (idempotency_key, run_id)
  SELECT old.idempotency_key, old.id WHERE old.idempotency_key IS NOT NULL;
END;

-- 3. Events. Clients tell the lifecycle too, as well as they can; the triggers have told it, so their copies are dropped.

CREATE TRIGGER workflow_event_insert_check BEFORE INSERT ON workflow_event WHEN new.engine = 0
BEGIN
  SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM workflow_run r WHERE r.id = new.workflow_id)
    THEN RAISE(ABORT, 'workflow_event.workflow_id: there is no such run')
    WHEN new.id > 0
    THEN RAISE(ABORT, 'workflow_event.id: is given by the table')
    WHEN (new.instance_id, new.seq, new.node, new.tenant) IS NOT (NULL, NULL, NULL, NULL)
    THEN RAISE(ABORT, 'workflow_event.instance_id, seq, node, tenant: only the engine writes them')
    WHEN new.created_at NOT BETWEEN 0 AND 253402300799999
    THEN RAISE(ABORT, 'workflow_event.created_at: must be milliseconds since 1970, up to the year 9999')
    WHEN new.data IS NOT NULL AND NOT json_valid(new.data)
    THEN RAISE(ABORT, 'workflow_event.data: must be JSON')
    WHEN new.event_type IN ('created', 'leased', 'started', 'succeeded', 'failed', 'retried', 'cancelled')
    THEN RAISE(IGNORE)
    -- Dropped if it is about what a trigger has just told.
    WHEN new.event_type = 'heartbeat'
    THEN iif((SELECT status FROM workflow_run r WHERE r.id = new.workflow_id) = 'leased' AND 'heartbeat' IS NOT (
        SELECT event_type FROM workflow_event e WHERE e.workflow_id = new.workflow_id AND e.engine = 1
        ORDER BY e.id DESC LIMIT 1), NULL, RAISE(IGNORE))
    WHEN instr(new.event_type, '.') < 2 OR length(new.event_type) > 255
    THEN RAISE(ABORT, 'workflow_event.event_type: must be created, leased, started, heartbeat, succeeded, failed, retried or cancelled, or a dotted name of your own such as app.note')
    WHEN substr(new.event_type, 1, instr(new.event_type, '.')) IN
      ('instance.', 'node.', 'run.', 'gate.', 'cron.', 'schedule.', 'queue.', 'worker.', 'workflow.', 'registry.', 'store.')
    THEN RAISE(ABORT, 'workflow_event.event_type: names that begin with instance, node, run, gate, cron, schedule, queue, worker, workflow, registry or store are the engine''s')
  END;
END;

CREATE TRIGGER workflow_event_update BEFORE UPDATE ON workflow_event WHEN new.event_type <> 'store.reset'
BEGIN
  SELECT RAISE(ABORT, 'workflow_event: what has happened cannot be changed');
END;

-- As before, but what a client puts into the data of an event of its own is not read as the story of a lease.
DROP VIEW workflow_history;
CREATE VIEW workflow_history AS
WITH told AS (
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
FROM told
UNION ALL
SELECT workflow_id, event_type, data, created_at, instance_id, seq, node, actor, tenant, id, 3
FROM workflow_event WHERE workflow_id IS NOT NULL AND engine = 0
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

-- Schedules. Few are written, so whoever writes them is checked. Time zones SQLite does not know, nor what the fields of
-- cron may hold: the engine disables what it cannot read, and says why.
ALTER TABLE workflow_schedule ADD COLUMN disabled_reason TEXT;
CREATE INDEX idx_workflow_schedule_next_run ON workflow_schedule (next_run_at) WHERE enabled = 1 AND deleted_at IS NULL;

-- One list of rules for new and changed rows.
CREATE VIEW workflow_schedule_rules AS
SELECT type, payload, schedule, timezone, max_attempts, priority, next_run_at, enabled FROM workflow_schedule;

CREATE TRIGGER workflow_schedule_rules INSTEAD OF INSERT ON workflow_schedule_rules
BEGIN
  SELECT CASE
    WHEN length(new.type) NOT BETWEEN 1 AND 255 OR new.type GLOB '*[' || char(9) || '-' || char(13, 32, 133, 160) || ']*'
      OR new.type GLOB '.*' OR instr(new.type, '..') > 0 OR instr(CAST(new.type AS BLOB), x'00') > 0
      OR rtrim(new.type, '0123456789') NOT GLOB '?*.v' OR rtrim(new.type, '0123456789') = new.type
    THEN RAISE(ABORT, 'workflow_schedule.type: must be dotted and end in a version, such as report.daily.v1, in at most 255 characters')
    WHEN NOT json_valid(new.payload)
    THEN RAISE(ABORT, 'workflow_schedule.payload: must be JSON')
    WHEN length(new.schedule) > 255 OR new.schedule GLOB '*[^0-9A-Za-z*/,?# -]*' OR 4 <> (
      SELECT length(s) - length(replace(s, ' ', ''))
      FROM (SELECT replace(replace(replace(trim(new.schedule), '    ', ' '), '  ', ' '), '  ', ' ') AS s))
    THEN RAISE(ABORT, 'workflow_schedule.schedule: must have the five fields of cron, such as 0 9 * * 1')
    WHEN length(new.timezone) NOT BETWEEN 1 AND 255
    THEN RAISE(ABORT, 'workflow_schedule.timezone: must be the name of a time zone, such as Europe/Berlin')
    WHEN new.max_attempts NOT BETWEEN 1 AND 1000
    THEN RAISE(ABORT, 'workflow_schedule.max_attempts: must be from 1 to 1000')
    WHEN new.priority NOT BETWEEN -2147483648 AND 2147483647
    THEN RAISE(ABORT, 'workflow_schedule.priority: must be a whole number of 32 bits')
    WHEN new.next_run_at NOT BETWEEN 0 AND 253402300799999
    THEN RAISE(ABORT, 'workflow_schedule.next_run_at: must be milliseconds since 1970, up to the year 9999')
    WHEN new.enabled <> 0 AND new.enabled <> 1
    THEN RAISE(ABORT, 'workflow_schedule.enabled: must be 0 or 1')
  END;
END;

CREATE TRIGGER workflow_schedule_insert_check BEFORE INSERT ON workflow_schedule
BEGIN
  INSERT INTO workflow_schedule_rules (type, payload, schedule, timezone, max_attempts, priority, next_run_at, enabled)
  VALUES (new.type, new.payload, new.schedule, new.timezone, new.max_attempts, new.priority, new.next_run_at, new.enabled);
END;

CREATE TRIGGER workflow_schedule_update_check BEFORE UPDATE OF type, payload, schedule, timezone, max_attempts, priority,
  next_run_at ON workflow_schedule
BEGIN
  INSERT INTO workflow_schedule_rules (type, payload, schedule, timezone, max_attempts, priority, next_run_at, enabled)
  VALUES (new.type, new.payload, new.schedule, new.timezone, new.max_attempts, new.priority, new.next_run_at, new.enabled);
END;
-- End of the schedules.

-- The registry: which runtime may execute a type, and whether any may.

CREATE TRIGGER workflow_registry_insert BEFORE INSERT ON workflow_registry BEGIN
  SELECT RAISE(ABORT, 'workflow_registry.workflow_name: must name a type, not ""') WHERE new.workflow_name = '';
  SELECT RAISE(ABORT, 'workflow_registry.runtime: must be a word that workers state (node, go, python), not ""') WHERE new.runtime = '';
END;

CREATE TRIGGER workflow_registry_update BEFORE UPDATE ON workflow_registry BEGIN
  SELECT RAISE(ABORT, 'workflow_registry.workflow_name: must name a type, not ""') WHERE new.workflow_name = '';
  SELECT RAISE(ABORT, 'workflow_registry.runtime: must be a word that workers state (node, go, python), not ""') WHERE new.runtime = '';
END;

-- Foreign clients may forget it, and the doctor compares leases with it.
CREATE TRIGGER workflow_registry_updated AFTER UPDATE OF workflow_name, runtime, is_enabled, deleted_at ON workflow_registry
WHEN new.updated_at = old.updated_at BEGIN
  UPDATE workflow_registry SET updated_at = (SELECT now FROM workflow_clock) WHERE id = new.id;
END;
-- End of the registry.
