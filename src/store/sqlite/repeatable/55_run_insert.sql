-- Revision 2.
-- New runs by plain SQL: checked before the insert, recorded after it.
--
-- The inbox is what programs write into the tables by plain SQL; the triggers hold these writes to the promises of
-- docs/inbox.md (decision 012). Every write of the engine flips workflow_run.engine_turn (and inserts it as 1); a write that
-- leaves it as it was comes from outside.
--
-- The columns that a statement names say which operation it is (leased_by: a claim; attempt: a failure), with the status
-- before and after. A BEFORE trigger refuses (RAISE(ABORT), naming the column and the rule) or leaves the row as it was
-- (RAISE(IGNORE): 0 rows changed, which is what a worker that lost a race should see). An AFTER trigger completes the row by
-- an UPDATE of its own, which flips engine_turn and so is no foreign write. SQLite promises no order of triggers, so none
-- relies on another; all triggers of one table and moment are in one file, so that their order is the same in every database.
--
-- A foreign lease has neither session nor lease_ms and is not deferred. Its `leased` and `started` are recorded when it
-- begins; leased_at stays NULL. A run that ends here keeps settled_at NULL: the engine advances the instance and, for a run
-- of an instance, records the end; the end of a bare run is recorded here.
--
-- A trigger costs before its WHEN is evaluated: SQLite sets up as many registers as the whole program needs, and a
-- statement that might fire a trigger copies the pages it changes (insert of a run 5.8 → 9.3 µs, update 4.7 → 7.9, event
-- 3.1 → 5.1). So the connections of the engine forget the triggers whose WHEN begins with new.engine: see triggers.ts. For
-- connections that have them, they are few, and the work of a foreign write is done behind the views workflow_inbox_*, in
-- INSTEAD OF triggers that only a foreign write sets up.

-- INSERT OR REPLACE would remove the run that has the key. A statement inside a trigger takes the conflict clause of the
-- statement that fired it, so INSERT OR IGNORE overwrites the row `on_conflict` of workflow_setting only in that case.
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
    WHEN length(new.fair_key) NOT BETWEEN 1 AND 255 OR instr(CAST(new.fair_key AS BLOB), x'00') > 0 OR new.fair_key GLOB '@*'
    THEN RAISE(ABORT, 'workflow_run.fair_key: must have 1 to 255 characters, and not begin with @, which belongs to tenants')
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
    THEN RAISE(ABORT, 'workflow_run.instance_id and the like: only the engine writes them; a new run has id, type, payload, priority, run_at, idempotency_key, max_attempts, queue, tenant, limit_key, fair_key, timeout_ms, timeout_per, expires_at')
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

-- The defaults of the times come from the machine's clock. `now` does not advance within a statement, so a time that was
-- left out is recognised, and is read again from the store's clock.
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

CREATE TRIGGER workflow_run_payload_insert_limit BEFORE INSERT ON workflow_run
WHEN new.engine_turn = 0 AND length(new.payload) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('payload', new.payload);
END;

-- Prefixes of the engine and of tenants. `schedule:` is free: other tickers on workflow_schedule make the same keys.
CREATE TRIGGER workflow_run_key_insert BEFORE INSERT ON workflow_run
WHEN new.engine_turn = 0
  AND (new.idempotency_key GLOB 'petrel:*' OR new.idempotency_key GLOB 'ojs:*' OR new.idempotency_key GLOB '@*')
BEGIN
  SELECT RAISE(ABORT, 'workflow_run.idempotency_key: begins with none of petrel:, ojs: and @; such keys belong to the engine and to tenants');
END;
