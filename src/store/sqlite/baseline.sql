-- Migrations 1 to 31.
-- Written by scripts/baseline.mjs.

CREATE TABLE workflow_run (
  id TEXT NOT NULL PRIMARY KEY DEFAULT (lower(
    hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-' ||
    substr('89AB', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
  type TEXT NOT NULL,
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  status TEXT NOT NULL DEFAULT 'pending'
    CHECK (status = 'pending' OR status = 'leased' OR status = 'succeeded' OR status = 'failed'
    OR status = 'cancelled'),
  priority INTEGER NOT NULL DEFAULT 100,
  run_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  -- Taken for ever: full, not partial, so that ON CONFLICT (idempotency_key) finds it.
  idempotency_key TEXT UNIQUE,
  attempt INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL DEFAULT 3,
  leased_by TEXT,
  lease_until INTEGER,
  last_error TEXT,
  result TEXT CHECK (result IS NULL OR json_valid(result)),
  created_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  updated_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  deleted_at INTEGER,

  queue TEXT NOT NULL DEFAULT 'default',
  tenant TEXT,
  instance_id TEXT,
  root_id TEXT,
  node TEXT,
  fire INTEGER NOT NULL DEFAULT 0,
  item INTEGER NOT NULL DEFAULT -1,
  role TEXT NOT NULL DEFAULT 'work' CHECK (role = 'work' OR role = 'undo' OR role = 'final'),
  scope TEXT NOT NULL DEFAULT '',
  epoch INTEGER NOT NULL DEFAULT 0,
  session_id TEXT,
  deliveries INTEGER NOT NULL DEFAULT 0,
  leased_at INTEGER,
  started_at INTEGER,
  first_started_at INTEGER,
  finished_at INTEGER,
  settled_at INTEGER,
  done_seq INTEGER,
  report_id TEXT,
  deferred INTEGER NOT NULL DEFAULT 0,
  unknown_outcome INTEGER NOT NULL DEFAULT 0,
  timeout_ms INTEGER,
  timeout_per TEXT NOT NULL DEFAULT 'attempt' CHECK (timeout_per = 'attempt' OR timeout_per = 'node'),
  timeout_at INTEGER,
  expires_at INTEGER,
  retry TEXT CHECK (retry IS NULL OR json_valid(retry)),
  error TEXT CHECK (error IS NULL OR json_valid(error)),
  limit_key TEXT,
  unique_key TEXT,
  dead_letter INTEGER NOT NULL DEFAULT 0,
  cancel_requested_at INTEGER,
  meta TEXT CHECK (meta IS NULL OR json_valid(meta))
, lease_ms INTEGER, engine_turn INTEGER NOT NULL DEFAULT 0, inbox INTEGER NOT NULL DEFAULT 0, fair_key TEXT) STRICT;

CREATE UNIQUE INDEX idx_workflow_run_place ON workflow_run (instance_id, node, fire, item, role)
  WHERE instance_id IS NOT NULL;

CREATE INDEX idx_workflow_run_type_prefix ON workflow_run
  (queue, type, priority, run_at, id, deleted_at, expires_at, tenant, limit_key)
  WHERE status = 'pending' AND deleted_at IS NULL;

CREATE INDEX idx_workflow_run_leased ON workflow_run (session_id) WHERE status = 'leased';

CREATE INDEX idx_workflow_run_waiting ON workflow_run (instance_id, id)
  WHERE status = 'pending' AND instance_id IS NOT NULL;

CREATE INDEX idx_workflow_run_lease_until ON workflow_run (lease_until)
  WHERE status = 'leased' AND lease_until IS NOT NULL;

CREATE INDEX idx_workflow_run_timeout ON workflow_run (timeout_at)
  WHERE timeout_at IS NOT NULL AND (status = 'pending' OR status = 'leased');

CREATE INDEX idx_workflow_run_expires ON workflow_run (expires_at)
  WHERE expires_at IS NOT NULL AND status = 'pending' AND deleted_at IS NULL;

CREATE INDEX idx_workflow_run_unsettled ON workflow_run (id)
  WHERE settled_at IS NULL AND status <> 'pending' AND status <> 'leased';

CREATE INDEX idx_workflow_run_dead_letter ON workflow_run (id) WHERE dead_letter = 1;

CREATE INDEX idx_workflow_run_finished ON workflow_run (finished_at)
  WHERE instance_id IS NULL AND finished_at IS NOT NULL;

CREATE TABLE workflow_instance (
  id TEXT NOT NULL PRIMARY KEY,
  root_id TEXT NOT NULL,
  parent_id TEXT,
  parent_node TEXT,
  parent_fire INTEGER NOT NULL DEFAULT 0,
  parent_item INTEGER NOT NULL DEFAULT -1,
  parent_scope TEXT NOT NULL DEFAULT '',
  parent_role TEXT NOT NULL DEFAULT 'work',
  depth INTEGER NOT NULL DEFAULT 0,
  net_hash TEXT NOT NULL,
  name TEXT NOT NULL,
  dialect TEXT NOT NULL,
  tenant TEXT,
  start_key TEXT,
  retry_of TEXT,
  state TEXT NOT NULL CHECK (state = 'idle' OR state = 'queued' OR state = 'running' OR state = 'waiting'
    OR state = 'cancelling' OR state = 'compensating' OR state = 'completed' OR state = 'failed'
    OR state = 'cancelled' OR state = 'compensated'),
  phase TEXT NOT NULL CHECK (phase = 'forward' OR phase = 'drain' OR phase = 'undo' OR phase = 'final'
    OR phase = 'ended'),
  outcome TEXT,
  reason TEXT,
  live INTEGER NOT NULL DEFAULT 0,
  held INTEGER NOT NULL DEFAULT 0,
  open INTEGER NOT NULL DEFAULT 0,
  gates INTEGER NOT NULL DEFAULT 0,
  fires INTEGER NOT NULL DEFAULT 0,
  done_seq INTEGER NOT NULL DEFAULT 0,
  succeeded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  unhandled INTEGER NOT NULL DEFAULT 0,
  finals_failed INTEGER NOT NULL DEFAULT 0,
  more INTEGER NOT NULL DEFAULT 0,
  event_seq INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  deadline_at INTEGER
, slot_key TEXT, queued_at INTEGER, paused TEXT, fair_key TEXT) STRICT;

CREATE UNIQUE INDEX idx_workflow_instance_start_key ON workflow_instance (start_key) WHERE start_key IS NOT NULL;

CREATE INDEX idx_workflow_instance_state ON workflow_instance (state, id);

CREATE INDEX idx_workflow_instance_parent ON workflow_instance (parent_id, id) WHERE parent_id IS NOT NULL;

CREATE INDEX idx_workflow_instance_open_child ON workflow_instance (parent_id, id)
  WHERE parent_id IS NOT NULL AND ended_at IS NULL;

CREATE INDEX idx_workflow_instance_place ON workflow_instance (parent_id, parent_node, parent_item, parent_fire)
  WHERE parent_node IS NOT NULL;

CREATE INDEX idx_workflow_instance_tree ON workflow_instance (root_id) WHERE parent_id IS NOT NULL;

CREATE INDEX idx_workflow_instance_deadline ON workflow_instance (deadline_at)
  WHERE deadline_at IS NOT NULL AND ended_at IS NULL;

CREATE INDEX idx_workflow_instance_more ON workflow_instance (id) WHERE more = 1;

CREATE INDEX idx_workflow_instance_ended ON workflow_instance (ended_at)
  WHERE ended_at IS NOT NULL AND parent_id IS NULL;

CREATE TABLE workflow_slot (
  instance_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL CHECK (json_valid(value)),
  PRIMARY KEY (instance_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_item (
  instance_id TEXT NOT NULL,
  node TEXT NOT NULL,
  fire INTEGER NOT NULL,
  first INTEGER NOT NULL,
  "values" TEXT NOT NULL CHECK (json_valid("values")),
  PRIMARY KEY (instance_id, node, fire, first)
) STRICT;

CREATE TABLE workflow_net (
  hash TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  dialect TEXT NOT NULL,
  net TEXT NOT NULL CHECK (json_valid(net))
) STRICT;

CREATE TABLE workflow_gate (
  id TEXT NOT NULL PRIMARY KEY,
  instance_id TEXT NOT NULL,
  root_id TEXT NOT NULL,
  node TEXT NOT NULL,
  fire INTEGER NOT NULL,
  scope TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL CHECK (state = 'open' OR state = 'approved' OR state = 'rejected' OR state = 'closed'),
  options TEXT NOT NULL CHECK (json_valid(options)),
  args TEXT CHECK (args IS NULL OR json_valid(args)),
  due_at INTEGER,
  on_timeout TEXT NOT NULL,
  answer TEXT CHECK (answer IS NULL OR json_valid(answer)),
  answered_by TEXT,
  reason TEXT,
  created_at INTEGER NOT NULL,
  answered_at INTEGER
, votes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(votes)), escalated INTEGER NOT NULL DEFAULT 0, escalate_at INTEGER) STRICT;

CREATE UNIQUE INDEX idx_workflow_gate_place ON workflow_gate (instance_id, node, fire);

CREATE INDEX idx_workflow_gate_open ON workflow_gate (instance_id, id) WHERE state = 'open';

CREATE INDEX idx_workflow_gate_due ON workflow_gate (due_at) WHERE state = 'open' AND due_at IS NOT NULL;

CREATE TABLE workflow_limit (
  key TEXT NOT NULL PRIMARY KEY,
  max_concurrent INTEGER,
  in_use INTEGER NOT NULL DEFAULT 0,
  rate_per INTEGER,
  period_ms INTEGER,
  window_start INTEGER NOT NULL DEFAULT 0,
  window_used INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE workflow_unique (
  key TEXT NOT NULL PRIMARY KEY,
  run_id TEXT NOT NULL,
  expires_at INTEGER,
  states TEXT NOT NULL CHECK (json_valid(states))
) STRICT;

CREATE TABLE workflow_kept_key (
  idempotency_key TEXT NOT NULL PRIMARY KEY,
  run_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_queue (
  name TEXT NOT NULL PRIMARY KEY,
  paused INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE workflow_worker (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  runtime TEXT NOT NULL,
  queues TEXT NOT NULL CHECK (json_valid(queues)),
  types TEXT NOT NULL CHECK (json_valid(types)),
  concurrency INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state = 'running' OR state = 'quiet' OR state = 'terminate' OR state = 'dead'),
  started_at INTEGER NOT NULL,
  heartbeat_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  tenant TEXT
, holds TEXT NOT NULL DEFAULT 'session' CHECK (holds = 'session' OR holds = 'lease'), build TEXT) STRICT;

CREATE TABLE workflow_event (
  id INTEGER PRIMARY KEY,
  workflow_id TEXT,
  event_type TEXT NOT NULL CHECK (event_type = 'succeeded' OR event_type = 'created' OR event_type = 'leased'
    OR event_type = 'started' OR event_type = 'heartbeat' OR event_type = 'failed' OR event_type = 'retried'
    OR event_type = 'cancelled' OR event_type = 'redriven' OR event_type = 'returned' OR event_type = 'late_success'
    OR event_type = 'deferred' OR event_type = 'progress' OR instr(event_type, '.') > 1),
  data TEXT CHECK (data IS NULL OR json_valid(data)),
  created_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  instance_id TEXT,
  seq INTEGER,
  node TEXT,
  actor TEXT,
  tenant TEXT
, engine INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX idx_workflow_event_run ON workflow_event (workflow_id, id) WHERE workflow_id IS NOT NULL;

CREATE INDEX idx_workflow_event_instance ON workflow_event (instance_id, seq) WHERE instance_id IS NOT NULL;

CREATE TABLE workflow_registry (
  id TEXT NOT NULL PRIMARY KEY DEFAULT (lower(hex(randomblob(16)))),
  workflow_name TEXT NOT NULL UNIQUE,
  intent_type TEXT NOT NULL DEFAULT 'workflow',
  runtime TEXT NOT NULL,
  is_enabled INTEGER NOT NULL DEFAULT 1,
  description TEXT,
  created_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  updated_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  deleted_at INTEGER
) STRICT;

CREATE TABLE workflow_schedule (
  id TEXT NOT NULL PRIMARY KEY DEFAULT (lower(hex(randomblob(16)))),
  type TEXT NOT NULL,
  payload TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(payload)),
  schedule TEXT NOT NULL,
  timezone TEXT NOT NULL DEFAULT 'UTC',
  next_run_at INTEGER NOT NULL,
  last_run_at INTEGER,
  enabled INTEGER NOT NULL DEFAULT 1,
  priority INTEGER NOT NULL DEFAULT 100,
  max_attempts INTEGER NOT NULL DEFAULT 3,
  created_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  updated_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  deleted_at INTEGER
, disabled_reason TEXT) STRICT;

CREATE TABLE workflow_cron (
  name TEXT NOT NULL PRIMARY KEY,
  expression TEXT NOT NULL,
  timezone TEXT NOT NULL DEFAULT 'UTC',
  overlap TEXT NOT NULL CHECK (overlap = 'skip' OR overlap = 'allow' OR overlap = 'cancel_previous'
    OR overlap = 'enqueue'),
  enabled INTEGER NOT NULL DEFAULT 1,
  template TEXT NOT NULL CHECK (json_valid(template)),
  next_at INTEGER,
  last_at INTEGER,
  last_id TEXT,
  fire_count INTEGER NOT NULL DEFAULT 0,
  tenant TEXT,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_workflow_cron_due ON workflow_cron (next_at) WHERE enabled = 1 AND next_at IS NOT NULL;

CREATE TABLE workflow_checkpoint (
  run_id TEXT NOT NULL PRIMARY KEY,
  state TEXT CHECK (state IS NULL OR json_valid(state)),
  sequence INTEGER NOT NULL DEFAULT 0,
  progress TEXT CHECK (progress IS NULL OR json_valid(progress)),
  updated_at INTEGER NOT NULL
, progress_epoch INTEGER) STRICT;

CREATE TABLE workflow_setting (
  key TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_workflow_run_again ON workflow_run (queue, run_at)
  WHERE status = 'pending' AND attempt > 0 AND deleted_at IS NULL;

CREATE TABLE workflow_total (
  queue TEXT NOT NULL,
  minute INTEGER NOT NULL,
  succeeded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  retried INTEGER NOT NULL DEFAULT 0, arrived INTEGER NOT NULL DEFAULT 0, started INTEGER NOT NULL DEFAULT 0, wait_ms INTEGER NOT NULL DEFAULT 0, busy_ms INTEGER NOT NULL DEFAULT 0, wait_1 INTEGER NOT NULL DEFAULT 0, wait_2 INTEGER NOT NULL DEFAULT 0, wait_3 INTEGER NOT NULL DEFAULT 0, wait_4 INTEGER NOT NULL DEFAULT 0, wait_5 INTEGER NOT NULL DEFAULT 0, wait_6 INTEGER NOT NULL DEFAULT 0, wait_7 INTEGER NOT NULL DEFAULT 0, wait_8 INTEGER NOT NULL DEFAULT 0, wait_9 INTEGER NOT NULL DEFAULT 0, wait_10 INTEGER NOT NULL DEFAULT 0, busy_1 INTEGER NOT NULL DEFAULT 0, busy_2 INTEGER NOT NULL DEFAULT 0, busy_3 INTEGER NOT NULL DEFAULT 0, busy_4 INTEGER NOT NULL DEFAULT 0, busy_5 INTEGER NOT NULL DEFAULT 0, busy_6 INTEGER NOT NULL DEFAULT 0, busy_7 INTEGER NOT NULL DEFAULT 0, busy_8 INTEGER NOT NULL DEFAULT 0, busy_9 INTEGER NOT NULL DEFAULT 0, busy_10 INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (queue, minute)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_workflow_net_kind ON workflow_net (net ->> '$.kind') WHERE net ->> '$.kind' IS NOT NULL;

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

CREATE TABLE workflow_queue_config (
  name TEXT NOT NULL PRIMARY KEY,
  config TEXT NOT NULL CHECK (json_valid(config)),
  updated_at INTEGER NOT NULL,
  updated_by TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_schema (
  uri TEXT NOT NULL PRIMARY KEY,
  type TEXT NOT NULL,
  version TEXT NOT NULL,
  schema TEXT NOT NULL CHECK (json_valid(schema)),
  created_at INTEGER NOT NULL,
  created_by TEXT,
  UNIQUE (type, version)
) STRICT;

CREATE TABLE workflow_name (
  name TEXT NOT NULL PRIMARY KEY,
  root_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_workflow_name_root ON workflow_name (root_id);

CREATE INDEX idx_workflow_run_inbox ON workflow_run (created_at DESC, id DESC) WHERE inbox = 1;

CREATE INDEX idx_workflow_run_deleted_at ON workflow_run (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE INDEX idx_workflow_schedule_next_run ON workflow_schedule (next_run_at) WHERE enabled = 1 AND deleted_at IS NULL;

CREATE INDEX idx_workflow_gate_escalate ON workflow_gate (escalate_at) WHERE state = 'open' AND escalate_at IS NOT NULL;

CREATE INDEX idx_workflow_gate_listed ON workflow_gate (id) WHERE state = 'open';

CREATE INDEX idx_workflow_instance_slot ON workflow_instance (slot_key, state, queued_at, id)
  WHERE slot_key IS NOT NULL AND ended_at IS NULL;

CREATE TABLE workflow_definition (
  id TEXT NOT NULL PRIMARY KEY,
  tenant TEXT,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  number INTEGER NOT NULL,
  dialect TEXT NOT NULL,
  net_hash TEXT NOT NULL,
  source_hash TEXT NOT NULL,
  "trigger" TEXT CHECK ("trigger" IS NULL OR json_valid("trigger")),
  created_at INTEGER NOT NULL,
  created_by TEXT,
  used_at INTEGER,
  retired_at INTEGER,
  source TEXT NOT NULL,
  plan TEXT NOT NULL CHECK (json_valid(plan))
, tags TEXT CHECK (tags IS NULL OR json_valid(tags))) STRICT;

CREATE UNIQUE INDEX idx_workflow_definition_version ON workflow_definition (name, coalesce(tenant, ''), version);

CREATE UNIQUE INDEX idx_workflow_definition_number ON workflow_definition (name, coalesce(tenant, ''), number);

CREATE INDEX idx_workflow_definition_event ON workflow_definition (json_extract("trigger", '$.event'))
  WHERE retired_at IS NULL AND json_extract("trigger", '$.event') IS NOT NULL;

CREATE INDEX idx_workflow_instance_idle ON workflow_instance (name, coalesce(tenant, ''), id)
  WHERE state = 'idle' AND parent_id IS NULL;

CREATE TABLE workflow_command (
  run_id TEXT NOT NULL PRIMARY KEY,
  instance_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  subject TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  resend_ms INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  published_at INTEGER,
  publishes INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER
) STRICT;

CREATE INDEX idx_workflow_command_due ON workflow_command (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE workflow_refused (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  subject TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  instance_id TEXT,
  step_id TEXT,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE workflow_json_measured (value TEXT NOT NULL);

CREATE TABLE workflow_repeatable (
  name TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE workflow_term (
  id TEXT NOT NULL,
  term TEXT NOT NULL,
  tenant TEXT,
  PRIMARY KEY (id, term)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_workflow_term_found ON workflow_term (term, id);

CREATE INDEX idx_workflow_term_tenant ON workflow_term (tenant, term, id) WHERE tenant IS NOT NULL;

CREATE TABLE workflow_fire (
  schedule TEXT NOT NULL,
  id TEXT NOT NULL,
  planned_at INTEGER,
  fired_at INTEGER NOT NULL,
  made TEXT CHECK (made = 'run' OR made = 'instance'),
  made_id TEXT,
  made_count INTEGER NOT NULL DEFAULT 0,
  skipped TEXT CHECK (skipped = 'overlap' OR skipped = 'refused'),
  reason TEXT,
  actor TEXT,
  request_key TEXT,
  PRIMARY KEY (schedule, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX idx_workflow_fire_request ON workflow_fire (schedule, request_key) WHERE request_key IS NOT NULL;

CREATE INDEX idx_workflow_cron_tenant ON workflow_cron (coalesce(tenant, ''), name);

CREATE INDEX idx_workflow_schedule_live ON workflow_schedule (id) WHERE deleted_at IS NULL;

CREATE TABLE workflow_operation (
  id TEXT NOT NULL PRIMARY KEY,
  tenant TEXT,
  actor TEXT,
  reason TEXT,
  action TEXT NOT NULL,
  target TEXT NOT NULL CHECK (target = 'instances' OR target = 'runs'),
  query TEXT NOT NULL,
  parameters TEXT NOT NULL CHECK (json_valid(parameters)),
  rate INTEGER,
  state TEXT NOT NULL DEFAULT 'running' CHECK (state = 'running' OR state = 'stopped' OR state = 'completed'),
  cursor TEXT,
  selecting INTEGER NOT NULL DEFAULT 1,
  matched INTEGER NOT NULL DEFAULT 0,
  succeeded INTEGER NOT NULL DEFAULT 0,
  refused INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  counted_to TEXT NOT NULL DEFAULT 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  pace_at INTEGER,
  due_at INTEGER,
  reported_at INTEGER,
  created_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;

CREATE INDEX idx_workflow_operation_due ON workflow_operation (due_at) WHERE due_at IS NOT NULL;

CREATE INDEX idx_workflow_operation_ended ON workflow_operation (ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX idx_workflow_operation_tenant ON workflow_operation (tenant, id);

CREATE TABLE workflow_operation_item (
  operation_id TEXT NOT NULL,
  item_id TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending'
    CHECK (state = 'pending' OR state = 'succeeded' OR state = 'refused' OR state = 'failed'),
  code TEXT,
  message TEXT,
  new_id TEXT,
  taken_at INTEGER,
  settled_at INTEGER,
  PRIMARY KEY (operation_id, item_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_workflow_operation_item_state ON workflow_operation_item (operation_id, state, item_id);

CREATE TABLE workflow_failure (
  id TEXT NOT NULL PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  tenant TEXT,
  type TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  node TEXT,
  definition TEXT,
  worker TEXT,
  run_id TEXT NOT NULL,
  instance_id TEXT,
  at INTEGER NOT NULL
, holder TEXT, build TEXT) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_error_group (
  fingerprint TEXT NOT NULL PRIMARY KEY,
  tenant TEXT,
  state TEXT NOT NULL CHECK (state IN ('open', 'resolved', 'ignored')),
  regressed INTEGER NOT NULL,
  type TEXT NOT NULL,
  code TEXT NOT NULL,
  node TEXT,
  message TEXT NOT NULL,
  count INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  definitions TEXT NOT NULL CHECK (json_valid(definitions)),
  workers TEXT NOT NULL CHECK (json_valid(workers)),
  last_message TEXT NOT NULL,
  last_run_id TEXT NOT NULL,
  last_instance_id TEXT,
  state_at INTEGER NOT NULL,
  state_by TEXT,
  reason TEXT,
  ignored_count INTEGER,
  ignored_until INTEGER
, builds TEXT NOT NULL DEFAULT '[]', changes TEXT NOT NULL DEFAULT '[]') STRICT, WITHOUT ROWID;

CREATE INDEX idx_workflow_error_group_last ON workflow_error_group (last_at, fingerprint);

CREATE INDEX idx_workflow_error_group_tenant ON workflow_error_group (tenant, last_at, fingerprint);

CREATE TABLE workflow_pause (
  kind TEXT NOT NULL CHECK (kind IN ('instance', 'definition', 'type', 'queue')),
  key TEXT NOT NULL,
  tenant TEXT,
  state TEXT NOT NULL CHECK (state IN ('pausing', 'paused', 'resuming')),
  timeouts TEXT NOT NULL CHECK (timeouts IN ('stop', 'run')),
  paused_at INTEGER NOT NULL,
  actor TEXT,
  reason TEXT,
  resumed_at INTEGER,
  cursor TEXT,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_workflow_pause_listed ON workflow_pause (paused_at, key);

CREATE INDEX idx_workflow_pause_of_tenant ON workflow_pause (tenant, paused_at, key) WHERE tenant IS NOT NULL;

CREATE INDEX idx_workflow_pause_unfinished ON workflow_pause (key) WHERE state <> 'paused';

CREATE TABLE workflow_parked (
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('run', 'instance', 'gate')),
  since INTEGER NOT NULL,
  run_at INTEGER,
  expires_at INTEGER,
  timeout_at INTEGER,
  due_at INTEGER,
  escalate_at INTEGER,
  deadline_at INTEGER,
  queued_at INTEGER,
  phase TEXT,
  PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_log (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  instance_id TEXT,
  epoch INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  first INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  lines TEXT NOT NULL CHECK (json_valid(lines)),
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_workflow_log_run ON workflow_log (run_id, id);

CREATE INDEX idx_workflow_log_instance ON workflow_log (instance_id, id) WHERE instance_id IS NOT NULL;

CREATE TABLE workflow_debounce (
  key TEXT NOT NULL PRIMARY KEY,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  version TEXT,
  tenant TEXT,
  start TEXT NOT NULL CHECK (json_valid(start)),
  actor TEXT,
  replaced INTEGER NOT NULL DEFAULT 0,
  first_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL
, kind TEXT NOT NULL DEFAULT 'instance') STRICT;

CREATE INDEX idx_workflow_debounce_due ON workflow_debounce (due_at);

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

CREATE INDEX idx_workflow_run_fair ON workflow_run (queue, type, priority, fair_key, run_at, id)
  WHERE status = 'pending' AND deleted_at IS NULL AND fair_key IS NOT NULL;

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

CREATE UNIQUE INDEX idx_workflow_debounce_listed ON workflow_debounce (id);

CREATE INDEX idx_workflow_debounce_of_tenant ON workflow_debounce (coalesce(tenant, ''), id);

CREATE INDEX idx_workflow_total_minute ON workflow_total (minute);

CREATE INDEX idx_workflow_event_audit ON workflow_event (id)
  WHERE actor IS NOT NULL AND event_type NOT IN ('created', 'leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'returned', 'late_success', 'deferred', 'progress', 'instance.created', 'instance.queued', 'workflow.triggered');

CREATE INDEX idx_workflow_event_of_actor ON workflow_event (actor, id)
  WHERE actor IS NOT NULL AND event_type NOT IN ('created', 'leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'returned', 'late_success', 'deferred', 'progress', 'instance.created', 'instance.queued', 'workflow.triggered');

INSERT INTO workflow_setting (key, value) VALUES ('on_conflict', 'keep');
