-- Sign-ins of browsers. The token is stored nowhere: hash is the SHA-256 of it, in hex.
CREATE TABLE workflow_sign_in (
  hash TEXT NOT NULL PRIMARY KEY,
  method TEXT NOT NULL,
  subject TEXT,
  tenant TEXT,
  roles TEXT NOT NULL CHECK (json_valid(roles)),
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  key_id TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_workflow_sign_in_expires ON workflow_sign_in (expires_at);
