-- The key under which the runs of an instance share their queues, unless they have one of their own.
ALTER TABLE workflow.workflow_instance ADD COLUMN fair_key text;
