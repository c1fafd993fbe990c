-- Execution slots: how many instances of a workflow may execute at once is a row of workflow_limit, under
-- workflow:<tenant>:<name>. An instance that has to mind it names that row.
--   slot_key   of a root; null: it needs no room and takes none
--   queued_at  when it entered the queue; the first in goes first
ALTER TABLE workflow.workflow_instance
  ADD COLUMN slot_key  text,
  ADD COLUMN queued_at timestamptz;

-- The next of the queue, and those that execute, under a key. Only instances with a key are in it, and only until they
-- have ended; state and ended_at are in other indexes already, so no update of the others is less cheap for it.
CREATE INDEX workflow_instance_slot ON workflow.workflow_instance (slot_key, state, queued_at, id)
  WHERE slot_key IS NOT NULL AND ended_at IS NULL;

-- The limits of workflows among all others: the sweeper looks through them, and there may be a limit per customer.
CREATE INDEX workflow_limit_slot ON workflow.workflow_limit (key) WHERE key LIKE 'workflow:%';
