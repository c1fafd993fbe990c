-- Revision 1.
-- Leases of runs: who holds one, and the row and the event when it ends.

-- Held by a session or under a lease of its own. Petrel's workers report to the engine, and only they end such a run.
CREATE OR REPLACE FUNCTION workflow.inbox_is_ours(o workflow.workflow_run) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN (o).status = 'leased' AND ((o).session_id IS NOT NULL OR (o).lease_ms IS NOT NULL) AND NOT (o).deferred;

-- Leased by plain SQL.
CREATE OR REPLACE FUNCTION workflow.inbox_is_foreign(o workflow.workflow_run) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN (o).status = 'leased' AND (o).session_id IS NULL AND (o).lease_ms IS NULL AND NOT (o).deferred;

-- No run of an ending workflow is retried. Read without a lock: the engine checks again when it settles.
CREATE OR REPLACE FUNCTION workflow.inbox_is_ending(o workflow.workflow_run) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN o.cancel_requested_at IS NOT NULL OR (o.instance_id IS NOT NULL AND EXISTS (
    SELECT FROM workflow.workflow_instance i WHERE i.id = o.instance_id AND i.phase = 'drain'));
END
$$;

-- A timeout over all attempts continues between two of them.
CREATE OR REPLACE FUNCTION workflow.inbox_timeout(o workflow.workflow_run, started_at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE
RETURN CASE WHEN (o).timeout_per = 'node' THEN coalesce((o).first_started_at, started_at) ELSE started_at END
  + make_interval(secs => (o).timeout_ms / 1000.0);

-- The row without its lease, claimable again.
CREATE OR REPLACE FUNCTION workflow.inbox_unleased(o workflow.workflow_run) RETURNS workflow.workflow_run LANGUAGE plpgsql AS $$
BEGIN
  o.status := 'pending';
  o.leased_by := NULL;
  o.lease_until := NULL;
  o.leased_at := NULL;
  o.started_at := NULL;
  o.timeout_at := CASE WHEN o.timeout_per = 'node' THEN workflow.inbox_timeout(o, o.first_started_at) END;
  o.deferred := false;
  o.deliveries := 0;
  o.report_id := NULL;
  o.epoch := o.epoch + 1;
  RETURN o;
END
$$;

-- The data of events of a failed execution. Only the store can detect that a lease ran out; simple-workflow's readers look
-- for that in `reason`.
CREATE OR REPLACE FUNCTION workflow.inbox_failure(attempt integer, error jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
RETURN jsonb_build_object('attempt', attempt, 'error', error)
  || CASE WHEN error ->> 'code' = 'lease_expired' THEN '{"reason": "lease_expired"}'::jsonb ELSE '{}' END;

-- The row at its end. The other columns of its lease stay until the engine has settled it, which must know what room the run
-- had taken. The end of a bare run is recorded here, with the lease of a Petrel worker that no event has recorded yet.
CREATE OR REPLACE FUNCTION workflow.inbox_ended(o workflow.workflow_run, n workflow.workflow_run, who text, at timestamptz)
RETURNS workflow.workflow_run LANGUAGE plpgsql AS $$
DECLARE
  story jsonb := '{}';
BEGIN
  n.leased_by := NULL;
  n.lease_until := NULL;
  n.epoch := o.epoch + 1;
  n.finished_at := at;
  IF n.instance_id IS NULL THEN
    IF o.session_id IS NOT NULL THEN
      story := jsonb_strip_nulls(jsonb_build_object('started_at', workflow.inbox_iso(o.started_at)));
      IF o.report_id IS NULL THEN
        story := story || jsonb_build_object('leased_at', workflow.inbox_iso(o.leased_at), 'leased_by', o.leased_by);
      END IF;
    END IF;
    IF n.status <> 'succeeded' THEN
      story := story || workflow.inbox_failure(n.attempt, n.error::jsonb);
    END IF;
    PERFORM workflow.inbox_record_event(n, n.status, nullif(story, '{}'), who, at);
  END IF;
  PERFORM pg_notify('workflow_wake', CASE WHEN o.session_id IS NULL AND o.lease_ms IS NULL
    THEN '{"wake":{"outside":true}}' ELSE '{"wake":{"outside":true,"control":true}}' END);
  RETURN n;
END
$$;

-- An execution failed: it is retried, or the run has failed. The row and the event show `about`.
CREATE OR REPLACE FUNCTION workflow.inbox_failed(o workflow.workflow_run, n workflow.workflow_run, final boolean, about jsonb, at timestamptz)
RETURNS workflow.workflow_run LANGUAGE plpgsql AS $$
BEGIN
  n.attempt := o.attempt + 1;
  n.error := about;
  IF final THEN
    n.status := 'failed';
    RETURN workflow.inbox_ended(o, n, o.leased_by, at);
  END IF;
  n := workflow.inbox_unleased(n);
  PERFORM workflow.inbox_record_event(n, 'retried',
    workflow.inbox_failure(n.attempt, about) || jsonb_build_object('run_at', workflow.inbox_iso(n.run_at)), o.leased_by, at);
  PERFORM workflow.inbox_wake(n.queue, n.run_at, at);
  RETURN n;
END
$$;

-- A foreign lease ran out: an attempt is spent without a report. Whether the execution took effect is not known.
CREATE OR REPLACE FUNCTION workflow.inbox_expired(o workflow.workflow_run, at timestamptz) RETURNS workflow.workflow_run LANGUAGE plpgsql AS $$
DECLARE
  n workflow.workflow_run := o;
  final boolean := o.attempt + 1 >= o.max_attempts OR workflow.inbox_is_ending(o);
BEGIN
  n.last_error := 'the lease ran out';
  n.unknown_outcome := final;
  RETURN workflow.inbox_failed(o, n, final,
    '{"code": "lease_expired", "message": "the lease ran out", "category": "transient"}', at);
END
$$;

REVOKE EXECUTE ON FUNCTION workflow.inbox_is_ours, workflow.inbox_is_foreign, workflow.inbox_is_ending,
  workflow.inbox_timeout, workflow.inbox_unleased, workflow.inbox_failure, workflow.inbox_ended, workflow.inbox_failed,
  workflow.inbox_expired FROM PUBLIC;
