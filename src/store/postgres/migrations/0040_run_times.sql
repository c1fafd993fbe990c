-- Execution times of queues, beside their waiting times: busy_1 to busy_10 count executions by how long they took
-- (src/model/queries/queueing.ts). What passed through all queues in the last hour is read along the minutes.
ALTER TABLE workflow.workflow_total
  ADD COLUMN busy_1 bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_2 bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_3 bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_4 bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_5 bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_6 bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_7 bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_8 bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_9 bigint NOT NULL DEFAULT 0,
  ADD COLUMN busy_10 bigint NOT NULL DEFAULT 0;
CREATE INDEX workflow_total_minute ON workflow.workflow_total (minute);
