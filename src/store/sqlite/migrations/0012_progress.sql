-- Progress belongs to one execution: the lease under which it was reported. NULL: reported before this column existed.
ALTER TABLE workflow_checkpoint ADD COLUMN progress_epoch INTEGER;
