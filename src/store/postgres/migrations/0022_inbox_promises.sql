-- What plain SQL may rely on, continued: a fast claim by prefix, unique events, and work that is not removed by accident.

-- The claim statement of the inbox looks for pending runs by type, in any queue. The index that Petrel's own claims walk
-- begins with the queue, so with many runs of other types such a claim read them all (300,000: 90 to 400 ms; now 0.1 ms).
-- Few types wait at a time, so the entries are packed; a run that is handed to a worker as it is created is never in it.
ALTER INDEX workflow.idx_workflow_run_type_prefix RENAME TO workflow_run_line;
CREATE INDEX idx_workflow_run_type_prefix ON workflow.workflow_run (type text_pattern_ops)
  WHERE status = 'pending' AND deleted_at IS NULL;

-- Ids of events are unique: each partition has a unique index of its own, and across partitions one sequence gives the
-- numbers. (A unique index of the whole table would have to contain the time.) Reads in the order of ids merge them.
-- What a client has numbered twice gets new numbers first.
DO $$
DECLARE
  part record;
BEGIN
  DROP INDEX workflow.idx_workflow_event_type;
  FOR part IN SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'workflow.workflow_event'::regclass
  LOOP
    EXECUTE format('UPDATE workflow.%1$I SET id = nextval(''workflow.workflow_event_id_seq'') WHERE ctid IN (
      SELECT d.ctid FROM (SELECT e.ctid, row_number() OVER (PARTITION BY e.id ORDER BY e.engine DESC, e.ctid) AS nth
                          FROM workflow.%1$I e) d WHERE d.nth > 1)', part.name);
    EXECUTE format('CREATE UNIQUE INDEX %I ON workflow.%I (id)',
      CASE part.name WHEN 'workflow_event_default' THEN 'idx_workflow_event_type' ELSE part.name || '_id' END, part.name);
  END LOOP;
END
$$;
COMMENT ON INDEX workflow.idx_workflow_event_type IS
  'Events by id, in the default partition; the others have their own. The name is one that clients look for.';

-- As before (0005), and each partition gets its unique index.
CREATE OR REPLACE FUNCTION workflow.ensure_event_partitions(weeks_ahead integer DEFAULT 4) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  monday timestamptz := date_trunc('week', workflow.clock() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
  from_at timestamptz;
  until_at timestamptz;
  part text;
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('workflow.ensure_event_partitions'));
  FOR week IN 0 .. weeks_ahead LOOP
    from_at := monday + week * interval '168 hours';
    until_at := from_at + interval '168 hours';
    part := 'workflow_event_' || to_char(from_at AT TIME ZONE 'UTC', 'YYYYMMDD');
    CONTINUE WHEN to_regclass('workflow.' || part) IS NOT NULL;
    EXECUTE format('CREATE TABLE workflow.%I (LIKE workflow.workflow_event INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part);
    EXECUTE format('WITH moved AS (DELETE FROM workflow.workflow_event_default WHERE created_at >= $1 AND created_at < $2 RETURNING *)
      INSERT INTO workflow.%I SELECT * FROM moved', part) USING from_at, until_at;
    EXECUTE format('CREATE UNIQUE INDEX %I ON workflow.%I (id)', part || '_id', part);
    EXECUTE format('ALTER TABLE workflow.workflow_event ATTACH PARTITION workflow.%I FOR VALUES FROM (%L) TO (%L)',
      part, from_at, until_at);
    made := made + 1;
  END LOOP;
  RETURN made;
END
$$;

-- As before (0012), but: a client's `started` or `heartbeat` of a lease that stands is kept if its data says something of
-- its own, beyond what the triggers and the clients in use write themselves; and no client chooses an id.
CREATE OR REPLACE FUNCTION workflow.inbox_event_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  run record;
  last text;
  own boolean;
BEGIN
  IF NEW.event_type NOT IN ('created', 'leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'cancelled')
    AND (NEW.event_type !~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$'
         OR NEW.event_type ~ '^(run|instance|gate|worker|queue|cron|schedule|workflow|registry)\.')
  THEN
    PERFORM workflow.inbox_refuse('workflow_event', 'event_type', format(
      'must be created, leased, started, heartbeat, succeeded, failed, retried, cancelled or a dotted word of your own, not %s',
      workflow.inbox_quote(NEW.event_type)),
      'A word of your own looks like app.note, in small letters; run, instance, gate, worker, queue, cron, schedule, workflow and registry are the engine''s.');
  END IF;
  SELECT r.status, r.instance_id, r.node, r.tenant, r.leased_by INTO run FROM workflow.workflow_run r WHERE r.id = NEW.workflow_id;
  IF NOT FOUND THEN
    RAISE foreign_key_violation USING
      MESSAGE = format('workflow_event.workflow_id: there is no run %s', coalesce(NEW.workflow_id::text, 'NULL')),
      HINT = 'It is the id of a row of workflow_run that is still kept.',
      SCHEMA = 'workflow', TABLE = 'workflow_event', COLUMN = 'workflow_id', CONSTRAINT = 'workflow_event_workflow_id_rule';
  END IF;
  own := NEW.event_type IN ('started', 'heartbeat') AND NEW.data IS NOT NULL AND CASE jsonb_typeof(NEW.data)
    WHEN 'object' THEN NEW.data - '{worker_id,attempt,extended_by_seconds}'::text[] <> '{}' WHEN 'null' THEN false ELSE true END;
  IF NEW.event_type = 'heartbeat' OR own THEN
    -- held until it is told: a lease that ends meanwhile would otherwise be told before its heartbeat
    SELECT r.status, r.leased_by INTO run.status, run.leased_by FROM workflow.workflow_run r WHERE r.id = NEW.workflow_id FOR SHARE;
  END IF;
  IF own AND run.status = 'leased' THEN
    NULL;
  ELSIF NEW.event_type = 'heartbeat' AND run.status = 'leased' THEN
    SELECT e.event_type INTO last FROM workflow.workflow_event e
    WHERE e.workflow_id = NEW.workflow_id AND e.engine ORDER BY e.id DESC LIMIT 1;
    IF last = 'heartbeat' THEN
      RETURN NULL;
    END IF;
  ELSIF NEW.event_type NOT LIKE '%.%' THEN
    RETURN NULL;
  END IF;
  -- from the sequence whatever the client gave, and after the lock: ids are unique and in the order of what happened
  NEW.id := nextval('workflow.workflow_event_id_seq');
  -- whose it is tells the run, whoever writes
  NEW.instance_id := run.instance_id;
  NEW.seq := NULL;
  NEW.node := run.node;
  NEW.tenant := run.tenant;
  NEW.actor := CASE WHEN NEW.event_type LIKE '%.%' THEN session_user ELSE coalesce(run.leased_by, session_user) END;
  RETURN NEW;
END
$$;

-- A run that has not ended, or whose end no instance has taken note of, is not removed: its workflow would wait for it
-- permanently. Retention removes runs of ended instances and runs that were deleted (deleted_at) while they waited. Ended
-- and settled runs, which are almost all that retention removes, are told by their own row.
CREATE FUNCTION workflow.inbox_run_delete() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF (CASE WHEN OLD.instance_id IS NULL
    THEN OLD.status NOT IN ('pending', 'leased') OR (OLD.status = 'pending' AND OLD.deleted_at IS NOT NULL)
    ELSE NOT EXISTS (SELECT FROM workflow.workflow_instance i WHERE i.id = OLD.instance_id AND i.ended_at IS NULL) END)
  THEN
    RETURN OLD;
  END IF;
  PERFORM workflow.inbox_refuse('workflow_run', 'status',
    format('of a run that is removed must be an end that its workflow has taken note of; %s is %s', OLD.id, OLD.status),
    'Cancel it (SET status = ''cancelled'') or hide it (SET deleted_at = now()); retention removes it later.');
END
$$;

CREATE TRIGGER inbox_delete BEFORE DELETE ON workflow.workflow_run FOR EACH ROW
  WHEN (old.settled_at IS NULL) EXECUTE FUNCTION workflow.inbox_run_delete();

REVOKE EXECUTE ON FUNCTION workflow.inbox_run_delete() FROM PUBLIC;
