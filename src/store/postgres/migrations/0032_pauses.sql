-- Pauses of instances, definitions and types, and the times of what waits during one: src/model/pauses.

-- Of a root: whether its tree is paused, and whether its times stand still ('stop') or continue ('run').
ALTER TABLE workflow.workflow_instance ADD COLUMN paused text;

CREATE TABLE workflow.workflow_pause (
  kind       text NOT NULL CHECK (kind IN ('instance', 'definition', 'type', 'queue')),
  key        text NOT NULL,
  tenant     text,
  state      text NOT NULL CHECK (state IN ('pausing', 'paused', 'resuming')),
  timeouts   text NOT NULL CHECK (timeouts IN ('stop', 'run')),
  paused_at  timestamptz NOT NULL,
  actor      text,
  reason     text,
  resumed_at timestamptz,
  cursor     text,
  PRIMARY KEY (kind, key)
);
-- Lists, newest first: all of them, and those of one tenant.
CREATE INDEX workflow_pause_listed ON workflow.workflow_pause (paused_at, key);
CREATE INDEX workflow_pause_of_tenant ON workflow.workflow_pause (tenant, paused_at, key) WHERE tenant IS NOT NULL;
-- What the sweeper continues after a process died.
CREATE INDEX workflow_pause_unfinished ON workflow.workflow_pause (key) WHERE state <> 'paused';

-- owner: the root of a paused tree, or type: and the name of a paused type.
CREATE TABLE workflow.workflow_parked (
  owner       text COLLATE "C" NOT NULL,
  id          uuid NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('run', 'instance', 'gate')),
  since       timestamptz NOT NULL,
  run_at      timestamptz,
  expires_at  timestamptz,
  timeout_at  timestamptz,
  due_at      timestamptz,
  escalate_at timestamptz,
  deadline_at timestamptz,
  queued_at   timestamptz,
  phase       text,
  PRIMARY KEY (owner, id)
);
