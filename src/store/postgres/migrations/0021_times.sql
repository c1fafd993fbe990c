-- Times written by plain SQL lie between 1970 and 9999, as in SQLite. 'infinity', '-infinity', dates BC and years that no
-- Date of JavaScript holds are valid timestamptz, but no schedule can move on from them and no key can be made of them.
--
-- Only what a statement changes is examined: a row that came by before this may still be claimed and ended. The engine's
-- writes pay for one boolean, as with all triggers of the inbox.

CREATE FUNCTION workflow.inbox_time() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  o jsonb := CASE TG_OP WHEN 'UPDATE' THEN to_jsonb(OLD) ELSE '{}' END;
  n jsonb := to_jsonb(NEW);
  name text;
BEGIN
  FOREACH name IN ARRAY TG_ARGV LOOP
    IF n ->> name IS DISTINCT FROM o ->> name
      AND (n ->> name)::timestamptz NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'
    THEN
      PERFORM workflow.inbox_refuse(TG_TABLE_NAME, name, format('must be a time from 1970 to 9999, not %s', n ->> name),
        'Leave run_at out for work that is due at once; to hold a schedule back, SET enabled = false.');
    END IF;
  END LOOP;
  RETURN NEW;
END
$$;

CREATE FUNCTION workflow.inbox_timeout_length() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM workflow.inbox_refuse('workflow_run', 'timeout_ms',
    format('must be from 1 to 253402300799999 milliseconds, not %s', NEW.timeout_ms), 'Leave it out for work without a timeout.');
  RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION workflow.inbox_time(), workflow.inbox_timeout_length() FROM PUBLIC;

CREATE TRIGGER inbox_0_time_insert BEFORE INSERT ON workflow.workflow_run FOR EACH ROW
  WHEN (NOT new.engine_turn AND (
    new.run_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'
    OR new.created_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'
    OR new.expires_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'))
  EXECUTE FUNCTION workflow.inbox_time('run_at', 'created_at', 'expires_at');
CREATE TRIGGER inbox_0_time_update BEFORE UPDATE OF run_at, lease_until, deleted_at ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND (
    new.run_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'
    OR new.lease_until NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'
    OR new.deleted_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'))
  EXECUTE FUNCTION workflow.inbox_time('run_at', 'lease_until', 'deleted_at');
-- make_interval fails on what is longer, and with it every start that is recorded in the same statement.
CREATE TRIGGER inbox_0_timeout BEFORE INSERT ON workflow.workflow_run FOR EACH ROW
  WHEN (NOT new.engine_turn AND new.timeout_ms NOT BETWEEN 1 AND 253402300799999)
  EXECUTE FUNCTION workflow.inbox_timeout_length();

CREATE TRIGGER inbox_time_insert BEFORE INSERT ON workflow.workflow_schedule FOR EACH ROW
  EXECUTE FUNCTION workflow.inbox_time('next_run_at', 'last_run_at', 'created_at', 'updated_at', 'deleted_at');
CREATE TRIGGER inbox_time_update BEFORE UPDATE OF next_run_at, last_run_at, updated_at, deleted_at ON workflow.workflow_schedule
  FOR EACH ROW EXECUTE FUNCTION workflow.inbox_time('next_run_at', 'last_run_at', 'updated_at', 'deleted_at');

CREATE TRIGGER inbox_0_time BEFORE INSERT ON workflow.workflow_event FOR EACH ROW
  WHEN (NOT new.engine AND new.created_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00')
  EXECUTE FUNCTION workflow.inbox_time('created_at');
