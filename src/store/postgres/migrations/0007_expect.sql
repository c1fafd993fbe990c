-- A transaction may decide on rows as this process remembers them and save the round trip that would load them. What it
-- assumed is sent along with its writes: the rows are locked and must still be the versions it knows (xmin names the
-- transaction that wrote them), no limit may have come into being, no queue been paused. If anything differs the
-- writes are refused, and the transaction is run again on loaded rows. The clock is part of what is assumed.
--
-- Locks are taken in the order that holds everywhere, roots before runs, each by id; NOWAIT, because whoever holds
-- one is about to change it. `instances` and `runs` come sorted, as do the versions. Gives this transaction's own xid:
-- the version of all it writes.
CREATE FUNCTION workflow.expect_rows(
  now_ms float8, offset_ms float8, instances uuid[], instance_versions xid[], runs uuid[], run_versions xid[], queues text[], limits text[]
) RETURNS xid LANGUAGE plpgsql AS $$
DECLARE
  versions xid[];
BEGIN
  PERFORM workflow.expect_clock(now_ms, offset_ms);
  IF cardinality(instances) > 0 THEN
    versions := ARRAY (
      SELECT i.xmin FROM workflow.workflow_instance i WHERE i.id = ANY (instances) ORDER BY i.id FOR UPDATE NOWAIT);
    IF versions <> instance_versions THEN
      RAISE EXCEPTION 'an instance is not as this transaction assumed' USING ERRCODE = 'PTROW';
    END IF;
  END IF;
  IF cardinality(runs) > 0 THEN
    versions := ARRAY (SELECT r.xmin FROM workflow.workflow_run r WHERE r.id = ANY (runs) ORDER BY r.id FOR UPDATE NOWAIT);
    IF versions <> run_versions THEN
      RAISE EXCEPTION 'a run is not as this transaction assumed' USING ERRCODE = 'PTROW';
    END IF;
  END IF;
  IF EXISTS (SELECT FROM workflow.workflow_limit l WHERE l.key = ANY (limits))
    OR EXISTS (SELECT FROM workflow.workflow_queue q WHERE q.name = ANY (queues) AND q.paused)
  THEN
    RAISE EXCEPTION 'a queue is paused or limited' USING ERRCODE = 'PTROW';
  END IF;
  RETURN pg_current_xact_id()::xid;
END
$$;

-- The same for rows that are written: the update itself compares their versions, and this its count. It saves a lock,
-- which is a write of its own, on every row of a settle.
CREATE FUNCTION workflow.expect_count(actual bigint, expected bigint) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF actual <> expected THEN
    RAISE EXCEPTION 'a row is not as this transaction assumed' USING ERRCODE = 'PTROW';
  END IF;
END
$$;
