-- Fewer indexes. Every insert and update of a row opens, locks and asks each index of its table whether the row belongs
-- there: with 36 of them on the way of a start that was a fifth of the time an idle one-step workflow took. What asked
-- for several rare things is one index now, and upstream's names stand for indexes that are needed anyway.

-- When the sweeper has to look at a run: its lease or timeout runs out, or nobody began it in time.
DROP INDEX workflow.workflow_run_lease;
DROP INDEX workflow.workflow_run_timeout;
DROP INDEX workflow.workflow_run_expiry;
CREATE INDEX workflow_run_due ON workflow.workflow_run (
  (CASE status WHEN 'leased' THEN least(lease_until, timeout_at)
    WHEN 'pending' THEN least(CASE WHEN deleted_at IS NULL THEN expires_at END, timeout_at) END)
) WHERE (CASE status WHEN 'leased' THEN least(lease_until, timeout_at)
    WHEN 'pending' THEN least(CASE WHEN deleted_at IS NULL THEN expires_at END, timeout_at) END)
  IS NOT NULL;

-- All that is leased: what a session holds, and under null what no session does (leases of their own, deferred runs).
DROP INDEX workflow.workflow_run_session;
DROP INDEX workflow.workflow_run_deferred;
CREATE INDEX workflow_run_leased ON workflow.workflow_run (session_id) WHERE status = 'leased';

-- When the sweeper has to look at an instance: at once, where a cascade was cut off, or at its deadline.
DROP INDEX workflow.workflow_instance_more;
DROP INDEX workflow.workflow_instance_deadline;
CREATE INDEX workflow_instance_due ON workflow.workflow_instance (
  (CASE WHEN more THEN '-infinity' WHEN ended_at IS NULL THEN deadline_at END)
) WHERE (CASE WHEN more THEN '-infinity' WHEN ended_at IS NULL THEN deadline_at END) IS NOT NULL;

-- Names that upstream's CREATE INDEX IF NOT EXISTS looks for.
DROP INDEX workflow.idx_workflow_run_idempotency;
ALTER INDEX workflow.workflow_run_idempotency_key_key RENAME TO idx_workflow_run_idempotency;
DROP INDEX workflow.idx_workflow_run_type_status;
ALTER INDEX workflow.workflow_run_inbox RENAME TO idx_workflow_run_type_status;
DROP INDEX workflow.idx_workflow_event_workflow_id;
ALTER INDEX workflow.workflow_event_run RENAME TO idx_workflow_event_workflow_id;
DROP INDEX workflow.idx_workflow_event_type;
ALTER INDEX workflow.workflow_event_feed RENAME TO idx_workflow_event_type;
COMMENT ON INDEX workflow.idx_workflow_run_type_status IS 'Lists of the inbox, newest first. The name is one that clients look for.';
COMMENT ON INDEX workflow.idx_workflow_event_type IS 'The feed of all events, in order. The name is one that clients look for.';
