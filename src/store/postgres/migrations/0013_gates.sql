-- Gates that several people decide, and that time hands on to others.
--   votes        JSON list of { by, roles, at, approved, answer, reason, link }; `at` in milliseconds
--   escalated    stages of the escalation that have begun
--   escalate_at  when the next one does; null: none is left
ALTER TABLE workflow.workflow_gate
  ADD COLUMN votes       json NOT NULL DEFAULT '[]',
  ADD COLUMN escalated   integer NOT NULL DEFAULT 0,
  ADD COLUMN escalate_at timestamptz;

CREATE INDEX workflow_gate_escalate ON workflow.workflow_gate (escalate_at)
  WHERE state = 'open' AND escalate_at IS NOT NULL;
