-- Starts that wait until no other start has followed under their key for a while: the last one replaces the others.
CREATE TABLE workflow.workflow_debounce (
  key         text PRIMARY KEY,
  instance_id uuid NOT NULL,
  name        text NOT NULL,
  version     text,
  tenant      text,
  start       json NOT NULL,
  actor       text,
  replaced    integer NOT NULL DEFAULT 0,
  first_at    timestamptz NOT NULL,
  due_at      timestamptz NOT NULL
);

CREATE INDEX workflow_debounce_due ON workflow.workflow_debounce (due_at);
