-- Execution times of queues, beside their waiting times: busy_1 to busy_10 count executions by how long they took
-- (src/model/queries/queueing.ts). What passed through all queues in the last hour is read along the minutes.
ALTER TABLE workflow_total ADD COLUMN busy_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_3 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_4 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_5 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_6 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_7 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_8 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_9 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_10 INTEGER NOT NULL DEFAULT 0;
CREATE INDEX idx_workflow_total_minute ON workflow_total (minute);
