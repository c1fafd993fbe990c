-- Revision 1.
-- What a transaction assumes of rows that it has not loaded. These calls travel with its writes and refuse them.

-- Called after an insert of runs, never before it: the insert waits for a prune that is moving its key to this table.
CREATE OR REPLACE FUNCTION workflow.refuse_kept_keys(keys text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  taken text;
BEGIN
  SELECT k.idempotency_key INTO taken FROM workflow.workflow_kept_key k WHERE k.idempotency_key = ANY (keys) LIMIT 1;
  IF FOUND THEN
    RAISE unique_violation USING
      MESSAGE = 'idempotency key belongs to a pruned run',
      DETAIL = format('Key (idempotency_key)=(%s) already exists.', taken),
      CONSTRAINT = 'workflow_kept_key_pkey', TABLE = 'workflow_kept_key', SCHEMA = 'workflow';
  END IF;
END
$$;

-- For rows that the transaction writes, the update itself compares the versions, and this function compares the number
-- of rows it found. That saves a lock, which is a write of its own, on every row of a settle.
CREATE OR REPLACE FUNCTION workflow.expect_count(actual bigint, expected bigint) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF actual <> expected THEN
    RAISE EXCEPTION 'a row is not as this transaction assumed' USING ERRCODE = 'PTROW';
  END IF;
END
$$;

-- A transaction may decide on rows as this process remembers them and save the round trip that would load them. It sends
-- its assumptions with its writes: the rows are locked and must still have the versions it knows (xmin names the
-- transaction that wrote them), no limit may have been created, no queue paused, and the registry may not have changed. If
-- anything differs, the writes are refused and the transaction runs again on loaded rows. The clock is one of the
-- assumptions.
--
-- Locks are taken in the order that holds everywhere: roots before runs, each by id. NOWAIT, because a transaction that
-- holds one of them is about to change it. `instances`, `runs` and their versions are sorted by id. Returns the id of this
-- transaction, which is the version of everything it writes.
CREATE OR REPLACE FUNCTION workflow.expect_rows(
  now_ms float8, offset_ms float8, instances uuid[], instance_versions xid[], runs uuid[], run_versions xid[], queues text[], limits text[],
  registry text
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
    OR coalesce((SELECT s.value FROM workflow.workflow_setting s WHERE s.key = 'registry_version'), '') <> registry
  THEN
    RAISE EXCEPTION 'a queue is paused or limited, or the registry has changed' USING ERRCODE = 'PTROW';
  END IF;
  RETURN pg_current_xact_id()::xid;
END
$$;
