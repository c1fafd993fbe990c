-- Revision 1.
-- The audit trail has one partition per week, so that retention drops whole partitions.

-- Makes the partitions of this week and the next ones, each with a unique index on the ids of its events. Rows that the
-- default partition holds for such a week are moved: a partition cannot be attached while the default holds rows of its
-- range. Returns the number of partitions made.
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

-- Drops the weeks that ended by `before`, and deletes earlier events from the default partition. Returns the number of
-- rows removed; for dropped partitions it is an estimate, because counting would cost what dropping saves.
CREATE OR REPLACE FUNCTION workflow.drop_event_partitions(before timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  part record;
  removed bigint := 0;
  deleted bigint;
BEGIN
  FOR part IN
    SELECT c.relname, greatest(c.reltuples, 0)::bigint AS estimate
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'workflow.workflow_event'::regclass AND c.relname ~ '^workflow_event_\d{8}$'
      AND (to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC') + interval '168 hours' <= before
    ORDER BY c.relname
  LOOP
    EXECUTE format('DROP TABLE workflow.%I', part.relname);
    removed := removed + part.estimate;
  END LOOP;
  DELETE FROM workflow.workflow_event_default WHERE created_at < before;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN removed + deleted;
END
$$;
