-- Sign-ins of browsers. The token is stored nowhere: hash is the SHA-256 of it, in hex.
CREATE TABLE workflow.workflow_sign_in (
  hash       text PRIMARY KEY,
  method     text NOT NULL,
  subject    text,
  tenant     text,
  roles      json NOT NULL,
  scopes     json NOT NULL,
  key_id     text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX workflow_sign_in_expires ON workflow.workflow_sign_in (expires_at);
