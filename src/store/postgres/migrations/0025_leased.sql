-- Leased runs are found along their own index whatever the statistics say. idx_workflow_run_claim (pending and leased
-- runs) fits `status = 'leased'` as well, and both look equally cheap to a planner whose statistics were taken when every
-- run had ended: each sweep then read all pending runs, 50,000 of them instead of the 500 that were leased. No other
-- index implies this spelling.
DROP INDEX workflow.workflow_run_leased;
CREATE INDEX workflow_run_leased ON workflow.workflow_run (session_id) WHERE (status = 'leased') IS TRUE;
