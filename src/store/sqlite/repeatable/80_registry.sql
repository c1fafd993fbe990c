-- Revision 1.
-- The registry: which runtime may execute a type, and whether any may.

CREATE TRIGGER workflow_registry_insert BEFORE INSERT ON workflow_registry BEGIN
  SELECT RAISE(ABORT, 'workflow_registry.workflow_name: must name a type, not ""') WHERE new.workflow_name = '';
  SELECT RAISE(ABORT, 'workflow_registry.runtime: must be a word that workers state (node, go, python), not ""') WHERE new.runtime = '';
END;

CREATE TRIGGER workflow_registry_update BEFORE UPDATE ON workflow_registry BEGIN
  SELECT RAISE(ABORT, 'workflow_registry.workflow_name: must name a type, not ""') WHERE new.workflow_name = '';
  SELECT RAISE(ABORT, 'workflow_registry.runtime: must be a word that workers state (node, go, python), not ""') WHERE new.runtime = '';
END;

-- Foreign clients may not write updated_at, and the doctor compares leases with it.
CREATE TRIGGER workflow_registry_updated AFTER UPDATE OF workflow_name, runtime, is_enabled, deleted_at ON workflow_registry
WHEN new.updated_at = old.updated_at BEGIN
  UPDATE workflow_registry SET updated_at = (SELECT now FROM workflow_clock) WHERE id = new.id;
END;

CREATE TRIGGER workflow_registry_insert_texts BEFORE INSERT ON workflow_registry BEGIN
  SELECT RAISE(ABORT, 'workflow_registry.workflow_name, runtime, intent_type: have at most 255 characters')
  WHERE length(new.workflow_name) > 255 OR length(new.runtime) > 255 OR length(new.intent_type) > 255;
  SELECT RAISE(ABORT, 'workflow_registry.description: has at most 10000 characters') WHERE length(new.description) > 10000;
END;

CREATE TRIGGER workflow_registry_update_texts BEFORE UPDATE ON workflow_registry BEGIN
  SELECT RAISE(ABORT, 'workflow_registry.workflow_name, runtime, intent_type: have at most 255 characters')
  WHERE length(new.workflow_name) > 255 OR length(new.runtime) > 255 OR length(new.intent_type) > 255;
  SELECT RAISE(ABORT, 'workflow_registry.description: has at most 10000 characters') WHERE length(new.description) > 10000;
END;
