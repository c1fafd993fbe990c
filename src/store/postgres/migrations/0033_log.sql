-- What executions log. A run that logs nothing has no row here.
CREATE TABLE workflow.workflow_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id uuid NOT NULL,
  instance_id uuid,
  epoch integer NOT NULL,
  attempt integer NOT NULL,
  first integer NOT NULL,
  bytes integer NOT NULL,
  lines json NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX workflow_log_run ON workflow.workflow_log (run_id, id);
CREATE INDEX workflow_log_instance ON workflow.workflow_log (instance_id, id) WHERE instance_id IS NOT NULL;
