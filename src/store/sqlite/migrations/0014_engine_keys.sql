-- Keys of the engine begin with `petrel:`, which no caller can write (src/engine/scoped-names.ts). Names of events and of
-- firings that were recorded before keep their meaning: the same event still starts nothing twice.
UPDATE workflow_name SET name = 'petrel:' || name WHERE name GLOB 'cron:*' OR name GLOB 'event[:@]*';

-- Plain SQL cannot write them either. `schedule:` is free: other tickers on workflow_schedule make the same keys.
CREATE TRIGGER workflow_run_key_insert BEFORE INSERT ON workflow_run
WHEN new.engine_turn = 0
  AND (new.idempotency_key GLOB 'petrel:*' OR new.idempotency_key GLOB 'ojs:*' OR new.idempotency_key GLOB '@*')
BEGIN
  SELECT RAISE(ABORT, 'workflow_run.idempotency_key: begins with none of petrel:, ojs: and @; such keys belong to the engine and to tenants');
END;
