-- Gates that several people decide, and that time hands on to others.
--   votes        JSON list of { by, roles, at, approved, answer, reason, link }; `at` in milliseconds
--   escalated    stages of the escalation that have begun
--   escalate_at  when the next one does; null: none is left
ALTER TABLE workflow_gate ADD COLUMN votes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(votes));
ALTER TABLE workflow_gate ADD COLUMN escalated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_gate ADD COLUMN escalate_at INTEGER;

CREATE INDEX idx_workflow_gate_escalate ON workflow_gate (escalate_at) WHERE state = 'open' AND escalate_at IS NOT NULL;
-- Lists of open gates must not walk through all that were ever decided.
CREATE INDEX idx_workflow_gate_listed ON workflow_gate (id) WHERE state = 'open';
