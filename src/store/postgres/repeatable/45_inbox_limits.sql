-- Revision 2.
-- Limits on the JSON, messages and times that plain SQL writes. The triggers that call these functions are with their tables.

-- JSON written by plain SQL is limited in size and depth like JSON through every other interface: kernel/limits.ts has
-- the same two numbers, and test/inbox/json-limits.test.ts compares them. A value nested thousands of levels deep is valid
-- jsonb, but a program that walks it by recursion ends with a stack overflow. Only values of more than 400 bytes are
-- examined: 200 levels take two bytes each.

CREATE OR REPLACE FUNCTION workflow.inbox_check_json(of_table text, of_column text, value jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  bytes integer := octet_length(value::text);
BEGIN
  IF bytes > 1048576 THEN
    PERFORM workflow.inbox_refuse(of_table, of_column, format('has at most 1048576 bytes as text, not %s', bytes),
      'Keep large values elsewhere and store a reference.');
  -- A container at level 200 is the 201st. strict, because lax would look into arrays, one level deeper. The walk ends at
  -- that level, so its own depth is bounded.
  ELSIF bytes > 400
    AND jsonb_path_exists(value, 'strict $.**{200} ? (@.type() == "array" || @.type() == "object")')
  THEN
    PERFORM workflow.inbox_refuse(of_table, of_column, 'is nested at most 200 levels deep, not more',
      'Store the value flat, or as the text of its JSON in one string.');
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION workflow.inbox_payload() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM workflow.inbox_check_json(TG_TABLE_NAME, 'payload', NEW.payload);
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION workflow.inbox_result() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM workflow.inbox_check_json(TG_TABLE_NAME, 'result', NEW.result);
  RETURN NEW;
END
$$;

-- A failure is always recorded, so a long message is cut and not refused. The engine reads no more of it either.
CREATE OR REPLACE FUNCTION workflow.inbox_message() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.last_error := left(NEW.last_error, 65536);
  RETURN NEW;
END
$$;

-- Times written by plain SQL are between 1970 and 9999, as in SQLite. 'infinity', '-infinity', dates BC and years that no
-- Date of JavaScript holds are valid timestamptz, but no schedule can advance from them and no key can be made of them.
-- Only columns that the statement changes are examined: a row from before this rule can still be claimed and ended.

CREATE OR REPLACE FUNCTION workflow.inbox_check_time(of_table text, of_column text, value timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF value NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00' THEN
    PERFORM workflow.inbox_refuse(of_table, of_column, format('must be a time from 1970 to 9999, not %s', to_jsonb(value) #>> '{}'),
      'Leave run_at out for work that is due at once; to hold a schedule back, SET enabled = false.');
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION workflow.inbox_time() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  o jsonb := CASE TG_OP WHEN 'UPDATE' THEN to_jsonb(OLD) ELSE '{}' END;
  n jsonb := to_jsonb(NEW);
  name text;
BEGIN
  FOREACH name IN ARRAY TG_ARGV LOOP
    IF n ->> name IS DISTINCT FROM o ->> name THEN
      PERFORM workflow.inbox_check_time(TG_TABLE_NAME, name, (n ->> name)::timestamptz);
    END IF;
  END LOOP;
  RETURN NEW;
END
$$;

REVOKE EXECUTE ON FUNCTION workflow.inbox_check_json, workflow.inbox_payload, workflow.inbox_result,
  workflow.inbox_message, workflow.inbox_time, workflow.inbox_check_time FROM PUBLIC;
