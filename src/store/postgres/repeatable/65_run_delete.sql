-- Revision 1.

-- A run that has not ended, or whose end its instance has not recorded, is not removed: its workflow would wait for it
-- permanently. A step of a workflow that has not ended stays even when its own end is settled: later steps get its result,
-- and the workflow would be shown without it. A nested workflow ends with the outermost one. Retention removes runs of
-- ended workflows, and pending runs with deleted_at; ended and settled runs, almost all that it removes, are recognised by
-- their own row.
CREATE OR REPLACE FUNCTION workflow.inbox_run_delete() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF (CASE WHEN OLD.instance_id IS NULL
    THEN OLD.status NOT IN ('pending', 'leased') OR (OLD.status = 'pending' AND OLD.deleted_at IS NOT NULL)
    ELSE NOT EXISTS (
      SELECT FROM workflow.workflow_instance i JOIN workflow.workflow_instance root ON root.id = i.root_id
      WHERE i.id = OLD.instance_id AND (i.ended_at IS NULL OR root.ended_at IS NULL)) END)
  THEN
    RETURN OLD;
  END IF;
  PERFORM workflow.inbox_refuse('workflow_run', 'status',
    CASE WHEN OLD.instance_id IS NULL
      THEN format('of a run that is removed must be an end; %s is %s', OLD.id, OLD.status)
      ELSE format('%s is a step of a workflow that goes on, and cannot be removed', OLD.id) END,
    'Cancel it (SET status = ''cancelled'') or hide it (SET deleted_at = now()); retention removes it later.');
END
$$;

CREATE OR REPLACE TRIGGER inbox_delete BEFORE DELETE ON workflow.workflow_run FOR EACH ROW
  WHEN (old.settled_at IS NULL OR old.instance_id IS NOT NULL) EXECUTE FUNCTION workflow.inbox_run_delete();

REVOKE EXECUTE ON FUNCTION workflow.inbox_run_delete FROM PUBLIC;
