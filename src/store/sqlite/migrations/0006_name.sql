-- Names that a client chose for its workflows and those nested in them, reserved together when the outermost is
-- created: a nested one that begins much later must not find its name taken. They go with the tree.
CREATE TABLE workflow_name (
  name TEXT NOT NULL PRIMARY KEY,
  root_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_workflow_name_root ON workflow_name (root_id);
