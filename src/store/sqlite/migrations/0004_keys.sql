-- API keys. The secret itself is stored nowhere: hash is the SHA-256 of it, in hex.

CREATE TABLE workflow_key (
  id TEXT NOT NULL PRIMARY KEY,
  hash TEXT NOT NULL,
  subject TEXT NOT NULL,
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  roles TEXT NOT NULL CHECK (json_valid(roles)),
  tenant TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
