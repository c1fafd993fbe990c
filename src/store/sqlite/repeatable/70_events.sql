-- Revision 4.
-- Events that clients write.

CREATE TRIGGER workflow_event_data_limit BEFORE INSERT ON workflow_event WHEN new.engine = 0 AND length(new.data) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('data', new.data);
END;

-- The triggers or the engine record every change of a run; a client's copy is dropped, unless it is a `started` or
-- `heartbeat` of a current lease whose data has keys beyond those that the triggers and the clients in use write themselves.
-- src/model/events/events.ts declares the first words that only the engine uses.
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
    -- Dropped if a trigger has just recorded it.
    WHEN new.event_type = 'heartbeat'
    THEN iif((SELECT status FROM workflow_run r WHERE r.id = new.workflow_id) = 'leased' AND 'heartbeat' IS NOT (
        SELECT event_type FROM workflow_event e WHERE e.workflow_id = new.workflow_id AND e.engine = 1
        ORDER BY e.id DESC LIMIT 1), NULL, RAISE(IGNORE))
    WHEN instr(new.event_type, '.') < 2 OR length(new.event_type) > 255
    THEN RAISE(ABORT, 'workflow_event.event_type: must be created, leased, started, heartbeat, succeeded, failed, retried or cancelled, or a dotted name of your own such as app.note')
    WHEN substr(new.event_type, 1, instr(new.event_type, '.')) IN
      ('completion.', 'cron.', 'each.', 'error_group.', 'gate.', 'instance.', 'node.', 'operation.', 'queue.',
       'registry.', 'run.', 'schedule.', 'store.', 'worker.', 'workflow.')
    THEN RAISE(ABORT, 'workflow_event.event_type: names that begin with instance, node, each, run, completion, gate, cron, schedule, queue, worker, workflow, operation, error_group, registry or store are the engine''s')
  END;
END;

-- The default of an event's time is the machine's clock, cut to the millisecond; the triggers of runs write the store's
-- clock, rounded, and would seem to come later. `now` does not advance within a statement, so a time that was left out is
-- recognised, and is read again from the store's clock.
CREATE TRIGGER workflow_event_insert_time AFTER INSERT ON workflow_event WHEN new.engine = 0
  AND new.created_at = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
BEGIN
  UPDATE workflow_event SET created_at = (SELECT now FROM workflow_clock) WHERE id = new.id;
END;

-- No event changes, except by the trigger above in the statement that wrote the event.
CREATE TRIGGER workflow_event_update BEFORE UPDATE ON workflow_event WHEN new.event_type <> 'store.reset' AND NOT (
  old.engine = 0 AND old.created_at = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
  AND new.created_at = (SELECT now FROM workflow_clock)
  AND (new.id, new.engine, new.workflow_id, new.instance_id, new.seq, new.event_type, new.node, new.actor, new.tenant, new.data)
    IS (old.id, old.engine, old.workflow_id, old.instance_id, old.seq, old.event_type, old.node, old.actor, old.tenant, old.data))
BEGIN
  SELECT RAISE(ABORT, 'workflow_event: what has happened cannot be changed');
END;
