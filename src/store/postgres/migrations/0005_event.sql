-- The append-only audit trail, partitioned by week so that retention drops whole partitions. No foreign key: events
-- outlive what they tell of. One row may stand for several events; workflow_history shows them all.

CREATE SEQUENCE workflow.workflow_event_id_seq AS bigint;

CREATE TABLE workflow.workflow_event (
  id          bigint NOT NULL DEFAULT nextval('workflow.workflow_event_id_seq'),
  workflow_id uuid,
  event_type  text NOT NULL CHECK (
    event_type IN ('created', 'leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'cancelled',
                   'redriven', 'returned', 'late_success', 'deferred', 'progress')
    OR event_type ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$'),
  data        jsonb,
  created_at  timestamptz NOT NULL DEFAULT now(),
  instance_id uuid,
  seq         integer,
  node        text,
  actor       text,
  tenant      text
) PARTITION BY RANGE (created_at);

ALTER SEQUENCE workflow.workflow_event_id_seq OWNED BY workflow.workflow_event.id;

-- The history of a run.
CREATE INDEX workflow_event_run ON workflow.workflow_event (workflow_id, id) WHERE workflow_id IS NOT NULL;
-- Watchers follow one instance by seq.
CREATE INDEX workflow_event_instance ON workflow.workflow_event (instance_id, seq) WHERE instance_id IS NOT NULL;
-- The global feed. Appended at its right edge only.
CREATE INDEX workflow_event_feed ON workflow.workflow_event (id);

-- Whatever lies outside the weeks made ahead (a moved clock, a pruner that did not run).
CREATE TABLE workflow.workflow_event_default PARTITION OF workflow.workflow_event DEFAULT;

-- Makes the partitions of this week and the next ones. Rows that the default partition caught meanwhile move over:
-- a partition cannot be attached while the default holds rows of its range. Returns how many were made.
CREATE FUNCTION workflow.ensure_event_partitions(weeks_ahead integer DEFAULT 4) RETURNS integer LANGUAGE plpgsql AS $$
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
    EXECUTE format('ALTER TABLE workflow.workflow_event ATTACH PARTITION workflow.%I FOR VALUES FROM (%L) TO (%L)',
      part, from_at, until_at);
    made := made + 1;
  END LOOP;
  RETURN made;
END
$$;

-- Drops the weeks that ended by the cut and what the default partition holds from before it. Returns rows removed
-- (an estimate for dropped partitions: counting them would cost what dropping saves).
CREATE FUNCTION workflow.drop_event_partitions(before timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
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

SELECT workflow.ensure_event_partitions();
