-- Fair sharing between the keys of a queue.
ALTER TABLE workflow_run ADD COLUMN fair_key TEXT;

-- The first due runs of each key. A run without a key is not in it.
CREATE INDEX idx_workflow_run_fair ON workflow_run (queue, type, priority, fair_key, run_at, id)
  WHERE status = 'pending' AND deleted_at IS NULL AND fair_key IS NOT NULL;

-- Whose turn it was last.
CREATE TABLE workflow_fair_turn (
  queue TEXT NOT NULL,
  priority INTEGER NOT NULL,
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (queue, priority, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_fair_weight (
  queue TEXT NOT NULL,
  key TEXT NOT NULL,
  weight INTEGER NOT NULL CHECK (weight BETWEEN 1 AND 100),
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
