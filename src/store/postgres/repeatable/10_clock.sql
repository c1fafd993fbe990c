-- Revision 1.
-- The one clock that two processes compare times by.

-- Tests and dry runs move the offset to skip time. A body in standard SQL is bound when the function is created, so it
-- needs no search_path of its own. Callers write (SELECT workflow.clock()), which is evaluated once per statement.
CREATE OR REPLACE FUNCTION workflow.clock() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
RETURN now() + coalesce(
  (SELECT make_interval(secs => s.value::float8 / 1000) FROM workflow.workflow_setting s WHERE s.key = 'clock_offset_ms'),
  interval '0');

-- A transaction that loads nothing decides on an estimate of the clock and saves a round trip. It sends this call with
-- its writes, which are refused if the clock was moved in the meantime or the estimate is ahead of it.
CREATE OR REPLACE FUNCTION workflow.expect_clock(now_ms float8, offset_ms float8) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
  actual float8;
BEGIN
  SELECT s.value::float8 INTO actual FROM workflow.workflow_setting s WHERE s.key = 'clock_offset_ms';
  IF coalesce(actual, 0) <> offset_ms OR to_timestamp((now_ms - offset_ms) / 1000) > now() THEN
    RAISE EXCEPTION 'the clock is not what this transaction assumed' USING ERRCODE = 'PTCLK';
  END IF;
END
$$;
