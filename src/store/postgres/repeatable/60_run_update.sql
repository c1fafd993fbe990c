-- Revision 3.
-- Changes of runs by plain SQL.
--
-- The SET list says which operation a statement is, because the clients in use write the same values for different reasons:
-- BEFORE UPDATE OF a column fires when the column is named, even if its value stays. leased_by with status 'leased' is a
-- claim; attempt with status 'pending' or 'failed' is a failure; otherwise the status distinguishes success, cancel and
-- return, and lease_until alone is a heartbeat.
--
-- The outcome (o: the row as it was, n: as the client wants it). A veto is RETURN NULL: the client's statement reports 0
-- rows, as if its WHERE had not matched, and nothing is written.
--   ended rows     stay as they are, except for deleted_at: a cancel is final, the first success wins, and a second one, a
--                  late failure or a late heartbeat is a veto. Only the engine's redrive takes a run out of its end.
--   claim          of a pending run that is due. A claim of an expired foreign lease (clients in Go do that themselves)
--                  first spends the attempt; if that was the last, the run fails and the claim gets nothing.
--   heartbeat      of a foreign lease, also of an expired one that no client has taken back.
--   failure        of a foreign lease, if its number follows the row's: since an expiry counts, a worker that lost its
--                  lease comes with a number already used. At the last attempt, or while its workflow ends, it is final.
--   success        of any run that no Petrel worker holds. It carries no number, so the first one wins.
--   cancel         of any run that has not ended, whatever holds it.
--   return         to pending without a failure: no attempt is spent, unless the lease had expired.
--                  A run of a paused workflow that becomes pending is parked (model/pauses): it keeps its time in
--                  workflow_parked and is due beyond every clock.
--   edits          of pending runs (priority, run_at, queue, max_attempts; type and payload of inbox runs); deleted_at
--                  hides a run from claims and cancels a step of a workflow.
-- Only the holder ends a run that a Petrel worker holds; every other write to such a run is a veto, except a cancel.
-- src/model/run-transitions.ts has the same transitions as data.
--
-- Each operation is a function that returns the row to write, or a NULL row for a veto. The functions see rows without
-- payload and result: a row that is passed on is copied whole, and a megabyte would be read and written again with every
-- heartbeat.

-- A lease begins, and with it the execution, whose start no client reports. Recorded as two events.
CREATE OR REPLACE FUNCTION workflow.inbox_leased(o workflow.workflow_run, n workflow.workflow_run, at timestamptz) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
BEGIN
  o.status := 'leased';
  o.leased_by := n.leased_by;
  o.lease_until := n.lease_until;
  o.timeout_at := workflow.inbox_timeout(o, at);
  o.started_at := at;
  o.first_started_at := coalesce(o.first_started_at, at);
  -- a lease with leased_at is recorded when it ends; this one is recorded now
  o.leased_at := NULL;
  o.report_id := NULL;
  PERFORM workflow.inbox_record_event(o, 'leased', jsonb_build_object('worker_id', o.leased_by, 'attempt', o.attempt), o.leased_by, at);
  PERFORM workflow.inbox_record_event(o, 'started', jsonb_build_object('worker_id', o.leased_by), o.leased_by,
    at + interval '1 microsecond');
  RETURN o;
END
$$;

-- Whether the workflow of a run is paused. It stays so until this transaction ends: a pause and a resume wait for that, or
-- one of them could miss a run that this transaction makes pending.
CREATE OR REPLACE FUNCTION workflow.inbox_pause_of(root uuid) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended(root::text, 27));
  RETURN (SELECT i.paused FROM workflow.workflow_instance i WHERE i.id = root);
END
$$;

CREATE OR REPLACE FUNCTION workflow.inbox_parked(n workflow.workflow_run) RETURNS workflow.workflow_run LANGUAGE plpgsql AS $$
DECLARE
  paused text := workflow.inbox_pause_of(n.root_id);
BEGIN
  IF paused IS NULL THEN
    RETURN n;
  END IF;
  INSERT INTO workflow.workflow_parked (owner, id, kind, since, run_at, expires_at, timeout_at)
  VALUES (n.root_id::text, n.id, 'run', workflow.inbox_now(), n.run_at,
    CASE WHEN paused = 'stop' THEN n.expires_at END, CASE WHEN paused = 'stop' THEN n.timeout_at END)
  ON CONFLICT (owner, id) DO UPDATE SET since = excluded.since, run_at = excluded.run_at,
    expires_at = excluded.expires_at, timeout_at = excluded.timeout_at;
  n.run_at := '9999-07-01 00:00:00+00';
  IF paused = 'stop' THEN
    n.expires_at := NULL;
    n.timeout_at := NULL;
  END IF;
  RETURN n;
END
$$;

CREATE OR REPLACE FUNCTION workflow.inbox_claim(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := workflow.inbox_now();
  after workflow.workflow_run;
BEGIN
  IF coalesce(char_length(n.leased_by), 0) NOT BETWEEN 1 AND 255 THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'leased_by', 'must name the worker that takes the lease, in 1 to 255 characters',
      'SET status = ''leased'', leased_by = <worker>, lease_until = now() + interval ''30 seconds''');
  ELSIF n.lease_until IS NULL THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'lease_until', 'must say how long the lease lasts',
      'SET status = ''leased'', leased_by = <worker>, lease_until = now() + interval ''30 seconds''');
  ELSIF n.attempt <> o.attempt THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'attempt', 'counts failed executions: a claim leaves it alone',
      'Write attempt + 1 when the execution has failed.');
  END IF;
  IF o.deleted_at IS NOT NULL THEN
    RETURN NULL;
  END IF;
  IF o.status = 'pending' THEN
    -- not due: a retry that waits, or a run that is held until it is activated
    IF o.run_at > at OR workflow.inbox_is_ending(o) THEN
      RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM workflow.workflow_pause p WHERE p.kind = 'type' AND p.key = o.type) THEN
      -- The client must not get it, and must not find it first again: it is parked, and the update of the client is vetoed.
      INSERT INTO workflow.workflow_parked (owner, id, kind, since, run_at) VALUES ('type:' || o.type, o.id, 'run', at, o.run_at)
      ON CONFLICT (owner, id) DO UPDATE SET since = excluded.since, run_at = excluded.run_at;
      UPDATE workflow.workflow_run r SET run_at = '9999-07-01 00:00:00+00', engine_turn = NOT r.engine_turn WHERE r.id = o.id;
      RETURN NULL;
    END IF;
    RETURN workflow.inbox_leased(o, n, at);
  END IF;
  IF NOT workflow.inbox_is_foreign(o) OR o.lease_until >= at THEN
    RETURN NULL;
  END IF;
  IF o.timeout_at <= at THEN
    -- timed out as well: the engine decides which of the two counts
    PERFORM pg_notify('workflow_wake', '{"wake":{"outside":true}}');
    RETURN NULL;
  END IF;
  IF (o.root_id IS NOT NULL AND workflow.inbox_pause_of(o.root_id) IS NOT NULL)
    OR EXISTS (SELECT FROM workflow.workflow_pause p WHERE p.kind = 'type' AND p.key = o.type)
  THEN
    -- nothing new begins in a paused workflow, or of a paused type; the engine ends the lease
    PERFORM pg_notify('workflow_wake', '{"wake":{"outside":true}}');
    RETURN NULL;
  END IF;
  after := workflow.inbox_expired(o, at);
  IF after.status = 'pending' THEN
    RETURN workflow.inbox_leased(after, n, at + interval '1 microsecond');
  END IF;
  -- No attempt is left to claim. The row must leave the head of the line with or without a running engine, and the client
  -- must not get it: so it is written here, and the update of the client is vetoed.
  UPDATE workflow.workflow_run r SET
    status = after.status, attempt = after.attempt, epoch = after.epoch, leased_by = NULL, lease_until = NULL,
    last_error = after.last_error, error = after.error, unknown_outcome = after.unknown_outcome,
    finished_at = after.finished_at, updated_at = now(), engine_turn = NOT r.engine_turn
  WHERE r.id = o.id;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION workflow.inbox_beat(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := workflow.inbox_now();
BEGIN
  IF NOT workflow.inbox_is_foreign(o) THEN
    RETURN NULL;
  END IF;
  IF n.lease_until IS NULL THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'lease_until', 'must say how long the lease lasts',
      'To give a run back, SET status = ''pending''.');
  END IF;
  o.lease_until := n.lease_until;
  PERFORM workflow.inbox_record_event(o, 'heartbeat', jsonb_build_object('extended_by_seconds', CASE WHEN isfinite(o.lease_until)
    THEN greatest(0, round(extract(epoch FROM o.lease_until - at))) END), o.leased_by, at);
  RETURN o;
END
$$;

-- counted: the client wrote the number of the failure.
CREATE OR REPLACE FUNCTION workflow.inbox_fail(o workflow.workflow_run, n workflow.workflow_run, counted boolean) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
DECLARE
  after workflow.workflow_run := o;
BEGIN
  -- A deferred run has no holder and is ended by any client that knows its id. Only the engine gives it out again, since
  -- it may have taken room under a limit.
  IF NOT (workflow.inbox_is_foreign(o) OR (o.deferred AND o.status = 'leased' AND n.status = 'failed'))
    OR (counted AND n.attempt <> o.attempt + 1)
  THEN
    RETURN NULL;
  END IF;
  after.run_at := n.run_at;
  after.last_error := n.last_error;
  after.deleted_at := n.deleted_at;
  RETURN workflow.inbox_failed(o, after,
    n.status = 'failed' OR o.attempt + 1 >= o.max_attempts OR workflow.inbox_is_ending(o),
    jsonb_build_object('code', 'handler_error', 'message', coalesce(left(n.last_error, 65536), 'failed')), workflow.inbox_now());
END
$$;

-- Back to pending without a failure.
CREATE OR REPLACE FUNCTION workflow.inbox_give_back(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := workflow.inbox_now();
  after workflow.workflow_run := o;
BEGIN
  IF NOT workflow.inbox_is_foreign(o) THEN
    RETURN NULL;
  END IF;
  -- expired leases that are put back by hand spend attempts too, or a run that kills its workers would never end
  IF o.lease_until < at THEN
    RETURN workflow.inbox_expired(o, at);
  END IF;
  IF workflow.inbox_is_ending(o) THEN
    after.status := 'cancelled';
    after.error := json_build_object('code', 'cancelled', 'message', 'given back while its workflow was ending');
    RETURN workflow.inbox_ended(o, after, o.leased_by, at);
  END IF;
  after := workflow.inbox_unleased(o);
  after.run_at := n.run_at;
  after.deleted_at := n.deleted_at;
  PERFORM workflow.inbox_record_event(after, 'returned', NULL, o.leased_by, at);
  PERFORM workflow.inbox_wake(after.queue, after.run_at, at);
  RETURN after;
END
$$;

CREATE OR REPLACE FUNCTION workflow.inbox_succeed(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
DECLARE
  after workflow.workflow_run := o;
BEGIN
  IF workflow.inbox_is_ours(o) THEN
    RETURN NULL;
  END IF;
  after.status := 'succeeded';
  after.last_error := NULL;
  after.error := NULL;
  after.deleted_at := n.deleted_at;
  RETURN workflow.inbox_ended(o, after, coalesce(o.leased_by, session_user), workflow.inbox_now());
END
$$;

CREATE OR REPLACE FUNCTION workflow.inbox_cancel(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
DECLARE
  after workflow.workflow_run := o;
BEGIN
  after.status := 'cancelled';
  after.last_error := format('cancelled by %s', session_user);
  after.error := json_build_object('code', 'cancelled', 'message', after.last_error);
  after.unknown_outcome := o.status = 'leased';
  after.deleted_at := n.deleted_at;
  RETURN workflow.inbox_ended(o, after, session_user, workflow.inbox_now());
END
$$;

-- Status and lease stay: a soft delete, or changed columns of a pending run.
CREATE OR REPLACE FUNCTION workflow.inbox_edit(o workflow.workflow_run, n workflow.workflow_run, other_payload boolean, other_result boolean)
RETURNS workflow.workflow_run LANGUAGE plpgsql AS $$
DECLARE
  after workflow.workflow_run := o;
  wish text := CASE
    WHEN n.type IS DISTINCT FROM o.type THEN 'type' WHEN other_payload THEN 'payload'
    WHEN n.priority IS DISTINCT FROM o.priority THEN 'priority' WHEN n.run_at IS DISTINCT FROM o.run_at THEN 'run_at'
    WHEN n.max_attempts IS DISTINCT FROM o.max_attempts THEN 'max_attempts'
    WHEN n.queue IS DISTINCT FROM o.queue THEN 'queue' END;
  misplaced text := CASE
    WHEN n.leased_by IS DISTINCT FROM o.leased_by THEN 'leased_by' WHEN n.attempt <> o.attempt THEN 'attempt'
    WHEN other_result THEN 'result' WHEN n.last_error IS DISTINCT FROM o.last_error THEN 'last_error' END;
BEGIN
  IF misplaced IS NOT NULL THEN
    PERFORM workflow.inbox_refuse('workflow_run', misplaced, format('does not change while the run stays %s', o.status),
      'leased_by comes with status leased, result with succeeded, attempt and last_error with pending or failed.');
  END IF;
  IF o.deleted_at IS NULL AND n.deleted_at IS NOT NULL AND o.instance_id IS NOT NULL THEN
    RETURN workflow.inbox_cancel(o, n);
  END IF;
  after.deleted_at := n.deleted_at;
  IF wish IS NOT NULL THEN
    IF o.status <> 'pending' THEN
      PERFORM workflow.inbox_refuse('workflow_run', wish, 'changes only while the run is pending, and it is leased',
        'Add AND status = ''pending'' to the condition.');
    ELSIF wish IN ('type', 'payload') AND NOT o.inbox THEN
      PERFORM workflow.inbox_refuse('workflow_run', wish, 'changes only of runs that were put in by plain SQL or as inbox runs',
        'This one belongs to a workflow or another interface, which has recorded what it asked for.');
    ELSIF n.max_attempts <= o.attempt THEN
      PERFORM workflow.inbox_refuse('workflow_run', 'max_attempts',
        format('must be more than the %s executions that have failed', o.attempt), 'To end the run, SET status = ''cancelled''.');
    END IF;
    IF n.type IS DISTINCT FROM o.type THEN
      PERFORM workflow.inbox_check_type('workflow_run', n.type);
    END IF;
    PERFORM workflow.inbox_check_max_attempts('workflow_run', n.max_attempts);
    PERFORM workflow.inbox_check_queue(n.queue);
    after.type := n.type;
    after.priority := n.priority;
    after.run_at := n.run_at;
    after.max_attempts := n.max_attempts;
    after.queue := n.queue;
  END IF;
  IF after.status = 'pending' AND after.deleted_at IS NULL AND (wish IS NOT NULL OR o.deleted_at IS NOT NULL) THEN
    PERFORM workflow.inbox_wake(after.queue, after.run_at, workflow.inbox_now());
  END IF;
  RETURN after;
END
$$;

-- Chooses the operation. The argument says what the SET list has named: 'claim', 'failure' or 'other'.
CREATE OR REPLACE FUNCTION workflow.inbox_run_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  o workflow.workflow_run := OLD;
  n workflow.workflow_run := NEW;
  after workflow.workflow_run;
  edited boolean := false;
BEGIN
  o.payload := NULL;
  o.result := NULL;
  n.payload := NULL;
  n.result := NULL;
  PERFORM workflow.inbox_check_words(n.status, n.attempt);
  PERFORM workflow.inbox_check_own(o, n);
  IF o.status IN ('succeeded', 'failed', 'cancelled') THEN
    -- deleted_at alone hides the row from lists
    after := n;
    after.deleted_at := o.deleted_at;
    after.updated_at := o.updated_at;
    IF n.deleted_at IS NOT DISTINCT FROM o.deleted_at OR after *<> o
      OR NEW.payload IS DISTINCT FROM OLD.payload OR NEW.result IS DISTINCT FROM OLD.result
    THEN
      RETURN NULL;
    END IF;
    after.deleted_at := n.deleted_at;
  ELSIF TG_ARGV[0] = 'claim' THEN
    after := workflow.inbox_claim(o, n);
  ELSIF TG_ARGV[0] = 'failure' THEN
    after := workflow.inbox_fail(o, n, true);
  ELSIF n.status <> o.status THEN
    CASE n.status
      WHEN 'leased' THEN after := workflow.inbox_claim(o, n);
      WHEN 'pending' THEN after := workflow.inbox_give_back(o, n);
      WHEN 'succeeded' THEN after := workflow.inbox_succeed(o, n);
      WHEN 'failed' THEN after := workflow.inbox_fail(o, n, false);
      WHEN 'cancelled' THEN after := workflow.inbox_cancel(o, n);
    END CASE;
  ELSIF n.lease_until IS DISTINCT FROM o.lease_until THEN
    after := workflow.inbox_beat(o, n);
  ELSE
    edited := true;
    after := workflow.inbox_edit(o, n, NEW.payload IS DISTINCT FROM OLD.payload, NEW.result IS DISTINCT FROM OLD.result);
  END IF;
  IF after.id IS NULL THEN
    RETURN NULL;
  END IF;
  IF after.status = 'pending' AND after.root_id IS NOT NULL AND after.run_at < '9999-07-01 00:00:00+00' THEN
    after := workflow.inbox_parked(after);
  END IF;
  after.payload := CASE WHEN edited THEN NEW.payload ELSE OLD.payload END;
  after.result := CASE WHEN after.status IN ('succeeded', 'failed') THEN NEW.result ELSE OLD.result END;
  after.updated_at := now();
  after.engine_turn := NOT OLD.engine_turn;
  RETURN after;
END
$$;

-- Triggers of one moment fire in the order of their names: inbox_0 checks values, then the columns of the SET list decide.

CREATE OR REPLACE TRIGGER inbox_0_message BEFORE UPDATE OF last_error ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND octet_length(new.last_error) > 65536)
  EXECUTE FUNCTION workflow.inbox_message();

CREATE OR REPLACE TRIGGER inbox_0_payload BEFORE UPDATE OF payload ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND (pg_column_size(new.payload) > 400 OR octet_length(new.payload::text) > 400))
  EXECUTE FUNCTION workflow.inbox_payload();

CREATE OR REPLACE TRIGGER inbox_0_result BEFORE UPDATE OF result ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND (pg_column_size(new.result) > 400 OR octet_length(new.result::text) > 400))
  EXECUTE FUNCTION workflow.inbox_result();

CREATE OR REPLACE TRIGGER inbox_0_time_update BEFORE UPDATE OF run_at, lease_until, deleted_at ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND (
    new.run_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'
    OR new.lease_until NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'
    OR new.deleted_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'))
  EXECUTE FUNCTION workflow.inbox_time('run_at', 'lease_until', 'deleted_at');

CREATE OR REPLACE TRIGGER inbox_3_claim BEFORE UPDATE OF leased_by ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND new.status = 'leased') EXECUTE FUNCTION workflow.inbox_run_update('claim');

CREATE OR REPLACE TRIGGER inbox_4_failure BEFORE UPDATE OF attempt ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND new.status IN ('pending', 'failed'))
  EXECUTE FUNCTION workflow.inbox_run_update('failure');

CREATE OR REPLACE TRIGGER inbox_5_other BEFORE UPDATE ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn) EXECUTE FUNCTION workflow.inbox_run_update('other');

REVOKE EXECUTE ON FUNCTION workflow.inbox_leased, workflow.inbox_pause_of, workflow.inbox_parked, workflow.inbox_claim, workflow.inbox_beat, workflow.inbox_fail,
  workflow.inbox_give_back, workflow.inbox_succeed, workflow.inbox_cancel, workflow.inbox_edit,
  workflow.inbox_run_update FROM PUBLIC;
