-- Starts that wait until no other start has followed under their key for a while: the last one replaces the others.
CREATE TABLE workflow_debounce (
  key TEXT NOT NULL PRIMARY KEY,
  instance_id TEXT NOT NULL,
  name TEXT NOT NULL,
  version TEXT,
  tenant TEXT,
  start TEXT NOT NULL CHECK (json_valid(start)),
  actor TEXT,
  replaced INTEGER NOT NULL DEFAULT 0,
  first_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_workflow_debounce_due ON workflow_debounce (due_at);
