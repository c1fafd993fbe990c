-- Small tables that steer the work: queues, limits, unique keys, workers, schedules, and upstream's registry.

CREATE TABLE workflow.workflow_queue (
  name   text PRIMARY KEY,
  paused boolean NOT NULL DEFAULT false
);

-- Only limited keys have a row; it is rewritten by every batch that leases or ends such runs.
CREATE TABLE workflow.workflow_limit (
  key            text PRIMARY KEY,
  max_concurrent integer,
  in_use         integer NOT NULL DEFAULT 0,
  rate_per       integer,
  period_ms      bigint,
  window_start   timestamptz NOT NULL,
  window_used    integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE workflow.workflow_unique (
  key        text PRIMARY KEY,
  run_id     uuid NOT NULL,
  expires_at timestamptz,
  states     json NOT NULL
);

CREATE INDEX workflow_unique_run ON workflow.workflow_unique (run_id);

CREATE TABLE workflow.workflow_worker (
  id           text PRIMARY KEY,
  name         text NOT NULL,
  host         text NOT NULL,
  pid          integer NOT NULL,
  runtime      text NOT NULL,
  queues       json NOT NULL,
  types        json NOT NULL,
  concurrency  integer NOT NULL,
  state        text NOT NULL CHECK (state IN ('running', 'quiet', 'terminate', 'dead')),
  started_at   timestamptz NOT NULL,
  heartbeat_at timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL,
  tenant       text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

CREATE TABLE workflow.workflow_cron (
  name       text PRIMARY KEY,
  expression text NOT NULL,
  timezone   text NOT NULL,
  overlap    text NOT NULL CHECK (overlap IN ('skip', 'allow', 'cancel_previous', 'enqueue')),
  enabled    boolean NOT NULL,
  template   json NOT NULL,
  next_at    timestamptz,
  last_at    timestamptz,
  last_id    text,
  fire_count integer NOT NULL DEFAULT 0,
  tenant     text,
  created_at timestamptz NOT NULL
);

CREATE INDEX workflow_cron_due ON workflow.workflow_cron (next_at) WHERE enabled AND next_at IS NOT NULL;

-- Upstream's shapes, untouched.
CREATE TABLE workflow.workflow_registry (
  id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  workflow_name text NOT NULL UNIQUE,
  intent_type   text NOT NULL DEFAULT 'workflow',
  runtime       text NOT NULL,
  is_enabled    boolean NOT NULL DEFAULT true,
  description   text,
  created_at    timestamptz NOT NULL DEFAULT now(),
  updated_at    timestamptz NOT NULL DEFAULT now(),
  deleted_at    timestamptz
);

CREATE INDEX idx_workflow_registry_runtime ON workflow.workflow_registry (runtime, is_enabled);
CREATE INDEX idx_workflow_registry_deleted_at ON workflow.workflow_registry (deleted_at) WHERE deleted_at IS NULL;

CREATE TABLE workflow.workflow_schedule (
  id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  type         text NOT NULL,
  payload      jsonb NOT NULL DEFAULT '{}',
  schedule     text NOT NULL,
  timezone     text NOT NULL DEFAULT 'UTC',
  next_run_at  timestamptz NOT NULL,
  last_run_at  timestamptz,
  enabled      boolean NOT NULL DEFAULT true,
  priority     integer NOT NULL DEFAULT 100,
  max_attempts integer NOT NULL DEFAULT 3,
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  deleted_at   timestamptz
);

CREATE INDEX idx_workflow_schedule_next_run ON workflow.workflow_schedule (next_run_at)
  WHERE enabled AND deleted_at IS NULL;
CREATE INDEX idx_workflow_schedule_type ON workflow.workflow_schedule (type);
