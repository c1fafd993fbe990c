-- One trigger checks what a client inserts: the conditions of several cost every statement of the engine.
DROP TRIGGER IF EXISTS inbox_0_key ON workflow.workflow_run;
DROP TRIGGER IF EXISTS inbox_0_payload_insert ON workflow.workflow_run;
DROP TRIGGER IF EXISTS inbox_0_time_insert ON workflow.workflow_run;
DROP TRIGGER IF EXISTS inbox_0_timeout ON workflow.workflow_run;
DROP TRIGGER IF EXISTS inbox_0_data ON workflow.workflow_event;
DROP TRIGGER IF EXISTS inbox_0_time ON workflow.workflow_event;
DROP FUNCTION IF EXISTS workflow.inbox_key();
DROP FUNCTION IF EXISTS workflow.inbox_timeout_length();
DROP FUNCTION IF EXISTS workflow.inbox_data();
