-- Revision 1.
-- The registry: which runtime may execute a type, and whether any may. Petrel obeys it at once, whatever wrote it.

CREATE OR REPLACE FUNCTION workflow.registry_row() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

CREATE OR REPLACE FUNCTION workflow.registry_texts() RETURNS trigger
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

-- Every process looks at all queues: a type that was disabled may be enabled now. The version is random: a number would
-- occur again after a restore.
CREATE OR REPLACE FUNCTION workflow.registry_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO workflow.workflow_setting (key, value) VALUES ('registry_version', gen_random_uuid()::text)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value;
  PERFORM pg_notify('workflow_wake', '{"wake":{}}');
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER workflow_registry_row BEFORE INSERT OR UPDATE ON workflow.workflow_registry
  FOR EACH ROW EXECUTE FUNCTION workflow.registry_row();

CREATE OR REPLACE TRIGGER workflow_registry_texts BEFORE INSERT OR UPDATE ON workflow.workflow_registry FOR EACH ROW
  EXECUTE FUNCTION workflow.registry_texts();

CREATE OR REPLACE TRIGGER workflow_registry_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON workflow.workflow_registry
  FOR EACH STATEMENT EXECUTE FUNCTION workflow.registry_changed();

REVOKE EXECUTE ON FUNCTION workflow.registry_row, workflow.registry_texts, workflow.registry_changed FROM PUBLIC;
