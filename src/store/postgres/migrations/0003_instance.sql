-- One execution of a net: narrow, since every settle rewrites it. Fillfactor leaves room for HOT updates, and no index
-- below contains a column that changes with every settle (state and ended_at change a few times in a life).

CREATE TABLE workflow.workflow_instance (
  id            uuid PRIMARY KEY,
  root_id       uuid NOT NULL,
  parent_id     uuid,
  parent_node   text,
  parent_fire   integer NOT NULL DEFAULT 0,
  parent_item   integer NOT NULL DEFAULT -1,
  parent_scope  text NOT NULL DEFAULT '',
  parent_role   text NOT NULL DEFAULT 'work',
  depth         integer NOT NULL DEFAULT 0,
  net_hash      text NOT NULL,
  name          text NOT NULL,
  dialect       text NOT NULL,
  tenant        text,
  start_key     text,
  retry_of      uuid,
  state         text NOT NULL,
  phase         text NOT NULL,
  outcome       text,
  reason        text,
  live          integer NOT NULL DEFAULT 0,
  held          integer NOT NULL DEFAULT 0,
  open          integer NOT NULL DEFAULT 0,
  gates         integer NOT NULL DEFAULT 0,
  fires         integer NOT NULL DEFAULT 0,
  done_seq      integer NOT NULL DEFAULT 0,
  succeeded     integer NOT NULL DEFAULT 0,
  failed        integer NOT NULL DEFAULT 0,
  unhandled     integer NOT NULL DEFAULT 0,
  finals_failed integer NOT NULL DEFAULT 0,
  more          boolean NOT NULL DEFAULT false,
  event_seq     integer NOT NULL DEFAULT 0,
  created_at    timestamptz NOT NULL,
  started_at    timestamptz,
  ended_at      timestamptz,
  deadline_at   timestamptz
) WITH (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 2000
);

CREATE UNIQUE INDEX workflow_instance_start_key ON workflow.workflow_instance (start_key) WHERE start_key IS NOT NULL;
-- The children of an instance, and the latest one started at a place.
CREATE INDEX workflow_instance_parent ON workflow.workflow_instance (parent_id, parent_node, parent_item, parent_fire)
  WHERE parent_id IS NOT NULL;
-- A cancel works through the open ones in chunks.
CREATE INDEX workflow_instance_open_child ON workflow.workflow_instance (parent_id, id)
  WHERE parent_id IS NOT NULL AND ended_at IS NULL;
-- Lists by state, newest first (ids are UUIDv7), and counts per state from the index alone.
CREATE INDEX workflow_instance_state ON workflow.workflow_instance (state, id);
CREATE INDEX workflow_instance_deadline ON workflow.workflow_instance (deadline_at)
  WHERE deadline_at IS NOT NULL AND ended_at IS NULL;
-- Cascades cut off half way.
CREATE INDEX workflow_instance_more ON workflow.workflow_instance (id) WHERE more;
-- Retention: whole trees, by the end of their root.
CREATE INDEX workflow_instance_ended ON workflow.workflow_instance (ended_at)
  WHERE ended_at IS NOT NULL AND parent_id IS NULL;
-- The members of a tree beside its root.
CREATE INDEX workflow_instance_tree ON workflow.workflow_instance (root_id) WHERE parent_id IS NOT NULL;

-- The wide part of a marking. Keys compare by bytes: prefixes are ranges, the top of a stack is the greatest key.
CREATE TABLE workflow.workflow_slot (
  instance_id uuid NOT NULL,
  key         text COLLATE "C" NOT NULL,
  value       json NOT NULL,
  PRIMARY KEY (instance_id, key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);

CREATE TABLE workflow.workflow_net (
  hash    text PRIMARY KEY,
  name    text NOT NULL,
  dialect text NOT NULL,
  net     json NOT NULL
);

CREATE TABLE workflow.workflow_definition (
  id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  dialect    text NOT NULL,
  name       text NOT NULL,
  version    text NOT NULL,
  source     text NOT NULL,
  net_hash   text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (dialect, name, version)
);

-- Chunks of the items of an `each`.
CREATE TABLE workflow.workflow_item (
  instance_id uuid NOT NULL,
  node        text NOT NULL,
  fire        integer NOT NULL,
  first       integer NOT NULL,
  "values"    json NOT NULL,
  PRIMARY KEY (instance_id, node, fire, first)
);

CREATE TABLE workflow.workflow_gate (
  id          uuid PRIMARY KEY,
  instance_id uuid NOT NULL,
  root_id     uuid NOT NULL,
  node        text NOT NULL,
  fire        integer NOT NULL,
  scope       text NOT NULL,
  state       text NOT NULL CHECK (state IN ('open', 'approved', 'rejected', 'closed')),
  options     json NOT NULL,
  args        json,
  due_at      timestamptz,
  on_timeout  text NOT NULL CHECK (on_timeout IN ('approve', 'reject')),
  answer      json,
  answered_by text,
  reason      text,
  created_at  timestamptz NOT NULL,
  answered_at timestamptz
);

-- The backstop of "opened exactly once"; also finds the gates of an instance.
CREATE UNIQUE INDEX workflow_gate_place ON workflow.workflow_gate (instance_id, node, fire);
CREATE INDEX workflow_gate_open ON workflow.workflow_gate (id) WHERE state = 'open';
CREATE INDEX workflow_gate_due ON workflow.workflow_gate (due_at) WHERE state = 'open' AND due_at IS NOT NULL;
