-- Revision 5.
-- Events that clients write.

-- The triggers or the engine record every change of a run. A client's copy of one of the eight types comes after that and is
-- dropped, whether it repeats or contradicts the recorded event. A client may add three things: types of its own, with a dot
-- in them; a `started` or `heartbeat` of a current lease whose data has keys beyond those that the triggers and the clients
-- in use write themselves; and a heartbeat that moved no lease, when the last recorded event of the run is a different one.
-- No client chooses an id. src/model/events/events.ts declares the first words that only the engine uses.
CREATE OR REPLACE FUNCTION workflow.inbox_event_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  run record;
  last text;
  own boolean;
BEGIN
  IF octet_length(NEW.event_type) > 255 THEN
    PERFORM workflow.inbox_refuse('workflow_event', 'event_type',
      format('has at most 255 bytes, not %s', octet_length(NEW.event_type)), 'What varies belongs into data.');
  END IF;
  IF pg_column_size(NEW.data) > 400 OR octet_length(NEW.data::text) > 400 THEN
    PERFORM workflow.inbox_check_json('workflow_event', 'data', NEW.data);
  END IF;
  PERFORM workflow.inbox_check_time('workflow_event', 'created_at', NEW.created_at);
  IF NEW.event_type NOT IN ('created', 'leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'cancelled')
    AND (NEW.event_type !~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$'
         OR NEW.event_type ~ '^(completion|cron|each|error_group|gate|instance|node|operation|queue|registry|run|schedule|store|worker|workflow)\.')
  THEN
    PERFORM workflow.inbox_refuse('workflow_event', 'event_type', format(
      'must be created, leased, started, heartbeat, succeeded, failed, retried, cancelled or a dotted word of your own, not %s',
      workflow.inbox_quote(NEW.event_type)),
      'A word of your own looks like app.note, in small letters; names that begin with instance, node, each, run, completion, gate, cron, schedule, queue, worker, workflow, operation, error_group, registry or store are the engine''s.');
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
    -- locked until the event is written: otherwise a lease that ends now would be recorded before its heartbeat
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
  -- from the sequence and after the lock, whatever id the client gave: ids are unique and in the order of events
  NEW.id := nextval('workflow.workflow_event_id_seq');
  -- the event belongs to the instance and the tenant of its run
  NEW.instance_id := run.instance_id;
  NEW.seq := NULL;
  NEW.node := run.node;
  NEW.tenant := run.tenant;
  NEW.actor := CASE WHEN NEW.event_type LIKE '%.%' THEN session_user ELSE coalesce(run.leased_by, session_user) END;
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER inbox_insert BEFORE INSERT ON workflow.workflow_event FOR EACH ROW
  WHEN (NOT new.engine) EXECUTE FUNCTION workflow.inbox_event_insert();

REVOKE EXECUTE ON FUNCTION workflow.inbox_event_insert FROM PUBLIC;
