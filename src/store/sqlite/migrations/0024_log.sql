-- What executions log. A run that logs nothing has no row here.
CREATE TABLE workflow_log (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  instance_id TEXT,
  epoch INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  first INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  lines TEXT NOT NULL CHECK (json_valid(lines)),
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX idx_workflow_log_run ON workflow_log (run_id, id);
CREATE INDEX idx_workflow_log_instance ON workflow_log (instance_id, id) WHERE instance_id IS NOT NULL;
