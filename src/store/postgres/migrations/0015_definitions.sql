-- Definitions as they were deployed. The table of the third migration was never written: it knew neither tenants nor what
-- a text had been compiled to.
--   number       counts the versions of a name, whatever their authors call them; the latest is the greatest not retired
--   source_hash  SHA-256 of the text
--   plan         what an instance needs but its input and its identity; nets are named by their hashes
--   trigger      { event, condition, schedule, timezone }
--   used_at      first started then: from then on the text stays
DROP TABLE workflow.workflow_definition;

CREATE TABLE workflow.workflow_definition (
  id          uuid PRIMARY KEY,
  tenant      text,
  name        text NOT NULL,
  version     text NOT NULL,
  number      integer NOT NULL,
  dialect     text NOT NULL,
  net_hash    text NOT NULL,
  source_hash text NOT NULL,
  trigger     json,
  created_at  timestamptz NOT NULL,
  created_by  text,
  used_at     timestamptz,
  retired_at  timestamptz,
  source      text NOT NULL,
  plan        json NOT NULL
);

-- Those of no tenant are a space of their own; NULLS NOT DISTINCT would need Postgres 15.
CREATE UNIQUE INDEX workflow_definition_version ON workflow.workflow_definition (name, coalesce(tenant, ''), version);
-- Finds the latest of a name.
CREATE UNIQUE INDEX workflow_definition_number ON workflow.workflow_definition (name, coalesce(tenant, ''), number);
-- Who listens to an event.
CREATE INDEX workflow_definition_event ON workflow.workflow_definition ((trigger ->> 'event'))
  WHERE retired_at IS NULL AND (trigger ->> 'event') IS NOT NULL;

-- What an event may start, oldest first. Idle instances are few and never change until they are started.
CREATE INDEX workflow_instance_idle ON workflow.workflow_instance (name, coalesce(tenant, ''), id)
  WHERE state = 'idle' AND parent_id IS NULL;
