-- Where a process tries whether the database takes writes: rows go in and are rolled back, so it is always empty.
-- A table of its own, since what is rolled back leaves room behind that a table in use would have to be read with.
CREATE TABLE workflow.workflow_probe (value text NOT NULL);
