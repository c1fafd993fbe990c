-- Keys of the engine begin with `petrel:`, which no caller can write (src/engine/scoped-names.ts). Names of events and of
-- firings that were recorded before keep their meaning: the same event still starts nothing twice.
UPDATE workflow.workflow_name SET name = 'petrel:' || name WHERE name ~ '^(cron|event)[:@]';

-- Plain SQL cannot write them either. `schedule:` is free: other tickers on workflow_schedule make the same keys.
CREATE FUNCTION workflow.inbox_key() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM workflow.inbox_refuse('workflow_run', 'idempotency_key', 'begins with none of petrel:, ojs: and @',
    'Such keys belong to the engine and to tenants: choose another beginning.');
  RETURN NEW;
END
$$;

CREATE TRIGGER inbox_0_key BEFORE INSERT ON workflow.workflow_run FOR EACH ROW
  WHEN (NOT new.engine_turn AND new.idempotency_key ~ '^(petrel:|ojs:|@)')
  EXECUTE FUNCTION workflow.inbox_key();

REVOKE EXECUTE ON FUNCTION workflow.inbox_key() FROM PUBLIC;
