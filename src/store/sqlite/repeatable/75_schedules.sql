-- Revision 1.
-- Schedules. They are few, so every write is checked, also those of the engine. SQLite knows neither time zones nor what
-- the fields of cron may hold: the engine disables a schedule that it cannot read, and records why.

-- The rules for new and for changed rows.
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

CREATE TRIGGER workflow_schedule_payload_insert_limit BEFORE INSERT ON workflow_schedule WHEN length(new.payload) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('schedule', new.payload);
END;

CREATE TRIGGER workflow_schedule_payload_limit BEFORE UPDATE OF payload ON workflow_schedule WHEN length(new.payload) > 400
BEGIN
  INSERT INTO workflow_json_check (place, value) VALUES ('schedule', new.payload);
END;
