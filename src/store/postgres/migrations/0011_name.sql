-- Names that a client chose for its workflows and those nested in them, reserved together when the outermost is
-- created: a nested one that begins much later must not find its name taken. They go with the tree.
CREATE TABLE workflow.workflow_name (
  name    text PRIMARY KEY,
  root_id uuid NOT NULL
);

CREATE INDEX workflow_name_root ON workflow.workflow_name (root_id);
