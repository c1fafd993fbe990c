-- What passes through queues, beside the runs that ended: so that rates and waiting times are read from a few rows per
-- queue, however many runs wait. wait_1 to wait_10 count starts by how long the run was due (src/model/queries/queueing.ts).
ALTER TABLE workflow_total ADD COLUMN arrived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN started INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN busy_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_3 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_4 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_5 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_6 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_7 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_8 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_9 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_total ADD COLUMN wait_10 INTEGER NOT NULL DEFAULT 0;
