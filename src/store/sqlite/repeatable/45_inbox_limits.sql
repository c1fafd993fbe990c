-- Revision 1.
-- JSON written by plain SQL is limited in size and depth like JSON through every other interface: kernel/limits.ts has
-- the same two numbers, and test/inbox/json-limits.test.ts compares them. What SQLite itself does not read as JSON (1000
-- levels and more) is refused by the triggers of the tables.

-- A trigger has no recursion and a view no argument, so a value is put into workflow_json_measured, measured and removed
-- again, in one statement. Only values with more than 200 opening brackets come here.
CREATE VIEW workflow_json_depth AS
WITH RECURSIVE
  container AS MATERIALIZED (
    SELECT j.id, j.parent FROM workflow_json_measured m, json_tree(m.value) j WHERE j.type IN ('array', 'object')),
  reached (id, depth) AS (
    SELECT id, 1 FROM container WHERE parent IS NULL
    UNION ALL
    SELECT c.id, r.depth + 1 FROM reached r JOIN container c ON c.parent = r.id WHERE r.depth <= 200)
SELECT max(depth) AS depth FROM reached;

-- A value, and its place for the message. The triggers of the tables insert here.
CREATE VIEW workflow_json_check AS SELECT NULL AS place, NULL AS value;

CREATE TRIGGER workflow_json_check INSTEAD OF INSERT ON workflow_json_check
WHEN length(new.value) > 400
BEGIN
  SELECT CASE new.place
    WHEN 'payload' THEN RAISE(ABORT, 'workflow_run.payload: has at most 1048576 bytes; keep large values elsewhere and store a reference')
    WHEN 'result' THEN RAISE(ABORT, 'workflow_run.result: has at most 1048576 bytes; keep large values elsewhere and store a reference')
    WHEN 'data' THEN RAISE(ABORT, 'workflow_event.data: has at most 1048576 bytes; keep large values elsewhere and store a reference')
    ELSE RAISE(ABORT, 'workflow_schedule.payload: has at most 1048576 bytes; keep large values elsewhere and store a reference')
  END WHERE length(CAST(new.value AS BLOB)) > 1048576;
  INSERT INTO workflow_json_measured (value)
  SELECT new.value WHERE json_valid(new.value) AND length(new.value) - length(replace(replace(new.value, '[', ''), '{', '')) > 200;
  SELECT CASE new.place
    WHEN 'payload' THEN RAISE(ABORT, 'workflow_run.payload: is nested at most 200 levels deep, not more')
    WHEN 'result' THEN RAISE(ABORT, 'workflow_run.result: is nested at most 200 levels deep, not more')
    WHEN 'data' THEN RAISE(ABORT, 'workflow_event.data: is nested at most 200 levels deep, not more')
    ELSE RAISE(ABORT, 'workflow_schedule.payload: is nested at most 200 levels deep, not more')
  END FROM workflow_json_depth WHERE depth > 200;
  DELETE FROM workflow_json_measured;
END;
