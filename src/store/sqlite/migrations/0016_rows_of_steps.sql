-- As before (0015), and a step whose workflow goes on stays, also when its end is settled: later steps are given its result,
-- and the workflow would be shown without it. A nested workflow goes on as long as the one around it.
DROP TRIGGER workflow_run_delete;
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
