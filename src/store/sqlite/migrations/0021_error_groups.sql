-- Failures for good, until they are counted into their group.
CREATE TABLE workflow_failure (
  id TEXT NOT NULL PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  tenant TEXT,
  type TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  node TEXT,
  definition TEXT,
  worker TEXT,
  run_id TEXT NOT NULL,
  instance_id TEXT,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Failures with the same cause. What a fingerprint consists of is in src/model/errors/fingerprint.ts.
CREATE TABLE workflow_error_group (
  fingerprint TEXT NOT NULL PRIMARY KEY,
  tenant TEXT,
  state TEXT NOT NULL CHECK (state IN ('open', 'resolved', 'ignored')),
  regressed INTEGER NOT NULL,
  type TEXT NOT NULL,
  code TEXT NOT NULL,
  node TEXT,
  message TEXT NOT NULL,
  count INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  definitions TEXT NOT NULL CHECK (json_valid(definitions)),
  workers TEXT NOT NULL CHECK (json_valid(workers)),
  last_message TEXT NOT NULL,
  last_run_id TEXT NOT NULL,
  last_instance_id TEXT,
  state_at INTEGER NOT NULL,
  state_by TEXT,
  reason TEXT,
  ignored_count INTEGER,
  ignored_until INTEGER
) STRICT, WITHOUT ROWID;

-- The list, and retention.
CREATE INDEX idx_workflow_error_group_last ON workflow_error_group (last_at, fingerprint);
CREATE INDEX idx_workflow_error_group_tenant ON workflow_error_group (tenant, last_at, fingerprint);
