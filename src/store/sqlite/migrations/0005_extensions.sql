-- Webhooks, what an operator sets for a queue, and schemas of arguments.

-- Who wants to be told of which events. cursor: everything in the feed up to this id has been looked at, and what is
-- wanted of it lies in workflow_webhook_delivery. lease_by: the process that delivers at the moment.
CREATE TABLE workflow_webhook (
  id TEXT NOT NULL PRIMARY KEY,
  url TEXT NOT NULL,
  events TEXT NOT NULL CHECK (json_valid(events)),
  queues TEXT CHECK (queues IS NULL OR json_valid(queues)),
  job_types TEXT CHECK (job_types IS NULL OR json_valid(job_types)),
  secret TEXT NOT NULL,
  old_secret TEXT,
  old_secret_until INTEGER,
  active INTEGER NOT NULL,
  ordered INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
  tenant TEXT,
  created_by TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  cursor INTEGER NOT NULL,
  failures INTEGER NOT NULL DEFAULT 0,
  last_at INTEGER,
  last_status INTEGER,
  lease_by TEXT,
  lease_until INTEGER
) STRICT, WITHOUT ROWID;

-- The outbox: one row per event and subscription that wants it. (feed_id, part) is the event's place in the feed.
CREATE TABLE workflow_webhook_delivery (
  id TEXT NOT NULL PRIMARY KEY,
  webhook_id TEXT NOT NULL,
  feed_id INTEGER NOT NULL,
  part INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state = 'pending' OR state = 'delivered' OR state = 'dead'),
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  last_status INTEGER,
  last_error TEXT,
  last_ms INTEGER,
  created_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;

CREATE INDEX idx_workflow_webhook_delivery_pending ON workflow_webhook_delivery (webhook_id, feed_id, part)
  WHERE state = 'pending';
CREATE INDEX idx_workflow_webhook_delivery_log ON workflow_webhook_delivery (webhook_id, feed_id DESC, part DESC);
CREATE INDEX idx_workflow_webhook_delivery_ended ON workflow_webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;

-- What an operator sets for a queue, besides pausing it and its limits.
CREATE TABLE workflow_queue_config (
  name TEXT NOT NULL PRIMARY KEY,
  config TEXT NOT NULL CHECK (json_valid(config)),
  updated_at INTEGER NOT NULL,
  updated_by TEXT
) STRICT, WITHOUT ROWID;

-- JSON Schemas of the arguments of jobs. A version, once registered, is never changed.
CREATE TABLE workflow_schema (
  uri TEXT NOT NULL PRIMARY KEY,
  type TEXT NOT NULL,
  version TEXT NOT NULL,
  schema TEXT NOT NULL CHECK (json_valid(schema)),
  created_at INTEGER NOT NULL,
  created_by TEXT,
  UNIQUE (type, version)
) STRICT;
