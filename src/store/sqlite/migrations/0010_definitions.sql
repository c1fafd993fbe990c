-- Definitions as they were deployed. The table of the first migration was never written: it knew neither tenants nor what
-- a text had been compiled to.
--   number       counts the versions of a name, whatever their authors call them; the latest is the greatest not retired
--   source_hash  SHA-256 of the text
--   plan         what an instance needs but its input and its identity; nets are named by their hashes
--   trigger      { event, condition, schedule, timezone }
--   used_at      first started then: from then on the text stays
DROP TABLE workflow_definition;

CREATE TABLE workflow_definition (
  id TEXT NOT NULL PRIMARY KEY,
  tenant TEXT,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  number INTEGER NOT NULL,
  dialect TEXT NOT NULL,
  net_hash TEXT NOT NULL,
  source_hash TEXT NOT NULL,
  "trigger" TEXT CHECK ("trigger" IS NULL OR json_valid("trigger")),
  created_at INTEGER NOT NULL,
  created_by TEXT,
  used_at INTEGER,
  retired_at INTEGER,
  source TEXT NOT NULL,
  plan TEXT NOT NULL CHECK (json_valid(plan))
) STRICT;

-- Those of no tenant are a space of their own.
CREATE UNIQUE INDEX idx_workflow_definition_version ON workflow_definition (name, coalesce(tenant, ''), version);
-- Finds the latest of a name.
CREATE UNIQUE INDEX idx_workflow_definition_number ON workflow_definition (name, coalesce(tenant, ''), number);
-- Who listens to an event.
CREATE INDEX idx_workflow_definition_event ON workflow_definition (json_extract("trigger", '$.event'))
  WHERE retired_at IS NULL AND json_extract("trigger", '$.event') IS NOT NULL;

-- What an event may start, oldest first. Idle instances are few and never change until they are started.
CREATE INDEX idx_workflow_instance_idle ON workflow_instance (name, coalesce(tenant, ''), id)
  WHERE state = 'idle' AND parent_id IS NULL;
