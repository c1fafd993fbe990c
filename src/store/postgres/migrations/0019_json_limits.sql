-- JSON written by plain SQL is limited in size and depth, as JSON through any other interface is (engine/edge.ts has the
-- same two numbers, and test/inbox/json-limits.test.ts compares them). A value nested some thousand levels deep is valid
-- jsonb, but a program that walks it by recursion ends with a stack overflow.
--
-- The engine's writes pay for one boolean, as with all triggers of the inbox. A foreign write pays for printing the
-- value, and only a value of more than 400 bytes is examined: 200 levels take two bytes each.

CREATE FUNCTION workflow.inbox_check_json(of_table text, of_column text, value jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  bytes integer := octet_length(value::text);
BEGIN
  IF bytes > 1048576 THEN
    PERFORM workflow.inbox_refuse(of_table, of_column, format('has at most 1048576 bytes as text, not %s', bytes),
      'Keep large values elsewhere and store a reference.');
  -- A container at level 200 is the 201st. strict: lax would look into arrays, one level deeper. The walk ends at that
  -- level, so its own depth is bounded.
  ELSIF bytes > 400
    AND jsonb_path_exists(value, 'strict $.**{200} ? (@.type() == "array" || @.type() == "object")')
  THEN
    PERFORM workflow.inbox_refuse(of_table, of_column, 'is nested at most 200 levels deep, not more',
      'Store the value flat, or as the text of its JSON in one string.');
  END IF;
END
$$;

CREATE FUNCTION workflow.inbox_payload() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM workflow.inbox_check_json(TG_TABLE_NAME, 'payload', NEW.payload);
  RETURN NEW;
END
$$;

CREATE FUNCTION workflow.inbox_result() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM workflow.inbox_check_json(TG_TABLE_NAME, 'result', NEW.result);
  RETURN NEW;
END
$$;

CREATE FUNCTION workflow.inbox_data() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF octet_length(NEW.event_type) > 255 THEN
    PERFORM workflow.inbox_refuse('workflow_event', 'event_type',
      format('has at most 255 bytes, not %s', octet_length(NEW.event_type)), 'What varies belongs into data.');
  END IF;
  PERFORM workflow.inbox_check_json('workflow_event', 'data', NEW.data);
  RETURN NEW;
END
$$;

-- A failure is always recorded, so a long message is cut, not refused. The engine reads no more of it either.
CREATE FUNCTION workflow.inbox_message() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.last_error := left(NEW.last_error, 65536);
  RETURN NEW;
END
$$;

CREATE FUNCTION workflow.registry_texts() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  long text := CASE WHEN char_length(NEW.workflow_name) > 255 THEN 'workflow_name' WHEN char_length(NEW.runtime) > 255 THEN 'runtime'
    WHEN char_length(NEW.intent_type) > 255 THEN 'intent_type' END;
BEGIN
  IF long IS NOT NULL THEN
    PERFORM workflow.inbox_refuse('workflow_registry', long, 'has at most 255 characters', 'It is a name.');
  ELSIF char_length(NEW.description) > 10000 THEN
    PERFORM workflow.inbox_refuse('workflow_registry', 'description', 'has at most 10000 characters',
      'Describe the type elsewhere and write where.');
  END IF;
  RETURN NEW;
END
$$;

-- First by name, so that they see what the client wrote. pg_column_size only spares a large value a second printing: a
-- compressed one may be small and print long.
CREATE TRIGGER inbox_0_payload_insert BEFORE INSERT ON workflow.workflow_run FOR EACH ROW
  WHEN (NOT new.engine_turn AND (pg_column_size(new.payload) > 400 OR octet_length(new.payload::text) > 400))
  EXECUTE FUNCTION workflow.inbox_payload();
CREATE TRIGGER inbox_0_payload BEFORE UPDATE OF payload ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND (pg_column_size(new.payload) > 400 OR octet_length(new.payload::text) > 400))
  EXECUTE FUNCTION workflow.inbox_payload();
CREATE TRIGGER inbox_0_result BEFORE UPDATE OF result ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND (pg_column_size(new.result) > 400 OR octet_length(new.result::text) > 400))
  EXECUTE FUNCTION workflow.inbox_result();
CREATE TRIGGER inbox_0_message BEFORE UPDATE OF last_error ON workflow.workflow_run FOR EACH ROW
  WHEN (new.engine_turn = old.engine_turn AND octet_length(new.last_error) > 65536)
  EXECUTE FUNCTION workflow.inbox_message();
CREATE TRIGGER inbox_0_data BEFORE INSERT ON workflow.workflow_event FOR EACH ROW
  WHEN (NOT new.engine AND (pg_column_size(new.data) > 400 OR octet_length(new.data::text) > 400 OR octet_length(new.event_type) > 255))
  EXECUTE FUNCTION workflow.inbox_data();
CREATE TRIGGER inbox_0_payload BEFORE INSERT OR UPDATE OF payload ON workflow.workflow_schedule FOR EACH ROW
  WHEN (pg_column_size(new.payload) > 400 OR octet_length(new.payload::text) > 400)
  EXECUTE FUNCTION workflow.inbox_payload();
CREATE TRIGGER workflow_registry_texts BEFORE INSERT OR UPDATE ON workflow.workflow_registry FOR EACH ROW
  EXECUTE FUNCTION workflow.registry_texts();

REVOKE EXECUTE ON FUNCTION workflow.inbox_check_json(text, text, jsonb), workflow.inbox_payload(), workflow.inbox_result(),
  workflow.inbox_data(), workflow.inbox_message(), workflow.registry_texts() FROM PUBLIC;
