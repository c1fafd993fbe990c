-- Revision 3.
-- New runs by plain SQL: checked before the insert, recorded after it.

-- One trigger with a short condition: Postgres reads the condition of each trigger again for every statement, the engine's
-- too. pg_column_size spares large values a second printing; a compressed value may be small and print long.
CREATE OR REPLACE FUNCTION workflow.inbox_run_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own text := CASE
    WHEN NEW.leased_by IS NOT NULL THEN 'leased_by' WHEN NEW.lease_until IS NOT NULL THEN 'lease_until'
    WHEN NEW.last_error IS NOT NULL THEN 'last_error' WHEN NEW.result IS NOT NULL THEN 'result'
    WHEN NEW.instance_id IS NOT NULL THEN 'instance_id' WHEN NEW.root_id IS NOT NULL THEN 'root_id'
    WHEN NEW.node IS NOT NULL THEN 'node' WHEN NEW.fire <> 0 THEN 'fire' WHEN NEW.item <> -1 THEN 'item'
    WHEN NEW.role <> 'work' THEN 'role' WHEN NEW.scope <> '' THEN 'scope' WHEN NEW.epoch <> 0 THEN 'epoch'
    WHEN NEW.session_id IS NOT NULL THEN 'session_id' WHEN NEW.deliveries <> 0 THEN 'deliveries'
    WHEN NEW.leased_at IS NOT NULL THEN 'leased_at' WHEN NEW.started_at IS NOT NULL THEN 'started_at'
    WHEN NEW.first_started_at IS NOT NULL THEN 'first_started_at' WHEN NEW.finished_at IS NOT NULL THEN 'finished_at'
    WHEN NEW.settled_at IS NOT NULL THEN 'settled_at' WHEN NEW.done_seq IS NOT NULL THEN 'done_seq'
    WHEN NEW.report_id IS NOT NULL THEN 'report_id' WHEN NEW.deferred THEN 'deferred'
    WHEN NEW.unknown_outcome THEN 'unknown_outcome' WHEN NEW.timeout_at IS NOT NULL THEN 'timeout_at'
    WHEN NEW.retry IS NOT NULL THEN 'retry' WHEN NEW.error IS NOT NULL THEN 'error'
    WHEN NEW.limit_key IS NOT NULL THEN 'limit_key' WHEN NEW.unique_key IS NOT NULL THEN 'unique_key'
    WHEN NEW.dead_letter THEN 'dead_letter' WHEN NEW.cancel_requested_at IS NOT NULL THEN 'cancel_requested_at'
    WHEN NEW.meta IS NOT NULL THEN 'meta' WHEN NEW.lease_ms IS NOT NULL THEN 'lease_ms' END;
BEGIN
  -- Prefixes of the engine and of tenants. `schedule:` is free: other tickers on workflow_schedule make the same keys.
  IF NEW.idempotency_key ~ '^(petrel:|ojs:|@)' THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'idempotency_key', 'begins with none of petrel:, ojs: and @',
      'Such keys belong to the engine and to tenants: choose another beginning.');
  END IF;
  IF pg_column_size(NEW.payload) > 400 OR octet_length(NEW.payload::text) > 400 THEN
    PERFORM workflow.inbox_check_json('workflow_run', 'payload', NEW.payload);
  END IF;
  PERFORM workflow.inbox_check_time('workflow_run', 'run_at', NEW.run_at);
  PERFORM workflow.inbox_check_time('workflow_run', 'created_at', NEW.created_at);
  PERFORM workflow.inbox_check_time('workflow_run', 'expires_at', NEW.expires_at);
  -- make_interval fails on a longer timeout, and with it every start that is recorded in the same statement
  IF NEW.timeout_ms NOT BETWEEN 1 AND 253402300799999 THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'timeout_ms',
      format('must be from 1 to 253402300799999 milliseconds, not %s', NEW.timeout_ms), 'Leave it out for work without a timeout.');
  END IF;
  PERFORM workflow.inbox_check_words(NEW.status, NEW.attempt);
  IF NEW.status <> 'pending' THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'status', format('of a new run must be pending, not %s', NEW.status),
      'Leave it out.');
  ELSIF NEW.attempt <> 0 THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'attempt', format('of a new run must be 0, not %s', NEW.attempt),
      'Leave it out; it counts failed executions.');
  ELSIF char_length(NEW.idempotency_key) NOT BETWEEN 1 AND 512 THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'idempotency_key',
      format('has 1 to 512 characters, not %s', char_length(NEW.idempotency_key)),
      'Use a hash of long keys; leave it out for work that may be put in twice.');
  ELSIF char_length(NEW.fair_key) NOT BETWEEN 1 AND 255 OR starts_with(NEW.fair_key, '@') THEN
    PERFORM workflow.inbox_refuse('workflow_run', 'fair_key',
      'has 1 to 255 characters and does not begin with @, which belongs to tenants', 'Use a short name, such as the number of a customer.');
  ELSIF own IS NOT NULL THEN
    PERFORM workflow.inbox_refuse('workflow_run', own, 'is written by the engine alone',
      'A new run has type, payload and, if wanted, id, idempotency_key, priority, run_at, max_attempts, queue and fair_key.');
  END IF;
  PERFORM workflow.inbox_check_type('workflow_run', NEW.type);
  PERFORM workflow.inbox_check_max_attempts('workflow_run', NEW.max_attempts);
  PERFORM workflow.inbox_check_queue(NEW.queue);
  -- a key stays taken after its run is pruned: nothing is inserted, as with ON CONFLICT DO NOTHING
  IF NEW.idempotency_key IS NOT NULL
    AND EXISTS (SELECT FROM workflow.workflow_kept_key k WHERE k.idempotency_key = NEW.idempotency_key)
  THEN
    RETURN NULL;
  END IF;
  NEW.inbox := true;
  RETURN NEW;
END
$$;

-- AFTER, because an insert that ON CONFLICT leaves out records no event and wakes no process.
CREATE OR REPLACE FUNCTION workflow.inbox_run_inserted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at timestamptz := workflow.inbox_now();
  run workflow.workflow_run := NEW;
BEGIN
  run.payload := NULL;
  -- the insert may have waited for a prune that was moving the key
  IF NEW.idempotency_key IS NOT NULL THEN
    PERFORM workflow.refuse_kept_keys(ARRAY[NEW.idempotency_key]);
  END IF;
  PERFORM workflow.inbox_record_event(run, 'created',
    CASE WHEN NEW.run_at > at THEN jsonb_build_object('run_at', workflow.inbox_iso(NEW.run_at)) END, session_user, at);
  PERFORM workflow.inbox_wake(NEW.queue, NEW.run_at, at);
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER inbox_1_insert BEFORE INSERT ON workflow.workflow_run FOR EACH ROW
  WHEN (NOT new.engine_turn) EXECUTE FUNCTION workflow.inbox_run_insert();

CREATE OR REPLACE TRIGGER inbox_2_inserted AFTER INSERT ON workflow.workflow_run FOR EACH ROW
  WHEN (NOT new.engine_turn) EXECUTE FUNCTION workflow.inbox_run_inserted();

REVOKE EXECUTE ON FUNCTION workflow.inbox_run_insert, workflow.inbox_run_inserted FROM PUBLIC;
