-- What passes through queues, beside the runs that ended: so that rates and waiting times are read from a few rows per
-- queue, however many runs wait. wait_1 to wait_10 count starts by how long the run was due (src/model/queries/queueing.ts).
ALTER TABLE workflow.workflow_total
  ADD COLUMN arrived bigint NOT NULL DEFAULT 0,
  ADD COLUMN started bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_ms bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_ms bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_1 bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_2 bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_3 bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_4 bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_5 bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_6 bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_7 bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_8 bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_9 bigint NOT NULL DEFAULT 0,
  ADD COLUMN wait_10 bigint NOT NULL DEFAULT 0;
