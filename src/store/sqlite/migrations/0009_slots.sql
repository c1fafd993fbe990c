-- Execution slots: how many instances of a workflow may execute at once is a row of workflow_limit, under
-- workflow:<tenant>:<name>. An instance that has to mind it names that row.
--   slot_key   of a root; null: it needs no room and takes none
--   queued_at  when it entered the queue; the first in goes first
ALTER TABLE workflow_instance ADD COLUMN slot_key TEXT;
ALTER TABLE workflow_instance ADD COLUMN queued_at INTEGER;

-- The next of the queue, and those that execute, under a key.
CREATE INDEX idx_workflow_instance_slot ON workflow_instance (slot_key, state, queued_at, id)
  WHERE slot_key IS NOT NULL AND ended_at IS NULL;
