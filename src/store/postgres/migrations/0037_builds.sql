-- The build that a worker states, the builds in which a failure was seen, and how the state of its group has changed.
ALTER TABLE workflow.workflow_worker ADD COLUMN build text;
ALTER TABLE workflow.workflow_failure ADD COLUMN holder text, ADD COLUMN build text;
ALTER TABLE workflow.workflow_error_group ADD COLUMN builds json NOT NULL DEFAULT '[]',
  ADD COLUMN changes json NOT NULL DEFAULT '[]';

-- A debounced start is of a definition or of a run. It is listed by the id that it will have, the newest series first.
ALTER TABLE workflow.workflow_debounce RENAME COLUMN instance_id TO id;
ALTER TABLE workflow.workflow_debounce ADD COLUMN kind text NOT NULL DEFAULT 'instance';
CREATE UNIQUE INDEX workflow_debounce_listed ON workflow.workflow_debounce (id);
CREATE INDEX workflow_debounce_of_tenant ON workflow.workflow_debounce (coalesce(tenant, ''), id);
