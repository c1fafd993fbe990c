-- API keys. The secret itself is stored nowhere: hash is the SHA-256 of it, in hex.

CREATE TABLE workflow.workflow_key (
  id         text PRIMARY KEY,
  hash       text NOT NULL,
  subject    text NOT NULL,
  scopes     json NOT NULL,
  roles      json NOT NULL,
  tenant     text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz
);
