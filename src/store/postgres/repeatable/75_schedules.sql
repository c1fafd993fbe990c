-- Revision 1.
-- Schedules. They are few, so every write is checked, also those of the engine.

CREATE OR REPLACE FUNCTION workflow.inbox_schedule_write() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM workflow.inbox_check_type('workflow_schedule', NEW.type);
  PERFORM workflow.inbox_check_max_attempts('workflow_schedule', NEW.max_attempts);
  -- only what every reader of cron refuses; the engine checks whether the fields make sense
  IF NEW.schedule !~ '^\s*([0-9A-Za-z*/,?#-]+\s+){4}[0-9A-Za-z*/,?#-]+\s*$' OR char_length(NEW.schedule) > 255 THEN
    PERFORM workflow.inbox_refuse('workflow_schedule', 'schedule',
      format('must have the five fields of cron, not %s', workflow.inbox_quote(NEW.schedule)),
      'minute hour day-of-month month day-of-week, for example: 0 9 * * 1');
  ELSIF NOT EXISTS (SELECT FROM pg_timezone_names z WHERE z.name = NEW.timezone) THEN
    PERFORM workflow.inbox_refuse('workflow_schedule', 'timezone',
      format('must be the name of a time zone, not %s', workflow.inbox_quote(NEW.timezone)),
      'For example UTC or Europe/Berlin; SELECT name FROM pg_timezone_names lists them.');
  END IF;
  RETURN NEW;
END
$$;

-- A statement over many schedules causes one wake. Any of them may be due before the next sweep of the engine.
CREATE OR REPLACE FUNCTION workflow.inbox_schedule_written() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify('workflow_wake', '{"wake":{"outside":true}}');
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER inbox_0_payload BEFORE INSERT OR UPDATE OF payload ON workflow.workflow_schedule FOR EACH ROW
  WHEN (pg_column_size(new.payload) > 400 OR octet_length(new.payload::text) > 400)
  EXECUTE FUNCTION workflow.inbox_payload();

CREATE OR REPLACE TRIGGER inbox_time_insert BEFORE INSERT ON workflow.workflow_schedule FOR EACH ROW
  EXECUTE FUNCTION workflow.inbox_time('next_run_at', 'last_run_at', 'created_at', 'updated_at', 'deleted_at');

CREATE OR REPLACE TRIGGER inbox_time_update BEFORE UPDATE OF next_run_at, last_run_at, updated_at, deleted_at ON workflow.workflow_schedule
  FOR EACH ROW EXECUTE FUNCTION workflow.inbox_time('next_run_at', 'last_run_at', 'updated_at', 'deleted_at');

CREATE OR REPLACE TRIGGER inbox_write BEFORE INSERT OR UPDATE OF type, schedule, timezone, max_attempts ON workflow.workflow_schedule
  FOR EACH ROW EXECUTE FUNCTION workflow.inbox_schedule_write();

CREATE OR REPLACE TRIGGER inbox_inserted AFTER INSERT ON workflow.workflow_schedule
  FOR EACH STATEMENT EXECUTE FUNCTION workflow.inbox_schedule_written();

-- not for a schedule that has fired and is due later than before
CREATE OR REPLACE TRIGGER inbox_updated AFTER UPDATE ON workflow.workflow_schedule FOR EACH ROW
  WHEN (new.enabled AND new.deleted_at IS NULL
        AND (new.next_run_at < old.next_run_at OR NOT old.enabled OR old.deleted_at IS NOT NULL))
  EXECUTE FUNCTION workflow.inbox_schedule_written();

REVOKE EXECUTE ON FUNCTION workflow.inbox_schedule_write, workflow.inbox_schedule_written FROM PUBLIC;
