-- Webhooks, what an operator sets for a queue, and schemas of arguments.

-- Who wants to be told of which events. cursor: everything in the feed up to this id has been looked at, and what is
-- wanted of it lies in workflow_webhook_delivery. lease_by: the process that delivers at the moment.
CREATE TABLE workflow.workflow_webhook (
  id               text PRIMARY KEY,
  url              text NOT NULL,
  events           json NOT NULL,
  queues           json,
  job_types        json,
  secret           text NOT NULL,
  old_secret       text,
  old_secret_until timestamptz,
  active           boolean NOT NULL,
  ordered          boolean NOT NULL,
  timeout_ms       integer NOT NULL,
  max_attempts     integer NOT NULL,
  metadata         json,
  tenant           text,
  created_by       text,
  created_at       timestamptz NOT NULL,
  updated_at       timestamptz NOT NULL,
  cursor           bigint NOT NULL,
  failures         integer NOT NULL DEFAULT 0,
  last_at          timestamptz,
  last_status      integer,
  lease_by         text,
  lease_until      timestamptz
) WITH (fillfactor = 70);

-- The outbox: one row per event and subscription that wants it. (feed_id, part) is the event's place in the feed.
CREATE TABLE workflow.workflow_webhook_delivery (
  id          text PRIMARY KEY,
  webhook_id  text NOT NULL,
  feed_id     bigint NOT NULL,
  part        integer NOT NULL,
  event_id    text NOT NULL,
  event_type  text NOT NULL,
  body        text NOT NULL,
  state       text NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
  attempts    integer NOT NULL DEFAULT 0,
  next_at     timestamptz NOT NULL,
  last_status integer,
  last_error  text,
  last_ms     integer,
  created_at  timestamptz NOT NULL,
  ended_at    timestamptz
) WITH (fillfactor = 70);

CREATE INDEX workflow_webhook_delivery_pending ON workflow.workflow_webhook_delivery (webhook_id, feed_id, part)
  WHERE state = 'pending';
CREATE INDEX workflow_webhook_delivery_log ON workflow.workflow_webhook_delivery (webhook_id, feed_id DESC, part DESC);
CREATE INDEX workflow_webhook_delivery_ended ON workflow.workflow_webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;

-- What an operator sets for a queue, besides pausing it and its limits.
CREATE TABLE workflow.workflow_queue_config (
  name       text PRIMARY KEY,
  config     json NOT NULL,
  updated_at timestamptz NOT NULL,
  updated_by text
);

-- JSON Schemas of the arguments of jobs. A version, once registered, is never changed.
CREATE TABLE workflow.workflow_schema (
  uri        text PRIMARY KEY,
  type       text NOT NULL,
  version    text NOT NULL,
  schema     json NOT NULL,
  created_at timestamptz NOT NULL,
  created_by text,
  UNIQUE (type, version)
);
