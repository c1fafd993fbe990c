-- The inbox: what clients that know nothing of Petrel write into workflow_run and workflow_event by plain SQL, held to
-- the promises.
--
-- How a foreign write is recognised. Every write of the engine flips workflow_run.engine_turn (and inserts it as true);
-- a write that leaves it alone comes from outside. So each trigger below has a WHEN that is false for the engine's
-- rows: they pay for looking at two booleans, and no function is called for them. A foreign write that was held to the
-- rules flips engine_turn as well, which keeps the triggers behind it from looking at the row again.
--
-- Which operation it is tells the SET list, since the clients in use write the same values for different reasons:
-- BEFORE UPDATE OF a column fires when the column is named, even if its value stays. leased_by with status 'leased' is
-- a claim; attempt with status 'pending' or 'failed' is a failure; of the rest the status tells success, cancel or a
-- return, and lease_until alone is a heartbeat.
--
-- What becomes of it (o: the row as it was, n: as the client wants it). A veto is RETURN NULL: the client's statement
-- says 0 rows, as it would had its WHERE not matched, and nothing is written.
--   ended rows     stay as they are, except for deleted_at: cancel is sticky, the first success wins, a second one, a
--                  late failure and a late heartbeat are vetoes. Their one exit is the engine's redrive.
--   claim          of what is pending and due. Of an expired foreign lease (Go's clients reclaim those themselves) it
--                  first spends the attempt; if that was the last, the run fails and the claim gets nothing.
--   heartbeat      of a foreign lease, even one that ran out while nobody has taken it back.
--   failure        of a foreign lease, if its number follows the row's: since an expiry counts, a worker that lost its
--                  lease comes with a number already used. At the last attempt, or while its workflow ends, it is final.
--   success        of whatever no Petrel worker holds: it carries no number, so the first one wins.
--   cancel         of anything open, whoever holds it.
--   return         to pending without a failure: no attempt is spent, unless the lease had run out.
--   edits          of pending runs (priority, run_at, queue, max_attempts; type and payload of inbox runs); deleted_at
--                  hides a run from claims and cancels a step of a workflow.
-- Only the holder ends what a Petrel worker holds; everything else of such a run is a veto, but for the cancel.
--
-- Who tells. Each change writes its event here, once, in the transaction of the change; a client's own copy, sent
-- after, is dropped. The end of a workflow's step is told by the engine, which alone can number it, when it settles:
-- an ended row without settled_at is found by its sweep. `leased` and `started` of a foreign claim are rows of their
-- own and leased_at stays NULL, so workflow_history adds nothing to them.
--
-- Nothing here locks a row besides the one run written or told of: the engine locks roots before runs, a client only a run.

-- Flipped by every write of the engine. A write that leaves it alone comes from outside.
ALTER TABLE workflow.workflow_run ADD COLUMN engine_turn boolean NOT NULL DEFAULT false;
-- Put in by plain SQL or as an inbox run.
ALTER TABLE workflow.workflow_run ADD COLUMN inbox boolean NOT NULL DEFAULT false;
-- true: written by the engine or by the triggers below. What is there already was.
ALTER TABLE workflow.workflow_event ADD COLUMN engine boolean NOT NULL DEFAULT true;
ALTER TABLE workflow.workflow_event ALTER COLUMN engine SET DEFAULT false;

-- Lists of the inbox, newest first.
CREATE INDEX workflow_run_inbox ON workflow.workflow_run (created_at DESC, id DESC) WHERE inbox;

-- Names that upstream's CREATE INDEX IF NOT EXISTS looks for; they hold only what clients tell on their own.
CREATE INDEX idx_workflow_event_workflow_id ON workflow.workflow_event (workflow_id, created_at DESC) WHERE NOT engine;
CREATE INDEX idx_workflow_event_type ON workflow.workflow_event (event_type, created_at DESC) WHERE NOT engine;

-- As before, with two things that foreign clients make necessary. Leases are read only out of what the engine wrote:
-- `data` of a client is its own affair, and a text in it that happens to be called leased_at must not break the history
-- of everybody. And no event is shown before an earlier one of its run: a trigger tells the time of the statement, the
-- engine that of its transaction, which may have begun a little before the client's commit that it then saw. Ids are
-- right, since whoever tells holds the run's lock; `at` never goes back along them, and a lease begins no earlier than
-- the event that set the run free (free_at).
-- Each event of a run that foreign clients work on is a stored row: created, leased, started, heartbeat and the ends.
CREATE OR REPLACE VIEW workflow.workflow_history AS
WITH told AS NOT MATERIALIZED (
  SELECT e.*,
         max(e.created_at) OVER along AS at,
         max(e.created_at) FILTER (WHERE e.event_type IN ('created', 'retried', 'returned', 'redriven'))
           OVER (along ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_at
  FROM workflow.workflow_event e
  WHERE e.workflow_id IS NOT NULL
  WINDOW along AS (PARTITION BY e.workflow_id ORDER BY e.id)
)
SELECT e.workflow_id, e.event_type,
       CASE WHEN e.engine THEN nullif(e.data - '{leased_at,leased_by,started_at}'::text[], '{}'::jsonb) ELSE e.data END AS data,
       e.at AS created_at, e.instance_id, e.seq, e.node, e.actor, e.tenant, e.id AS event_id,
       CASE e.event_type WHEN 'created' THEN 0 ELSE 3 END AS part
FROM told e
UNION ALL
SELECT e.workflow_id, 'leased', jsonb_build_object('worker_id', e.data -> 'leased_by'),
       CASE e.event_type
         WHEN 'created' THEN greatest((e.data ->> 'leased_at')::timestamptz, e.at)
         ELSE greatest(least((e.data ->> 'leased_at')::timestamptz, e.at), e.free_at) END,
       e.instance_id, e.seq, e.node, e.data ->> 'leased_by', e.tenant, e.id, 1
FROM told e
WHERE e.engine AND e.data ->> 'leased_at' IS NOT NULL
UNION ALL
SELECT e.workflow_id, 'started', jsonb_build_object('worker_id', e.data -> 'leased_by'),
       greatest(least((e.data ->> 'started_at')::timestamptz, e.at),
                CASE WHEN e.data ->> 'leased_at' IS NOT NULL THEN least((e.data ->> 'leased_at')::timestamptz, e.at) END,
                e.free_at),
       e.instance_id, e.seq, e.node, e.data ->> 'leased_by', e.tenant, e.id, 2
FROM told e
WHERE e.engine AND e.data ->> 'started_at' IS NOT NULL
UNION ALL
SELECT r.id, 'leased', jsonb_build_object('worker_id', r.leased_by),
       greatest(r.leased_at, (SELECT max(e.created_at) FROM workflow.workflow_event e WHERE e.workflow_id = r.id
                              AND e.event_type IN ('created', 'retried', 'returned', 'redriven'))),
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 1
FROM workflow.workflow_run r
WHERE r.status = 'leased' AND r.leased_at IS NOT NULL AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT FROM workflow.workflow_event e WHERE e.workflow_id = r.id
                  AND CASE WHEN e.engine THEN (e.data ->> 'leased_at')::timestamptz = r.leased_at END)
UNION ALL
SELECT r.id, 'started', jsonb_build_object('worker_id', r.leased_by),
       greatest(r.started_at, (SELECT max(e.created_at) FROM workflow.workflow_event e WHERE e.workflow_id = r.id
                               AND e.event_type IN ('created', 'retried', 'returned', 'redriven'))),
       r.instance_id, NULL, r.node, r.leased_by, r.tenant, NULL, 2
FROM workflow.workflow_run r
WHERE r.status = 'leased' AND r.started_at >= r.leased_at AND r.lease_ms IS NULL
  AND NOT EXISTS (SELECT FROM workflow.workflow_event e WHERE e.workflow_id = r.id
                  AND CASE WHEN e.engine THEN (e.data ->> 'started_at')::timestamptz = r.started_at END)
UNION ALL
SELECT r.id, 'created', NULL, r.created_at, r.instance_id, NULL, r.node, NULL, r.tenant, NULL, 0
FROM workflow.workflow_run r
WHERE NOT EXISTS (SELECT FROM workflow.workflow_event e WHERE e.workflow_id = r.id AND e.event_type = 'created');

------------------------------------------------------------------------------------------------------------------------
-- What the operations share

-- What runs once per row is plpgsql, whose plans a session keeps; a function in SQL that cannot be inlined is planned
-- anew with every call.

-- The store's clock at this very moment. clock() stands still during a transaction, and a client may keep one open.
CREATE FUNCTION workflow.inbox_now() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  offset_ms text;
BEGIN
  SELECT s.value INTO offset_ms FROM workflow.workflow_setting s WHERE s.key = 'clock_offset_ms';
  RETURN clock_timestamp() + make_interval(secs => coalesce(offset_ms::float8, 0) / 1000);
END
$$;

-- As the engine writes times into events.
CREATE FUNCTION workflow.inbox_iso(at timestamptz) RETURNS text LANGUAGE sql STABLE
RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- A value as a message shows it: huge ones only begin there.
CREATE FUNCTION workflow.inbox_quote(value text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN '"' || left(value, 60) || CASE WHEN char_length(value) > 60 THEN '…' ELSE '' END || '"';

-- Refuses a write: the message names the column and the rule, the hint what would be right.
CREATE FUNCTION workflow.inbox_refuse(of_table text, of_column text, rule text, advice text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE check_violation USING
    MESSAGE = format('%s.%s: %s', of_table, of_column, rule), HINT = advice,
    SCHEMA = 'workflow', TABLE = of_table, COLUMN = of_column, CONSTRAINT = format('%s_%s_rule', of_table, of_column);
END
$$;

-- The name of a type of work put in by plain SQL. OJS jobs and steps are the engine's inserts and keep their own names.
CREATE FUNCTION workflow.inbox_check_type(of_table text, type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF char_length(type) > 255 THEN
    PERFORM workflow.inbox_refuse(of_table, 'type', format('has at most 255 characters, not %s', char_length(type)),
      'A type is a short name such as billing.invoice.v1; what varies belongs into the payload.');
  ELSIF type !~ '^[^.\s]+(\.[^.\s]+)*\.v[0-9]+$' THEN
    PERFORM workflow.inbox_refuse(of_table, 'type',
      format('must be dotted and end in a version such as .v1, not %s', workflow.inbox_quote(type)),
      'Name it like billing.invoice.v1: parts without blanks, separated by dots, the last one v and a number.');
  END IF;
END
$$;

CREATE FUNCTION workflow.inbox_check_max_attempts(of_table text, max_attempts integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF max_attempts NOT BETWEEN 1 AND 1000 THEN
    PERFORM workflow.inbox_refuse(of_table, 'max_attempts', format('must be from 1 to 1000, not %s', max_attempts),
      'It counts executions, the first one included; the default is 3.');
  END IF;
END
$$;

CREATE FUNCTION workflow.inbox_check_queue(queue text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF char_length(queue) NOT BETWEEN 1 AND 255 THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'queue', format('has 1 to 255 characters, not %s', char_length(queue)),
      'Leave it out for the queue "default".');
  END IF;
END
$$;

-- What no client may write, whatever it is about.
CREATE FUNCTION workflow.inbox_check_words(status text, attempt integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(status, '') NOT IN ('pending', 'leased', 'succeeded', 'failed', 'cancelled') THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'status',
      format('must be pending, leased, succeeded, failed or cancelled, not %s', coalesce(workflow.inbox_quote(status), 'NULL')),
      'There are no other words for where a run stands.');
  ELSIF coalesce(attempt, -1) < 0 THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'attempt', format('must be 0 or more, not %s', coalesce(attempt::text, 'NULL')),
      'It counts failed executions, from 0.');
  END IF;
END
$$;

-- Columns that clients have no business with, for roles that hold more rights than they need.
CREATE FUNCTION workflow.inbox_check_own(o workflow.workflow_run, n workflow.workflow_run) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  rest workflow.workflow_run := n;
  touched text;
BEGIN
  rest.type := o.type; rest.status := o.status; rest.priority := o.priority; rest.run_at := o.run_at;
  rest.attempt := o.attempt; rest.max_attempts := o.max_attempts; rest.queue := o.queue; rest.leased_by := o.leased_by;
  rest.lease_until := o.lease_until; rest.last_error := o.last_error; rest.updated_at := o.updated_at;
  rest.deleted_at := o.deleted_at;
  -- by image: some columns are json, which has no equality
  IF rest *= o THEN
    RETURN;
  END IF;
  SELECT b.key INTO touched FROM jsonb_each(to_jsonb(o)) b JOIN jsonb_each(to_jsonb(rest)) a USING (key)
  WHERE a.value <> b.value ORDER BY b.key LIMIT 1;
  PERFORM workflow.inbox_refuse('workflow_run', coalesce(touched, 'meta'), 'is written by the engine alone',
    'Clients write status, leased_by, lease_until, attempt, run_at, last_error, result, priority, max_attempts, queue, type, payload and deleted_at.');
END
$$;

-- One line of the audit trail, told by a trigger.
CREATE FUNCTION workflow.inbox_tell(run workflow.workflow_run, word text, about jsonb, who text, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO workflow.workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  VALUES (run.id, word, about, at, run.instance_id, run.node, who, run.tenant, true);
END
$$;

-- Tells Petrel's processes of a claimable run. One that is due later moves their next look instead. Equal notifications
-- of one transaction are one: ten thousand rows in one statement wake nobody ten thousand times.
CREATE FUNCTION workflow.inbox_wake(queue text, run_at timestamptz, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('workflow_wake',
    CASE WHEN run_at <= at THEN format('{"wake":{"queues":[%s]}}', to_json(queue)) ELSE '{"wake":{"outside":true}}' END);
END
$$;

-- Held by a session or under a lease of its own: Petrel's workers report to the engine, and only they end such a run.
CREATE FUNCTION workflow.inbox_is_ours(o workflow.workflow_run) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN (o).status = 'leased' AND ((o).session_id IS NOT NULL OR (o).lease_ms IS NOT NULL) AND NOT (o).deferred;

-- Leased by plain SQL.
CREATE FUNCTION workflow.inbox_is_foreign(o workflow.workflow_run) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN (o).status = 'leased' AND (o).session_id IS NULL AND (o).lease_ms IS NULL AND NOT (o).deferred;

-- Nothing is tried again of a workflow that is on its way out. Read without a lock: the engine asks again when it settles.
CREATE FUNCTION workflow.inbox_is_ending(o workflow.workflow_run) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN o.cancel_requested_at IS NOT NULL OR (o.instance_id IS NOT NULL AND EXISTS (
    SELECT FROM workflow.workflow_instance i WHERE i.id = o.instance_id AND i.phase = 'drain'));
END
$$;

-- A timeout over all attempts goes on between two of them.
CREATE FUNCTION workflow.inbox_timeout(o workflow.workflow_run, started_at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE
RETURN CASE WHEN (o).timeout_per = 'node' THEN coalesce((o).first_started_at, started_at) ELSE started_at END
  + make_interval(secs => (o).timeout_ms / 1000.0);

-- The row after its lease: claimable again.
CREATE FUNCTION workflow.inbox_unleased(o workflow.workflow_run) RETURNS workflow.workflow_run LANGUAGE plpgsql AS $$
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

-- What events tell of a failed execution. That a lease ran out nobody but the store can say; `reason` is where
-- upstream's readers look for it.
CREATE FUNCTION workflow.inbox_failure(attempt integer, error jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
RETURN jsonb_build_object('attempt', attempt, 'error', error)
  || CASE WHEN error ->> 'code' = 'lease_expired' THEN '{"reason": "lease_expired"}'::jsonb ELSE '{}' END;

-- The row at its end. What else tells of its lease stays until the engine has settled it: it must know what room the
-- run had taken. Of a bare run the end is told here; a Petrel worker's lease, which nobody told yet, along with it.
CREATE FUNCTION workflow.inbox_ended(o workflow.workflow_run, n workflow.workflow_run, who text, at timestamptz)
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
    PERFORM workflow.inbox_tell(n, n.status, nullif(story, '{}'), who, at);
  END IF;
  PERFORM pg_notify('workflow_wake', CASE WHEN o.session_id IS NULL AND o.lease_ms IS NULL
    THEN '{"wake":{"outside":true}}' ELSE '{"wake":{"outside":true,"control":true}}' END);
  RETURN n;
END
$$;

-- An execution failed: again, or for good. `about` is what the row and the event show of it.
CREATE FUNCTION workflow.inbox_failed(o workflow.workflow_run, n workflow.workflow_run, final boolean, about jsonb, at timestamptz)
RETURNS workflow.workflow_run LANGUAGE plpgsql AS $$
BEGIN
  n.attempt := o.attempt + 1;
  n.error := about;
  IF final THEN
    n.status := 'failed';
    RETURN workflow.inbox_ended(o, n, o.leased_by, at);
  END IF;
  n := workflow.inbox_unleased(n);
  PERFORM workflow.inbox_tell(n, 'retried',
    workflow.inbox_failure(n.attempt, about) || jsonb_build_object('run_at', workflow.inbox_iso(n.run_at)), o.leased_by, at);
  PERFORM workflow.inbox_wake(n.queue, n.run_at, at);
  RETURN n;
END
$$;

-- A foreign lease ran out: one execution spent, though nobody said so. Whether it took effect is not known.
CREATE FUNCTION workflow.inbox_expired(o workflow.workflow_run, at timestamptz) RETURNS workflow.workflow_run LANGUAGE plpgsql AS $$
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

------------------------------------------------------------------------------------------------------------------------
-- INSERT

CREATE FUNCTION workflow.inbox_run_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := CASE
    WHEN NEW.leased_by IS NOT NULL THEN 'leased_by' WHEN NEW.lease_until IS NOT NULL THEN 'lease_until'
    WHEN NEW.last_error IS NOT NULL THEN 'last_error' WHEN NEW.result IS NOT NULL THEN 'result'
    WHEN NEW.instance_id IS NOT NULL THEN 'instance_id' WHEN NEW.root_id IS NOT NULL THEN 'root_id'
    WHEN NEW.node IS NOT NULL THEN 'node' WHEN NEW.fire <> 0 THEN 'fire' WHEN NEW.item <> -1 THEN 'item'
    WHEN NEW.role <> 'work' THEN 'role' WHEN NEW.scope <> '' THEN 'scope' WHEN NEW.epoch <> 0 THEN 'epoch'
    WHEN NEW.session_id IS NOT NULL THEN 'session_id' WHEN NEW.deliveries <> 0 THEN 'deliveries'
    WHEN NEW.leased_at IS NOT NULL THEN 'leased_at' WHEN NEW.started_at IS NOT NULL THEN 'started_at'
    WHEN NEW.first_started_at IS NOT NULL THEN 'first_started_at' WHEN NEW.finished_at IS NOT NULL THEN 'finished_at'
    WHEN NEW.settled_at IS NOT NULL THEN 'settled_at' WHEN NEW.done_seq IS NOT NULL THEN 'done_seq'
    WHEN NEW.report_id IS NOT NULL THEN 'report_id' WHEN NEW.deferred THEN 'deferred'
    WHEN NEW.unknown_outcome THEN 'unknown_outcome' WHEN NEW.timeout_at IS NOT NULL THEN 'timeout_at'
    WHEN NEW.retry IS NOT NULL THEN 'retry' WHEN NEW.error IS NOT NULL THEN 'error'
    WHEN NEW.limit_key IS NOT NULL THEN 'limit_key' WHEN NEW.unique_key IS NOT NULL THEN 'unique_key'
    WHEN NEW.dead_letter THEN 'dead_letter' WHEN NEW.cancel_requested_at IS NOT NULL THEN 'cancel_requested_at'
    WHEN NEW.meta IS NOT NULL THEN 'meta' WHEN NEW.lease_ms IS NOT NULL THEN 'lease_ms' END;
BEGIN
  PERFORM workflow.inbox_check_words(NEW.status, NEW.attempt);
  IF NEW.status <> 'pending' THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'status', format('of a new run must be pending, not %s', NEW.status),
      'Leave it out.');
  ELSIF NEW.attempt <> 0 THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'attempt', format('of a new run must be 0, not %s', NEW.attempt),
      'Leave it out; it counts failed executions.');
  ELSIF char_length(NEW.idempotency_key) NOT BETWEEN 1 AND 512 THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'idempotency_key',
      format('has 1 to 512 characters, not %s', char_length(NEW.idempotency_key)),
      'Use a hash of long keys; leave it out for work that may be put in twice.');
  ELSIF own IS NOT NULL THEN
    PERFORM workflow.inbox_refuse('workflow_run', own, 'is written by the engine alone',
      'A new run has type, payload and, if wanted, id, idempotency_key, priority, run_at, max_attempts and queue.');
  END IF;
  PERFORM workflow.inbox_check_type('workflow_run', NEW.type);
  PERFORM workflow.inbox_check_max_attempts('workflow_run', NEW.max_attempts);
  PERFORM workflow.inbox_check_queue(NEW.queue);
  -- a key is taken for ever, also when its run is pruned: nothing is inserted, as ON CONFLICT DO NOTHING would have it
  IF NEW.idempotency_key IS NOT NULL
    AND EXISTS (SELECT FROM workflow.workflow_kept_key k WHERE k.idempotency_key = NEW.idempotency_key)
  THEN
    RETURN NULL;
  END IF;
  NEW.inbox := true;
  RETURN NEW;
END
$$;

-- After, not before: an insert that ON CONFLICT leaves out is not told and wakes nobody.
CREATE FUNCTION workflow.inbox_run_inserted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at timestamptz := workflow.inbox_now();
  run workflow.workflow_run := NEW;
BEGIN
  run.payload := NULL;
  -- the insert may have waited for a prune that was just moving the key
  IF NEW.idempotency_key IS NOT NULL THEN
    PERFORM workflow.refuse_kept_keys(ARRAY[NEW.idempotency_key]);
  END IF;
  PERFORM workflow.inbox_tell(run, 'created',
    CASE WHEN NEW.run_at > at THEN jsonb_build_object('run_at', workflow.inbox_iso(NEW.run_at)) END, session_user, at);
  PERFORM workflow.inbox_wake(NEW.queue, NEW.run_at, at);
  RETURN NULL;
END
$$;

------------------------------------------------------------------------------------------------------------------------
-- UPDATE, one function per operation. Each gives the row to write, or a NULL row for a veto. They see rows without
-- payload and result: a row that is passed on is copied whole, and a megabyte would be read and written again with
-- every heartbeat.

-- A lease begins, and with it the execution: nobody will report the start. Told as two rows.
CREATE FUNCTION workflow.inbox_leased(o workflow.workflow_run, n workflow.workflow_run, at timestamptz) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
BEGIN
  o.status := 'leased';
  o.leased_by := n.leased_by;
  o.lease_until := n.lease_until;
  o.timeout_at := workflow.inbox_timeout(o, at);
  o.started_at := at;
  o.first_started_at := coalesce(o.first_started_at, at);
  -- a lease that carries leased_at is told when it ends; this one is told now
  o.leased_at := NULL;
  o.report_id := NULL;
  PERFORM workflow.inbox_tell(o, 'leased', jsonb_build_object('worker_id', o.leased_by, 'attempt', o.attempt), o.leased_by, at);
  PERFORM workflow.inbox_tell(o, 'started', jsonb_build_object('worker_id', o.leased_by), o.leased_by,
    at + interval '1 microsecond');
  RETURN o;
END
$$;

CREATE FUNCTION workflow.inbox_claim(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
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
    -- not due: a retry that another worker is to wait for, or a run that is held until it is activated
    IF o.run_at > at OR workflow.inbox_is_ending(o) THEN
      RETURN NULL;
    END IF;
    RETURN workflow.inbox_leased(o, n, at);
  END IF;
  IF NOT workflow.inbox_is_foreign(o) OR o.lease_until >= at THEN
    RETURN NULL;
  END IF;
  IF o.timeout_at <= at THEN
    -- timed out as well: which of the two decides is the engine's to say
    PERFORM pg_notify('workflow_wake', '{"wake":{"outside":true}}');
    RETURN NULL;
  END IF;
  after := workflow.inbox_expired(o, at);
  IF after.status = 'pending' THEN
    RETURN workflow.inbox_leased(after, n, at + interval '1 microsecond');
  END IF;
  -- Nothing is left to claim. The row must leave the head of the line all the same, with or without an engine at work,
  -- and the client must not get it: so it is written here, and the client's own update vetoed.
  UPDATE workflow.workflow_run r SET
    status = after.status, attempt = after.attempt, epoch = after.epoch, leased_by = NULL, lease_until = NULL,
    last_error = after.last_error, error = after.error, unknown_outcome = after.unknown_outcome,
    finished_at = after.finished_at, updated_at = now(), engine_turn = NOT r.engine_turn
  WHERE r.id = o.id;
  RETURN NULL;
END
$$;

CREATE FUNCTION workflow.inbox_beat(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
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
  PERFORM workflow.inbox_tell(o, 'heartbeat', jsonb_build_object('extended_by_seconds', CASE WHEN isfinite(o.lease_until)
    THEN greatest(0, round(extract(epoch FROM o.lease_until - at))) END), o.leased_by, at);
  RETURN o;
END
$$;

-- counted: the client gave the number of the failure.
CREATE FUNCTION workflow.inbox_fail(o workflow.workflow_run, n workflow.workflow_run, counted boolean) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
DECLARE
  after workflow.workflow_run := o;
BEGIN
  -- Deferred work is held by nobody and ended by whoever knows its id; only the engine gives it out again, since it
  -- may have taken room under a limit.
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
CREATE FUNCTION workflow.inbox_give_back(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := workflow.inbox_now();
  after workflow.workflow_run := o;
BEGIN
  IF NOT workflow.inbox_is_foreign(o) THEN
    RETURN NULL;
  END IF;
  -- whoever puts expired leases back by hand must not make a run that kills its workers immortal
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
  PERFORM workflow.inbox_tell(after, 'returned', NULL, o.leased_by, at);
  PERFORM workflow.inbox_wake(after.queue, after.run_at, at);
  RETURN after;
END
$$;

CREATE FUNCTION workflow.inbox_succeed(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
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

CREATE FUNCTION workflow.inbox_cancel(o workflow.workflow_run, n workflow.workflow_run) RETURNS workflow.workflow_run
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

-- The status stays, and the lease: a soft delete, or another wish about work that waits.
CREATE FUNCTION workflow.inbox_edit(o workflow.workflow_run, n workflow.workflow_run, other_payload boolean, other_result boolean)
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

-- Which operation it is. The argument says what the SET list has named: 'claim', 'failure' or 'other'.
CREATE FUNCTION workflow.inbox_run_update() RETURNS trigger
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
    -- deleted_at alone only hides the row from lists
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
  after.payload := CASE WHEN edited THEN NEW.payload ELSE OLD.payload END;
  after.result := CASE WHEN after.status IN ('succeeded', 'failed') THEN NEW.result ELSE OLD.result END;
  after.updated_at := now();
  after.engine_turn := NOT OLD.engine_turn;
  RETURN after;
END
$$;

------------------------------------------------------------------------------------------------------------------------
-- Events that clients write themselves

-- Every change of a run is told by whoever made it stand: the triggers above or the engine. A client's copy of one of
-- the eight words comes after it, and is dropped whether it repeats or contradicts. Two things a client may add: words
-- of its own with a dot in them, and a heartbeat that moved no lease (the last told of the run is something else).
CREATE FUNCTION workflow.inbox_event_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  run record;
  last text;
BEGIN
  IF NEW.event_type NOT IN ('created', 'leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'cancelled')
    AND (NEW.event_type !~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$'
         OR NEW.event_type ~ '^(run|instance|gate|worker|queue|cron|schedule|workflow|registry)\.')
  THEN
    PERFORM workflow.inbox_refuse('workflow_event', 'event_type', format(
      'must be created, leased, started, heartbeat, succeeded, failed, retried, cancelled or a dotted word of your own, not %s',
      workflow.inbox_quote(NEW.event_type)),
      'A word of your own looks like app.note, in small letters; run, instance, gate, worker, queue, cron, schedule, workflow and registry are the engine''s.');
  END IF;
  SELECT r.status, r.instance_id, r.node, r.tenant, r.leased_by INTO run FROM workflow.workflow_run r WHERE r.id = NEW.workflow_id;
  IF NOT FOUND THEN
    RAISE foreign_key_violation USING
      MESSAGE = format('workflow_event.workflow_id: there is no run %s', coalesce(NEW.workflow_id::text, 'NULL')),
      HINT = 'It is the id of a row of workflow_run that is still kept.',
      SCHEMA = 'workflow', TABLE = 'workflow_event', COLUMN = 'workflow_id', CONSTRAINT = 'workflow_event_workflow_id_rule';
  END IF;
  IF NEW.event_type = 'heartbeat' THEN
    -- held until it is told: a lease that ends meanwhile would otherwise be told before its heartbeat
    SELECT r.status, r.leased_by INTO run.status, run.leased_by FROM workflow.workflow_run r WHERE r.id = NEW.workflow_id FOR SHARE;
  END IF;
  IF NEW.event_type = 'heartbeat' AND run.status = 'leased' THEN
    SELECT e.event_type INTO last FROM workflow.workflow_event e
    WHERE e.workflow_id = NEW.workflow_id AND e.engine ORDER BY e.id DESC LIMIT 1;
    IF last = 'heartbeat' THEN
      RETURN NULL;
    END IF;
  ELSIF NEW.event_type NOT LIKE '%.%' THEN
    RETURN NULL;
  END IF;
  -- whose it is tells the run, whoever writes
  NEW.instance_id := run.instance_id;
  NEW.seq := NULL;
  NEW.node := run.node;
  NEW.tenant := run.tenant;
  NEW.actor := CASE NEW.event_type WHEN 'heartbeat' THEN coalesce(run.leased_by, session_user) ELSE session_user END;
  RETURN NEW;
END
$$;

------------------------------------------------------------------------------------------------------------------------
-- Schedules. Few are written, so whoever writes them is checked.

CREATE FUNCTION workflow.inbox_schedule_write() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM workflow.inbox_check_type('workflow_schedule', NEW.type);
  PERFORM workflow.inbox_check_max_attempts('workflow_schedule', NEW.max_attempts);
  -- who reads it as cron says whether the fields make sense; here only what every reader refuses
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

-- A statement over many schedules wakes once. Any of them may have become due earlier than the engine's next look.
CREATE FUNCTION workflow.inbox_schedule_written() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify('workflow_wake', '{"wake":{"outside":true}}');
  RETURN NULL;
END
$$;

------------------------------------------------------------------------------------------------------------------------
-- Triggers of one moment fire in the order of their names: what the SET list names comes first.

CREATE TRIGGER inbox_1_insert BEFORE INSERT ON workflow.workflow_run FOR EACH ROW
  WHEN (NOT new.engine_turn) EXECUTE FUNCTION workflow.inbox_run_insert();
CREATE TRIGGER inbox_2_inserted AFTER INSERT ON workflow.workflow_run FOR EACH ROW
  WHEN (NOT new.engine_turn) EXECUTE FUNCTION workflow.inbox_run_inserted();
CREATE TRIGGER inbox_3_claim BEFORE UPDATE OF leased_by ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND new.status = 'leased') EXECUTE FUNCTION workflow.inbox_run_update('claim');
CREATE TRIGGER inbox_4_failure BEFORE UPDATE OF attempt ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND new.status IN ('pending', 'failed'))
  EXECUTE FUNCTION workflow.inbox_run_update('failure');
CREATE TRIGGER inbox_5_other BEFORE UPDATE ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn) EXECUTE FUNCTION workflow.inbox_run_update('other');

CREATE TRIGGER inbox_insert BEFORE INSERT ON workflow.workflow_event FOR EACH ROW
  WHEN (NOT new.engine) EXECUTE FUNCTION workflow.inbox_event_insert();

CREATE TRIGGER inbox_write BEFORE INSERT OR UPDATE OF type, schedule, timezone, max_attempts ON workflow.workflow_schedule
  FOR EACH ROW EXECUTE FUNCTION workflow.inbox_schedule_write();
CREATE TRIGGER inbox_inserted AFTER INSERT ON workflow.workflow_schedule
  FOR EACH STATEMENT EXECUTE FUNCTION workflow.inbox_schedule_written();
-- not for a schedule that has fired and is due later
CREATE TRIGGER inbox_updated AFTER UPDATE ON workflow.workflow_schedule FOR EACH ROW
  WHEN (new.enabled AND new.deleted_at IS NULL
        AND (new.next_run_at < old.next_run_at OR NOT old.enabled OR old.deleted_at IS NOT NULL))
  EXECUTE FUNCTION workflow.inbox_schedule_written();

-- A trigger fires without the right to execute its function; hanging one onto a table of one's own needs it. Whoever
-- could do that would write into the audit trail what he likes.
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT p.oid::regprocedure::text FROM pg_proc p
    WHERE p.pronamespace = 'workflow'::regnamespace AND p.proname LIKE 'inbox\_%'
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', name);
  END LOOP;
END
$$;

-- The registry: which runtime may execute a type, and whether any may. Ours is to obey it at once, whoever writes it.

-- Another with every change of the table: what processes remember of it holds while this stands. No number: one would
-- come again after a restore.
INSERT INTO workflow.workflow_setting (key, value) VALUES ('registry_version', gen_random_uuid()::text);

CREATE FUNCTION workflow.registry_row() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF new.workflow_name = '' THEN
    RAISE check_violation USING MESSAGE = 'workflow_registry.workflow_name: must name a type, not ""',
      HINT = 'Write the type as runs have it, such as content.thumbnail.v1.',
      SCHEMA = 'workflow', TABLE = 'workflow_registry', COLUMN = 'workflow_name', CONSTRAINT = 'workflow_registry_workflow_name';
  END IF;
  IF new.runtime = '' THEN
    RAISE check_violation USING MESSAGE = 'workflow_registry.runtime: must be a word that workers state, not ""',
      HINT = 'Write what its workers are started with: node, go, python.',
      SCHEMA = 'workflow', TABLE = 'workflow_registry', COLUMN = 'runtime', CONSTRAINT = 'workflow_registry_runtime';
  END IF;
  new.updated_at := workflow.clock();
  RETURN new;
END
$$;

CREATE TRIGGER workflow_registry_row BEFORE INSERT OR UPDATE ON workflow.workflow_registry
  FOR EACH ROW EXECUTE FUNCTION workflow.registry_row();

-- Every process looks at everything: what was closed may be open now, in any queue.
CREATE FUNCTION workflow.registry_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO workflow.workflow_setting (key, value) VALUES ('registry_version', gen_random_uuid()::text)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value;
  PERFORM pg_notify('workflow_wake', '{"wake":{}}');
  RETURN NULL;
END
$$;

CREATE TRIGGER workflow_registry_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON workflow.workflow_registry
  FOR EACH STATEMENT EXECUTE FUNCTION workflow.registry_changed();

-- Firing needs no right; hanging such a function onto a table of one's own does.
REVOKE EXECUTE ON FUNCTION workflow.registry_row(), workflow.registry_changed() FROM PUBLIC;

-- As before (0007), and what this process remembers of the registry must still be what it says.
DROP FUNCTION workflow.expect_rows(float8, float8, uuid[], xid[], uuid[], xid[], text[], text[]);
CREATE FUNCTION workflow.expect_rows(
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
-- End of the registry.

-- Why the engine has disabled a schedule: a cron expression or a time zone that it cannot read.
ALTER TABLE workflow.workflow_schedule ADD COLUMN disabled_reason text;
-- End of the schedules.
