-- Revision 1.
-- Pauses of definitions and types are rules that every process knows, like the registry: a change has the same effect there
-- (80_registry.sql). Pauses of instances are in the rows of their roots.

CREATE OR REPLACE FUNCTION workflow.pause_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO workflow.workflow_setting (key, value) VALUES ('registry_version', gen_random_uuid()::text)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value;
  PERFORM pg_notify('workflow_wake', '{"wake":{}}');
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER workflow_pause_written AFTER INSERT OR UPDATE ON workflow.workflow_pause FOR EACH ROW
  WHEN (new.kind IN ('definition', 'type')) EXECUTE FUNCTION workflow.pause_changed();

CREATE OR REPLACE TRIGGER workflow_pause_removed AFTER DELETE ON workflow.workflow_pause FOR EACH ROW
  WHEN (old.kind IN ('definition', 'type')) EXECUTE FUNCTION workflow.pause_changed();

REVOKE EXECUTE ON FUNCTION workflow.pause_changed FROM PUBLIC;
