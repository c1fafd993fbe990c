-- As before (0007), but a client's `started` or `heartbeat` of a lease that stands is kept if its data says something of
-- its own, beyond what the triggers and the clients in use write themselves.
DROP TRIGGER workflow_event_insert_check;
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
    WHEN new.event_type IN ('started', 'heartbeat') AND json_type(new.data) <> 'null'
      AND (json_type(new.data) <> 'object'
        OR json_remove(new.data, '$.worker_id', '$.attempt', '$.extended_by_seconds') <> '{}')
      AND (SELECT status FROM workflow_run r WHERE r.id = new.workflow_id) = 'leased'
    THEN NULL
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

-- The default of an event's time is the machine's clock, cut off to the millisecond; the triggers of runs write the store's
-- clock, rounded, and would seem to come later. `now` stands still within a statement, so a time that was left out is
-- recognised, and is read again from the store's clock.
CREATE TRIGGER workflow_event_insert_time AFTER INSERT ON workflow_event WHEN new.engine = 0
  AND new.created_at = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
BEGIN
  UPDATE workflow_event SET created_at = (SELECT now FROM workflow_clock) WHERE id = new.id;
END;

-- As before (0007), but for that one change in the statement that wrote the event.
DROP TRIGGER workflow_event_update;
CREATE TRIGGER workflow_event_update BEFORE UPDATE ON workflow_event WHEN new.event_type <> 'store.reset' AND NOT (
  old.engine = 0 AND old.created_at = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
  AND new.created_at = (SELECT now FROM workflow_clock)
  AND (new.id, new.engine, new.workflow_id, new.instance_id, new.seq, new.event_type, new.node, new.actor, new.tenant, new.data)
    IS (old.id, old.engine, old.workflow_id, old.instance_id, old.seq, old.event_type, old.node, old.actor, old.tenant, old.data))
BEGIN
  SELECT RAISE(ABORT, 'workflow_event: what has happened cannot be changed');
END;

-- As before (0007), and a step that has ended, but whose workflow has not taken note of it yet, stays as well.
DROP TRIGGER workflow_run_delete;
CREATE TRIGGER workflow_run_delete BEFORE DELETE ON workflow_run
BEGIN
  SELECT RAISE(ABORT, 'workflow_run.status: a run that has not ended cannot be removed; cancel it, or set deleted_at')
  WHERE (old.status = 'leased' OR (old.status = 'pending' AND old.deleted_at IS NULL)
      OR (old.instance_id IS NOT NULL AND old.settled_at IS NULL))
    AND NOT EXISTS (SELECT 1 FROM workflow_instance i WHERE i.id = old.instance_id AND i.ended_at IS NOT NULL);
  INSERT OR IGNORE INTO workflow_kept_key (idempotency_key, run_id)
  SELECT old.idempotency_key, old.id WHERE old.idempotency_key IS NOT NULL;
END;
