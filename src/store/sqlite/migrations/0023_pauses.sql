-- Pauses of instances, definitions and types, and the times of what waits during one: src/model/pauses.

-- Of a root: whether its tree is paused, and whether its times stand still ('stop') or continue ('run').
ALTER TABLE workflow_instance ADD COLUMN paused TEXT;

CREATE TABLE workflow_pause (
  kind TEXT NOT NULL CHECK (kind IN ('instance', 'definition', 'type', 'queue')),
  key TEXT NOT NULL,
  tenant TEXT,
  state TEXT NOT NULL CHECK (state IN ('pausing', 'paused', 'resuming')),
  timeouts TEXT NOT NULL CHECK (timeouts IN ('stop', 'run')),
  paused_at INTEGER NOT NULL,
  actor TEXT,
  reason TEXT,
  resumed_at INTEGER,
  cursor TEXT,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
-- Lists, newest first: all of them, and those of one tenant.
CREATE INDEX idx_workflow_pause_listed ON workflow_pause (paused_at, key);
CREATE INDEX idx_workflow_pause_of_tenant ON workflow_pause (tenant, paused_at, key) WHERE tenant IS NOT NULL;
-- What the sweeper continues after a process died.
CREATE INDEX idx_workflow_pause_unfinished ON workflow_pause (key) WHERE state <> 'paused';

-- owner: the root of a paused tree, or type: and the name of a paused type.
CREATE TABLE workflow_parked (
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('run', 'instance', 'gate')),
  since INTEGER NOT NULL,
  run_at INTEGER,
  expires_at INTEGER,
  timeout_at INTEGER,
  due_at INTEGER,
  escalate_at INTEGER,
  deadline_at INTEGER,
  queued_at INTEGER,
  phase TEXT,
  PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;
