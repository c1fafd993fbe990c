-- The build that a worker states, the builds in which a failure was seen, and how the state of its group has changed.
ALTER TABLE workflow_worker ADD COLUMN build TEXT;
ALTER TABLE workflow_failure ADD COLUMN holder TEXT;
ALTER TABLE workflow_failure ADD COLUMN build TEXT;
ALTER TABLE workflow_error_group ADD COLUMN builds TEXT NOT NULL DEFAULT '[]';
ALTER TABLE workflow_error_group ADD COLUMN changes TEXT NOT NULL DEFAULT '[]';

-- A debounced start is of a definition or of a run. It is listed by the id that it will have, the newest series first.
ALTER TABLE workflow_debounce RENAME COLUMN instance_id TO id;
ALTER TABLE workflow_debounce ADD COLUMN kind TEXT NOT NULL DEFAULT 'instance';
CREATE UNIQUE INDEX idx_workflow_debounce_listed ON workflow_debounce (id);
CREATE INDEX idx_workflow_debounce_of_tenant ON workflow_debounce (coalesce(tenant, ''), id);
