-- Fair sharing between the keys of a queue.

-- Byte order, as the walk from key to key needs it.
ALTER TABLE workflow.workflow_run ADD COLUMN fair_key text COLLATE "C";

-- The first due runs of each key. A run without a key is not in it.
CREATE INDEX workflow_run_fair ON workflow.workflow_run (queue, type, priority, fair_key, run_at, id)
  WHERE status = 'pending' AND deleted_at IS NULL AND fair_key IS NOT NULL;

-- Whose turn it was last.
CREATE TABLE workflow.workflow_fair_turn (
  queue    text NOT NULL,
  priority integer NOT NULL,
  scope    text NOT NULL,
  key      text NOT NULL,
  used     integer NOT NULL,
  PRIMARY KEY (queue, priority, scope)
);

CREATE TABLE workflow.workflow_fair_weight (
  queue  text NOT NULL,
  key    text COLLATE "C" NOT NULL,
  weight integer NOT NULL CHECK (weight BETWEEN 1 AND 100),
  PRIMARY KEY (queue, key)
);
