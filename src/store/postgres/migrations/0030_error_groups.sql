-- Failures for good, until they are counted into their group. Rows of different transactions never touch each other.
CREATE TABLE workflow.workflow_failure (
  id          uuid PRIMARY KEY,
  fingerprint text NOT NULL,
  tenant      text,
  type        text NOT NULL,
  code        text NOT NULL,
  message     text NOT NULL,
  node        text,
  definition  text,
  worker      text,
  run_id      uuid NOT NULL,
  instance_id uuid,
  at          timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Failures with the same cause. What a fingerprint consists of is in src/model/errors/fingerprint.ts.
CREATE TABLE workflow.workflow_error_group (
  fingerprint      text PRIMARY KEY,
  tenant           text,
  state            text NOT NULL CHECK (state IN ('open', 'resolved', 'ignored')),
  regressed        boolean NOT NULL,
  type             text NOT NULL,
  code             text NOT NULL,
  node             text,
  message          text NOT NULL,
  count            bigint NOT NULL,
  first_at         timestamptz NOT NULL,
  last_at          timestamptz NOT NULL,
  definitions      json NOT NULL,
  workers          json NOT NULL,
  last_message     text NOT NULL,
  last_run_id      uuid NOT NULL,
  last_instance_id uuid,
  state_at         timestamptz NOT NULL,
  state_by         text,
  reason           text,
  ignored_count    bigint,
  ignored_until    timestamptz
) WITH (fillfactor = 70);

-- The list, and retention.
CREATE INDEX workflow_error_group_last ON workflow.workflow_error_group (last_at, fingerprint);
CREATE INDEX workflow_error_group_tenant ON workflow.workflow_error_group (tenant, last_at, fingerprint);
