-- One unit of work. The first block is the table foreign clients know (names, types, defaults, status words, the full
-- UNIQUE their ON CONFLICT needs); everything below is ours and nullable or defaulted, so that
-- INSERT (type, payload, idempotency_key) still yields a claimable run.

CREATE TABLE workflow.workflow_run (
  id               uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  type             text NOT NULL,
  payload          jsonb NOT NULL,
  status           text NOT NULL DEFAULT 'pending'
                   CHECK (status IN ('pending', 'leased', 'succeeded', 'failed', 'cancelled')),
  priority         integer NOT NULL DEFAULT 100,
  run_at           timestamptz NOT NULL DEFAULT now(),
  idempotency_key  text,
  attempt          integer NOT NULL DEFAULT 0,
  max_attempts     integer NOT NULL DEFAULT 3,
  leased_by        text,
  lease_until      timestamptz,
  last_error       text,
  result           jsonb,
  created_at       timestamptz NOT NULL DEFAULT now(),
  updated_at       timestamptz NOT NULL DEFAULT now(),
  deleted_at       timestamptz,

  queue               text NOT NULL DEFAULT 'default',
  tenant              text,
  instance_id         uuid,
  root_id             uuid,
  node                text,
  fire                integer NOT NULL DEFAULT 0,
  item                integer NOT NULL DEFAULT -1,
  role                text NOT NULL DEFAULT 'work' CHECK (role IN ('work', 'undo', 'final')),
  scope               text NOT NULL DEFAULT '',
  epoch               integer NOT NULL DEFAULT 0,
  session_id          text,
  deliveries          integer NOT NULL DEFAULT 0,
  leased_at           timestamptz,
  started_at          timestamptz,
  first_started_at    timestamptz,
  finished_at         timestamptz,
  settled_at          timestamptz,
  done_seq            integer,
  report_id           text,
  deferred            boolean NOT NULL DEFAULT false,
  unknown_outcome     boolean NOT NULL DEFAULT false,
  timeout_ms          bigint,
  timeout_per         text NOT NULL DEFAULT 'attempt' CHECK (timeout_per IN ('attempt', 'node')),
  timeout_at          timestamptz,
  expires_at          timestamptz,
  retry               json,
  error               json,
  limit_key           text,
  unique_key          text,
  dead_letter         boolean NOT NULL DEFAULT false,
  cancel_requested_at timestamptz,
  meta                json,

  CONSTRAINT workflow_run_idempotency_key_key UNIQUE (idempotency_key)
) WITH (
  -- every run is rewritten once or twice soon after its insert: vacuum by absolute numbers, not by share of the table
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.05
);

-- "Created exactly once"; also finds the runs and results of an instance by (instance, node, latest fire).
CREATE UNIQUE INDEX workflow_run_place ON workflow.workflow_run (instance_id, node, fire, item, role)
  WHERE instance_id IS NOT NULL;

-- Upstream's claim statement: ORDER BY priority, created_at over pending and expired leases.
-- 1 ms with it, 620 ms without at a million pending.
CREATE INDEX idx_workflow_run_claim ON workflow.workflow_run (priority, created_at)
  WHERE status IN ('pending', 'leased');

-- Our claims: jump from one (queue, type, priority) to the next, take the first due rows of each.
CREATE INDEX idx_workflow_run_type_prefix ON workflow.workflow_run (queue, type text_pattern_ops, priority, run_at, id)
  WHERE status = 'pending' AND deleted_at IS NULL;

-- A cancel works through what waits of an instance in chunks. Runs handed off are born leased and cost nothing here.
CREATE INDEX workflow_run_waiting ON workflow.workflow_run (instance_id, id)
  WHERE status = 'pending' AND instance_id IS NOT NULL;

-- What a session holds: beats, lost sessions, repeated reports.
CREATE INDEX workflow_run_session ON workflow.workflow_run (session_id)
  WHERE status = 'leased' AND session_id IS NOT NULL;

-- Foreign leases that ran out. Leases of sessions have no lease_until and cost nothing here.
CREATE INDEX workflow_run_lease ON workflow.workflow_run (lease_until)
  WHERE status = 'leased' AND lease_until IS NOT NULL;

CREATE INDEX workflow_run_timeout ON workflow.workflow_run (timeout_at)
  WHERE timeout_at IS NOT NULL AND status IN ('pending', 'leased');

CREATE INDEX workflow_run_expiry ON workflow.workflow_run (expires_at)
  WHERE expires_at IS NOT NULL AND status = 'pending';

-- Finished from outside, not yet folded into an instance. Our own finishes write settled_at along: stays near empty.
CREATE INDEX workflow_run_unsettled ON workflow.workflow_run (id)
  WHERE settled_at IS NULL AND status IN ('succeeded', 'failed', 'cancelled');

CREATE INDEX workflow_run_dead_letter ON workflow.workflow_run (id) WHERE dead_letter;

-- Retention of bare runs (those of instances go with their instance).
CREATE INDEX workflow_run_finished ON workflow.workflow_run (finished_at)
  WHERE instance_id IS NULL AND finished_at IS NOT NULL;

-- Names that upstream's CREATE INDEX IF NOT EXISTS looks for. Its definitions would cost a quarter of settle's
-- throughput and serve no statement that the indexes above do not; these stay empty or nearly so.
CREATE INDEX idx_workflow_run_idempotency ON workflow.workflow_run (idempotency_key)
  WHERE idempotency_key IS NOT NULL AND deleted_at IS NOT NULL;
CREATE INDEX idx_workflow_run_type_status ON workflow.workflow_run (type, status, created_at DESC)
  WHERE deleted_at IS NOT NULL;
CREATE INDEX idx_workflow_run_deleted_at ON workflow.workflow_run (deleted_at) WHERE deleted_at IS NOT NULL;

-- Keys are for ever: those of pruned runs lie here.
CREATE TABLE workflow.workflow_kept_key (
  idempotency_key text PRIMARY KEY,
  run_id          uuid NOT NULL
);

-- Called after an insert of runs, never before: the insert waits for a prune that is just moving the key here.
CREATE FUNCTION workflow.refuse_kept_keys(keys text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  taken text;
BEGIN
  SELECT k.idempotency_key INTO taken FROM workflow.workflow_kept_key k WHERE k.idempotency_key = ANY (keys) LIMIT 1;
  IF FOUND THEN
    RAISE unique_violation USING
      MESSAGE = 'idempotency key belongs to a pruned run',
      DETAIL = format('Key (idempotency_key)=(%s) already exists.', taken),
      CONSTRAINT = 'workflow_kept_key_pkey', TABLE = 'workflow_kept_key', SCHEMA = 'workflow';
  END IF;
END
$$;

-- Saved progress of a run: state to resume from, and the last progress report.
CREATE TABLE workflow.workflow_checkpoint (
  run_id     uuid PRIMARY KEY,
  state      json,
  sequence   integer NOT NULL DEFAULT 0,
  progress   json,
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
