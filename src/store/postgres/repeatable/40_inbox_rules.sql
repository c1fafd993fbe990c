-- Revision 1.
-- What the triggers on runs, events and schedules share: times, refusals, rules for values, events and notifications.
--
-- The inbox is what clients that know nothing of Petrel write into workflow_run and workflow_event by plain SQL. The
-- triggers hold these writes to the promises of docs/inbox.md (decision 012).
--
-- A foreign write is recognised by a column it leaves alone. Every write of the engine flips workflow_run.engine_turn (and
-- inserts it as true); a write that leaves it as it was comes from outside. So the WHEN of every trigger is false for the
-- rows of the engine, which pay for comparing two booleans: no function is called for them. A trigger that accepts a
-- foreign write flips engine_turn as well, which keeps the triggers after it from looking at the row again.
--
-- Each change records its event here, once, in the transaction of the change; the copy that a client sends afterwards is
-- dropped. The end of a step of a workflow is recorded by the engine, which alone can number it, when it settles: its sweep
-- finds ended rows without settled_at. `leased` and `started` of a foreign claim are rows of their own, and leased_at stays
-- NULL, so workflow_history adds nothing to them.
--
-- Nothing here locks a row besides the run that is written: the engine locks roots before runs, a client only a run.
--
-- A function that runs once per row is plpgsql, whose plans a session keeps; a SQL function that cannot be inlined is
-- planned again with every call.

-- The store's clock at this moment. clock() does not advance during a transaction, and a client may keep one open.
CREATE OR REPLACE FUNCTION workflow.inbox_now() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  offset_ms text;
BEGIN
  SELECT s.value INTO offset_ms FROM workflow.workflow_setting s WHERE s.key = 'clock_offset_ms';
  RETURN clock_timestamp() + make_interval(secs => coalesce(offset_ms::float8, 0) / 1000);
END
$$;

-- A time as the engine writes it into events.
CREATE OR REPLACE FUNCTION workflow.inbox_iso(at timestamptz) RETURNS text LANGUAGE sql STABLE
RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- A value as a message shows it, cut after 60 characters.
CREATE OR REPLACE FUNCTION workflow.inbox_quote(value text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN '"' || left(value, 60) || CASE WHEN char_length(value) > 60 THEN '…' ELSE '' END || '"';

-- Refuses a write. The message names the column and the rule, the hint says what would be right.
CREATE OR REPLACE FUNCTION workflow.inbox_refuse(of_table text, of_column text, rule text, advice text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE check_violation USING
    MESSAGE = format('%s.%s: %s', of_table, of_column, rule), HINT = advice,
    SCHEMA = 'workflow', TABLE = of_table, COLUMN = of_column, CONSTRAINT = format('%s_%s_rule', of_table, of_column);
END
$$;

-- The type of a run inserted by plain SQL. Jobs and steps are inserted by the engine and have names of any form.
CREATE OR REPLACE FUNCTION workflow.inbox_check_type(of_table text, type text) RETURNS void LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION workflow.inbox_check_max_attempts(of_table text, max_attempts integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF max_attempts NOT BETWEEN 1 AND 1000 THEN
    PERFORM workflow.inbox_refuse(of_table, 'max_attempts', format('must be from 1 to 1000, not %s', max_attempts),
      'It counts executions, the first one included; the default is 3.');
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION workflow.inbox_check_queue(queue text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF char_length(queue) NOT BETWEEN 1 AND 255 THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'queue', format('has 1 to 255 characters, not %s', char_length(queue)),
      'Leave it out for the queue "default".');
  END IF;
END
$$;

-- Values that no client may write in any operation.
CREATE OR REPLACE FUNCTION workflow.inbox_check_words(status text, attempt integer) RETURNS void LANGUAGE plpgsql AS $$
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

-- Columns that only the engine writes, for roles that have more rights than they need.
CREATE OR REPLACE FUNCTION workflow.inbox_check_own(o workflow.workflow_run, n workflow.workflow_run) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  rest workflow.workflow_run := n;
  touched text;
BEGIN
  rest.type := o.type; rest.status := o.status; rest.priority := o.priority; rest.run_at := o.run_at;
  rest.attempt := o.attempt; rest.max_attempts := o.max_attempts; rest.queue := o.queue; rest.leased_by := o.leased_by;
  rest.lease_until := o.lease_until; rest.last_error := o.last_error; rest.updated_at := o.updated_at;
  rest.deleted_at := o.deleted_at;
  -- *= compares the stored bytes: some columns are json, which has no equality
  IF rest *= o THEN
    RETURN;
  END IF;
  SELECT b.key INTO touched FROM jsonb_each(to_jsonb(o)) b JOIN jsonb_each(to_jsonb(rest)) a USING (key)
  WHERE a.value <> b.value ORDER BY b.key LIMIT 1;
  PERFORM workflow.inbox_refuse('workflow_run', coalesce(touched, 'meta'), 'is written by the engine alone',
    'Clients write status, leased_by, lease_until, attempt, run_at, last_error, result, priority, max_attempts, queue, type, payload and deleted_at.');
END
$$;

-- One row of the audit trail.
CREATE OR REPLACE FUNCTION workflow.inbox_record_event(run workflow.workflow_run, word text, about jsonb, who text, at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO workflow.workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  VALUES (run.id, word, about, at, run.instance_id, run.node, who, run.tenant, true);
END
$$;

-- Wakes Petrel's processes for a claimable run; for one that is due later they only plan their next sweep. Postgres sends
-- equal notifications of one transaction once, so a statement with ten thousand rows causes a single wake.
CREATE OR REPLACE FUNCTION workflow.inbox_wake(queue text, run_at timestamptz, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('workflow_wake',
    CASE WHEN run_at <= at THEN format('{"wake":{"queues":[%s]}}', to_json(queue)) ELSE '{"wake":{"outside":true}}' END);
END
$$;

-- A trigger fires without the right to execute its function, but attaching the function to a table of one's own needs it: a
-- role with that right could write any event into the audit trail. So no function of the triggers is for PUBLIC.
REVOKE EXECUTE ON FUNCTION workflow.inbox_now, workflow.inbox_iso, workflow.inbox_quote, workflow.inbox_refuse,
  workflow.inbox_check_type, workflow.inbox_check_max_attempts, workflow.inbox_check_queue, workflow.inbox_check_words,
  workflow.inbox_check_own, workflow.inbox_record_event, workflow.inbox_wake FROM PUBLIC;
