-- Revision 1.
-- SQLite has no grants, so work that has not ended is not removed by accident, and a key stays taken. A step of a workflow
-- that has not ended stays even when its own end is settled: later steps get its result, and the workflow would be shown
-- without it. A nested workflow ends with the outermost one.

CREATE TRIGGER workflow_run_delete BEFORE DELETE ON workflow_run
BEGIN
  SELECT RAISE(ABORT, 'workflow_run.status: a run that has not ended cannot be removed, nor a step of a workflow that goes on; cancel it, or set deleted_at')
  WHERE ((old.status = 'leased' OR (old.status = 'pending' AND old.deleted_at IS NULL))
      AND NOT EXISTS (SELECT 1 FROM workflow_instance i WHERE i.id = old.instance_id AND i.ended_at IS NOT NULL))
    OR EXISTS (SELECT 1 FROM workflow_instance i JOIN workflow_instance root ON root.id = i.root_id
               WHERE i.id = old.instance_id AND (i.ended_at IS NULL OR root.ended_at IS NULL));
  INSERT OR IGNORE INTO workflow_kept_key (idempotency_key, run_id)
  SELECT old.idempotency_key, old.id WHERE old.idempotency_key IS NOT NULL;
END;
