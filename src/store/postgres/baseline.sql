-- Migrations 1 to 41.
-- Written by scripts/baseline.mjs.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'saga') THEN
    CREATE SCHEMA saga;
  END IF;
END
$$;

CREATE SEQUENCE workflow.workflow_event_id_seq AS bigint;

CREATE TABLE workflow.workflow_setting (
  key text NOT NULL,
  value text NOT NULL,
  CONSTRAINT workflow_setting_pkey PRIMARY KEY (key)
);

CREATE TABLE workflow.workflow_run (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  type text NOT NULL,
  payload jsonb NOT NULL,
  status text DEFAULT 'pending'::text NOT NULL,
  priority integer DEFAULT 100 NOT NULL,
  run_at timestamp with time zone DEFAULT now() NOT NULL,
  idempotency_key text,
  attempt integer DEFAULT 0 NOT NULL,
  max_attempts integer DEFAULT 3 NOT NULL,
  leased_by text,
  lease_until timestamp with time zone,
  last_error text,
  result jsonb,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  deleted_at timestamp with time zone,
  queue text DEFAULT 'default'::text NOT NULL,
  tenant text,
  instance_id uuid,
  root_id uuid,
  node text,
  fire integer DEFAULT 0 NOT NULL,
  item integer DEFAULT '-1'::integer NOT NULL,
  role text DEFAULT 'work'::text NOT NULL,
  scope text DEFAULT ''::text NOT NULL,
  epoch integer DEFAULT 0 NOT NULL,
  session_id text,
  deliveries integer DEFAULT 0 NOT NULL,
  leased_at timestamp with time zone,
  started_at timestamp with time zone,
  first_started_at timestamp with time zone,
  finished_at timestamp with time zone,
  settled_at timestamp with time zone,
  done_seq integer,
  report_id text,
  deferred boolean DEFAULT false NOT NULL,
  unknown_outcome boolean DEFAULT false NOT NULL,
  timeout_ms bigint,
  timeout_per text DEFAULT 'attempt'::text NOT NULL,
  timeout_at timestamp with time zone,
  expires_at timestamp with time zone,
  retry json,
  error json,
  limit_key text,
  unique_key text,
  dead_letter boolean DEFAULT false NOT NULL,
  cancel_requested_at timestamp with time zone,
  meta json,
  lease_ms bigint,
  engine_turn boolean DEFAULT false NOT NULL,
  inbox boolean DEFAULT false NOT NULL,
  fair_key text COLLATE "C",
  CONSTRAINT workflow_run_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'leased'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text]))),
  CONSTRAINT workflow_run_role_check CHECK ((role = ANY (ARRAY['work'::text, 'undo'::text, 'final'::text]))),
  CONSTRAINT workflow_run_timeout_per_check CHECK ((timeout_per = ANY (ARRAY['attempt'::text, 'node'::text]))),
  CONSTRAINT workflow_run_pkey PRIMARY KEY (id),
  CONSTRAINT idx_workflow_run_idempotency UNIQUE (idempotency_key)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_insert_scale_factor=0.1, autovacuum_analyze_scale_factor=0.05);

CREATE TABLE workflow.workflow_kept_key (
  idempotency_key text NOT NULL,
  run_id uuid NOT NULL,
  CONSTRAINT workflow_kept_key_pkey PRIMARY KEY (idempotency_key)
);

CREATE TABLE workflow.workflow_checkpoint (
  run_id uuid NOT NULL,
  state json,
  sequence integer DEFAULT 0 NOT NULL,
  progress json,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  progress_epoch integer,
  CONSTRAINT workflow_checkpoint_pkey PRIMARY KEY (run_id)
) WITH (fillfactor=70);

CREATE TABLE workflow.workflow_instance (
  id uuid NOT NULL,
  root_id uuid NOT NULL,
  parent_id uuid,
  parent_node text,
  parent_fire integer DEFAULT 0 NOT NULL,
  parent_item integer DEFAULT '-1'::integer NOT NULL,
  parent_scope text DEFAULT ''::text NOT NULL,
  parent_role text DEFAULT 'work'::text NOT NULL,
  depth integer DEFAULT 0 NOT NULL,
  net_hash text NOT NULL,
  name text NOT NULL,
  dialect text NOT NULL,
  tenant text,
  start_key text,
  retry_of uuid,
  state text NOT NULL,
  phase text NOT NULL,
  outcome text,
  reason text,
  live integer DEFAULT 0 NOT NULL,
  held integer DEFAULT 0 NOT NULL,
  open integer DEFAULT 0 NOT NULL,
  gates integer DEFAULT 0 NOT NULL,
  fires integer DEFAULT 0 NOT NULL,
  done_seq integer DEFAULT 0 NOT NULL,
  succeeded integer DEFAULT 0 NOT NULL,
  failed integer DEFAULT 0 NOT NULL,
  unhandled integer DEFAULT 0 NOT NULL,
  finals_failed integer DEFAULT 0 NOT NULL,
  more boolean DEFAULT false NOT NULL,
  event_seq integer DEFAULT 0 NOT NULL,
  created_at timestamp with time zone NOT NULL,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  deadline_at timestamp with time zone,
  slot_key text,
  queued_at timestamp with time zone,
  paused text,
  fair_key text,
  CONSTRAINT workflow_instance_pkey PRIMARY KEY (id)
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000);

CREATE TABLE workflow.workflow_slot (
  instance_id uuid NOT NULL,
  key text COLLATE "C" NOT NULL,
  value json NOT NULL,
  CONSTRAINT workflow_slot_pkey PRIMARY KEY (instance_id, key)
) WITH (fillfactor=80, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=5000);

CREATE TABLE workflow.workflow_net (
  hash text NOT NULL,
  name text NOT NULL,
  dialect text NOT NULL,
  net json NOT NULL,
  CONSTRAINT workflow_net_pkey PRIMARY KEY (hash)
);

CREATE TABLE workflow.workflow_item (
  instance_id uuid NOT NULL,
  node text NOT NULL,
  fire integer NOT NULL,
  first integer NOT NULL,
  "values" json NOT NULL,
  CONSTRAINT workflow_item_pkey PRIMARY KEY (instance_id, node, fire, first)
);

CREATE TABLE workflow.workflow_gate (
  id uuid NOT NULL,
  instance_id uuid NOT NULL,
  root_id uuid NOT NULL,
  node text NOT NULL,
  fire integer NOT NULL,
  scope text NOT NULL,
  state text NOT NULL,
  options json NOT NULL,
  args json,
  due_at timestamp with time zone,
  on_timeout text NOT NULL,
  answer json,
  answered_by text,
  reason text,
  created_at timestamp with time zone NOT NULL,
  answered_at timestamp with time zone,
  votes json DEFAULT '[]'::json NOT NULL,
  escalated integer DEFAULT 0 NOT NULL,
  escalate_at timestamp with time zone,
  CONSTRAINT workflow_gate_state_check CHECK ((state = ANY (ARRAY['open'::text, 'approved'::text, 'rejected'::text, 'closed'::text]))),
  CONSTRAINT workflow_gate_on_timeout_check CHECK ((on_timeout = ANY (ARRAY['approve'::text, 'reject'::text]))),
  CONSTRAINT workflow_gate_pkey PRIMARY KEY (id)
);

CREATE TABLE workflow.workflow_queue (
  name text NOT NULL,
  paused boolean DEFAULT false NOT NULL,
  CONSTRAINT workflow_queue_pkey PRIMARY KEY (name)
);

CREATE TABLE workflow.workflow_limit (
  key text NOT NULL,
  max_concurrent integer,
  in_use integer DEFAULT 0 NOT NULL,
  rate_per integer,
  period_ms bigint,
  window_start timestamp with time zone NOT NULL,
  window_used integer DEFAULT 0 NOT NULL,
  CONSTRAINT workflow_limit_pkey PRIMARY KEY (key)
) WITH (fillfactor=50);

CREATE TABLE workflow.workflow_unique (
  key text NOT NULL,
  run_id uuid NOT NULL,
  expires_at timestamp with time zone,
  states json NOT NULL,
  CONSTRAINT workflow_unique_pkey PRIMARY KEY (key)
);

CREATE TABLE workflow.workflow_worker (
  id text NOT NULL,
  name text NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  runtime text NOT NULL,
  queues json NOT NULL,
  types json NOT NULL,
  concurrency integer NOT NULL,
  state text NOT NULL,
  started_at timestamp with time zone NOT NULL,
  heartbeat_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  tenant text,
  holds text DEFAULT 'session'::text NOT NULL,
  build text,
  CONSTRAINT workflow_worker_state_check CHECK ((state = ANY (ARRAY['running'::text, 'quiet'::text, 'terminate'::text, 'dead'::text]))),
  CONSTRAINT workflow_worker_pkey PRIMARY KEY (id),
  CONSTRAINT workflow_worker_holds_check CHECK ((holds = ANY (ARRAY['session'::text, 'lease'::text])))
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500);

CREATE TABLE workflow.workflow_cron (
  name text NOT NULL,
  expression text NOT NULL,
  timezone text NOT NULL,
  overlap text NOT NULL,
  enabled boolean NOT NULL,
  template json NOT NULL,
  next_at timestamp with time zone,
  last_at timestamp with time zone,
  last_id text,
  fire_count integer DEFAULT 0 NOT NULL,
  tenant text,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT workflow_cron_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'allow'::text, 'cancel_previous'::text, 'enqueue'::text]))),
  CONSTRAINT workflow_cron_pkey PRIMARY KEY (name)
);

CREATE TABLE workflow.workflow_registry (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  workflow_name text NOT NULL,
  intent_type text DEFAULT 'workflow'::text NOT NULL,
  runtime text NOT NULL,
  is_enabled boolean DEFAULT true NOT NULL,
  description text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  deleted_at timestamp with time zone,
  CONSTRAINT workflow_registry_pkey PRIMARY KEY (id),
  CONSTRAINT workflow_registry_workflow_name_key UNIQUE (workflow_name)
);

CREATE TABLE workflow.workflow_schedule (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  type text NOT NULL,
  payload jsonb DEFAULT '{}'::jsonb NOT NULL,
  schedule text NOT NULL,
  timezone text DEFAULT 'UTC'::text NOT NULL,
  next_run_at timestamp with time zone NOT NULL,
  last_run_at timestamp with time zone,
  enabled boolean DEFAULT true NOT NULL,
  priority integer DEFAULT 100 NOT NULL,
  max_attempts integer DEFAULT 3 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  deleted_at timestamp with time zone,
  disabled_reason text,
  CONSTRAINT workflow_schedule_pkey PRIMARY KEY (id)
);

CREATE TABLE workflow.workflow_event (
  id bigint DEFAULT nextval('workflow.workflow_event_id_seq'::regclass) NOT NULL,
  workflow_id uuid,
  event_type text NOT NULL,
  data jsonb,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  instance_id uuid,
  seq integer,
  node text,
  actor text,
  tenant text,
  engine boolean DEFAULT false NOT NULL,
  CONSTRAINT workflow_event_event_type_check CHECK (((event_type = ANY (ARRAY['created'::text, 'leased'::text, 'started'::text, 'heartbeat'::text, 'succeeded'::text, 'failed'::text, 'retried'::text, 'cancelled'::text, 'redriven'::text, 'returned'::text, 'late_success'::text, 'deferred'::text, 'progress'::text])) OR (event_type ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$'::text)))
) PARTITION BY RANGE (created_at);

CREATE TABLE workflow.workflow_event_default PARTITION OF workflow.workflow_event DEFAULT;

CREATE TABLE workflow.workflow_total (
  queue text NOT NULL,
  minute timestamp with time zone NOT NULL,
  succeeded bigint DEFAULT 0 NOT NULL,
  failed bigint DEFAULT 0 NOT NULL,
  cancelled bigint DEFAULT 0 NOT NULL,
  retried bigint DEFAULT 0 NOT NULL,
  arrived bigint DEFAULT 0 NOT NULL,
  started bigint DEFAULT 0 NOT NULL,
  wait_ms bigint DEFAULT 0 NOT NULL,
  busy_ms bigint DEFAULT 0 NOT NULL,
  wait_1 bigint DEFAULT 0 NOT NULL,
  wait_2 bigint DEFAULT 0 NOT NULL,
  wait_3 bigint DEFAULT 0 NOT NULL,
  wait_4 bigint DEFAULT 0 NOT NULL,
  wait_5 bigint DEFAULT 0 NOT NULL,
  wait_6 bigint DEFAULT 0 NOT NULL,
  wait_7 bigint DEFAULT 0 NOT NULL,
  wait_8 bigint DEFAULT 0 NOT NULL,
  wait_9 bigint DEFAULT 0 NOT NULL,
  wait_10 bigint DEFAULT 0 NOT NULL,
  busy_1 bigint DEFAULT 0 NOT NULL,
  busy_2 bigint DEFAULT 0 NOT NULL,
  busy_3 bigint DEFAULT 0 NOT NULL,
  busy_4 bigint DEFAULT 0 NOT NULL,
  busy_5 bigint DEFAULT 0 NOT NULL,
  busy_6 bigint DEFAULT 0 NOT NULL,
  busy_7 bigint DEFAULT 0 NOT NULL,
  busy_8 bigint DEFAULT 0 NOT NULL,
  busy_9 bigint DEFAULT 0 NOT NULL,
  busy_10 bigint DEFAULT 0 NOT NULL,
  CONSTRAINT workflow_total_pkey PRIMARY KEY (queue, minute)
) WITH (fillfactor=50);

CREATE TABLE workflow.workflow_key (
  id text NOT NULL,
  hash text NOT NULL,
  subject text NOT NULL,
  scopes json NOT NULL,
  roles json NOT NULL,
  tenant text,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  CONSTRAINT workflow_key_pkey PRIMARY KEY (id)
);

CREATE TABLE workflow.workflow_webhook (
  id text NOT NULL,
  url text NOT NULL,
  events json NOT NULL,
  queues json,
  job_types json,
  secret text NOT NULL,
  old_secret text,
  old_secret_until timestamp with time zone,
  active boolean NOT NULL,
  ordered boolean NOT NULL,
  timeout_ms integer NOT NULL,
  max_attempts integer NOT NULL,
  metadata json,
  tenant text,
  created_by text,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  cursor bigint NOT NULL,
  failures integer DEFAULT 0 NOT NULL,
  last_at timestamp with time zone,
  last_status integer,
  lease_by text,
  lease_until timestamp with time zone,
  CONSTRAINT workflow_webhook_pkey PRIMARY KEY (id)
) WITH (fillfactor=70);

CREATE TABLE workflow.workflow_webhook_delivery (
  id text NOT NULL,
  webhook_id text NOT NULL,
  feed_id bigint NOT NULL,
  part integer NOT NULL,
  event_id text NOT NULL,
  event_type text NOT NULL,
  body text NOT NULL,
  state text NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  next_at timestamp with time zone NOT NULL,
  last_status integer,
  last_error text,
  last_ms integer,
  created_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  CONSTRAINT workflow_webhook_delivery_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text]))),
  CONSTRAINT workflow_webhook_delivery_pkey PRIMARY KEY (id)
) WITH (fillfactor=70);

CREATE TABLE workflow.workflow_queue_config (
  name text NOT NULL,
  config json NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  updated_by text,
  CONSTRAINT workflow_queue_config_pkey PRIMARY KEY (name)
);

CREATE TABLE workflow.workflow_schema (
  uri text NOT NULL,
  type text NOT NULL,
  version text NOT NULL,
  schema json NOT NULL,
  created_at timestamp with time zone NOT NULL,
  created_by text,
  CONSTRAINT workflow_schema_pkey PRIMARY KEY (uri),
  CONSTRAINT workflow_schema_type_version_key UNIQUE (type, version)
);

CREATE TABLE workflow.workflow_name (
  name text NOT NULL,
  root_id uuid NOT NULL,
  CONSTRAINT workflow_name_pkey PRIMARY KEY (name)
);

CREATE TABLE workflow.workflow_definition (
  id uuid NOT NULL,
  tenant text,
  name text NOT NULL,
  version text NOT NULL,
  number integer NOT NULL,
  dialect text NOT NULL,
  net_hash text NOT NULL,
  source_hash text NOT NULL,
  trigger json,
  created_at timestamp with time zone NOT NULL,
  created_by text,
  used_at timestamp with time zone,
  retired_at timestamp with time zone,
  source text NOT NULL,
  plan json NOT NULL,
  tags json,
  CONSTRAINT workflow_definition_pkey PRIMARY KEY (id)
);

CREATE TABLE workflow.workflow_command (
  run_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  epoch integer NOT NULL,
  subject text NOT NULL,
  body text NOT NULL,
  resend_ms bigint NOT NULL,
  created_at timestamp with time zone NOT NULL,
  published_at timestamp with time zone,
  publishes integer DEFAULT 0 NOT NULL,
  due_at timestamp with time zone,
  CONSTRAINT workflow_command_body_check CHECK (((body)::json IS NOT NULL)),
  CONSTRAINT workflow_command_pkey PRIMARY KEY (run_id)
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=2000);

CREATE TABLE workflow.workflow_refused (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  at timestamp with time zone NOT NULL,
  subject text NOT NULL,
  code text NOT NULL,
  message text NOT NULL,
  instance_id text,
  step_id text,
  body text NOT NULL,
  CONSTRAINT workflow_refused_pkey PRIMARY KEY (id)
);

CREATE TABLE workflow.workflow_probe (
  value text NOT NULL
);

CREATE TABLE workflow.workflow_repeatable (
  name text NOT NULL,
  revision integer NOT NULL,
  checksum text NOT NULL,
  applied_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT workflow_repeatable_pkey PRIMARY KEY (name)
);

CREATE TABLE workflow.workflow_term (
  id uuid NOT NULL,
  term text COLLATE "C" NOT NULL,
  tenant text,
  CONSTRAINT workflow_term_pkey PRIMARY KEY (id, term)
);

CREATE TABLE workflow.workflow_fire (
  schedule text NOT NULL,
  id uuid NOT NULL,
  planned_at timestamp with time zone,
  fired_at timestamp with time zone NOT NULL,
  made text,
  made_id uuid,
  made_count integer DEFAULT 0 NOT NULL,
  skipped text,
  reason text,
  actor text,
  request_key text,
  CONSTRAINT workflow_fire_made_check CHECK ((made = ANY (ARRAY['run'::text, 'instance'::text]))),
  CONSTRAINT workflow_fire_skipped_check CHECK ((skipped = ANY (ARRAY['overlap'::text, 'refused'::text]))),
  CONSTRAINT workflow_fire_pkey PRIMARY KEY (schedule, id)
);

CREATE TABLE workflow.workflow_operation (
  id uuid NOT NULL,
  tenant text,
  actor text,
  reason text,
  action text NOT NULL,
  target text NOT NULL,
  query text NOT NULL,
  parameters json NOT NULL,
  rate integer,
  state text DEFAULT 'running'::text NOT NULL,
  cursor text,
  selecting boolean DEFAULT true NOT NULL,
  matched integer DEFAULT 0 NOT NULL,
  succeeded integer DEFAULT 0 NOT NULL,
  refused integer DEFAULT 0 NOT NULL,
  failed integer DEFAULT 0 NOT NULL,
  counted_to uuid DEFAULT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid NOT NULL,
  pace_at timestamp with time zone,
  due_at timestamp with time zone,
  reported_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  CONSTRAINT workflow_operation_target_check CHECK ((target = ANY (ARRAY['instances'::text, 'runs'::text]))),
  CONSTRAINT workflow_operation_state_check CHECK ((state = ANY (ARRAY['running'::text, 'stopped'::text, 'completed'::text]))),
  CONSTRAINT workflow_operation_pkey PRIMARY KEY (id)
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=200);

CREATE TABLE workflow.workflow_operation_item (
  operation_id uuid NOT NULL,
  item_id uuid NOT NULL,
  state text DEFAULT 'pending'::text NOT NULL,
  code text,
  message text,
  new_id uuid,
  taken_at timestamp with time zone,
  settled_at timestamp with time zone,
  CONSTRAINT workflow_operation_item_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'succeeded'::text, 'refused'::text, 'failed'::text]))),
  CONSTRAINT workflow_operation_item_pkey PRIMARY KEY (operation_id, item_id)
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=2000);

CREATE TABLE workflow.workflow_failure (
  id uuid NOT NULL,
  fingerprint text NOT NULL,
  tenant text,
  type text NOT NULL,
  code text NOT NULL,
  message text NOT NULL,
  node text,
  definition text,
  worker text,
  run_id uuid NOT NULL,
  instance_id uuid,
  at timestamp with time zone NOT NULL,
  holder text,
  build text,
  CONSTRAINT workflow_failure_pkey PRIMARY KEY (id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

CREATE TABLE workflow.workflow_error_group (
  fingerprint text NOT NULL,
  tenant text,
  state text NOT NULL,
  regressed boolean NOT NULL,
  type text NOT NULL,
  code text NOT NULL,
  node text,
  message text NOT NULL,
  count bigint NOT NULL,
  first_at timestamp with time zone NOT NULL,
  last_at timestamp with time zone NOT NULL,
  definitions json NOT NULL,
  workers json NOT NULL,
  last_message text NOT NULL,
  last_run_id uuid NOT NULL,
  last_instance_id uuid,
  state_at timestamp with time zone NOT NULL,
  state_by text,
  reason text,
  ignored_count bigint,
  ignored_until timestamp with time zone,
  builds json DEFAULT '[]'::json NOT NULL,
  changes json DEFAULT '[]'::json NOT NULL,
  CONSTRAINT workflow_error_group_state_check CHECK ((state = ANY (ARRAY['open'::text, 'resolved'::text, 'ignored'::text]))),
  CONSTRAINT workflow_error_group_pkey PRIMARY KEY (fingerprint)
) WITH (fillfactor=70);

CREATE TABLE workflow.workflow_pause (
  kind text NOT NULL,
  key text NOT NULL,
  tenant text,
  state text NOT NULL,
  timeouts text NOT NULL,
  paused_at timestamp with time zone NOT NULL,
  actor text,
  reason text,
  resumed_at timestamp with time zone,
  cursor text,
  CONSTRAINT workflow_pause_kind_check CHECK ((kind = ANY (ARRAY['instance'::text, 'definition'::text, 'type'::text, 'queue'::text]))),
  CONSTRAINT workflow_pause_state_check CHECK ((state = ANY (ARRAY['pausing'::text, 'paused'::text, 'resuming'::text]))),
  CONSTRAINT workflow_pause_timeouts_check CHECK ((timeouts = ANY (ARRAY['stop'::text, 'run'::text]))),
  CONSTRAINT workflow_pause_pkey PRIMARY KEY (kind, key)
);

CREATE TABLE workflow.workflow_parked (
  owner text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  since timestamp with time zone NOT NULL,
  run_at timestamp with time zone,
  expires_at timestamp with time zone,
  timeout_at timestamp with time zone,
  due_at timestamp with time zone,
  escalate_at timestamp with time zone,
  deadline_at timestamp with time zone,
  queued_at timestamp with time zone,
  phase text,
  CONSTRAINT workflow_parked_kind_check CHECK ((kind = ANY (ARRAY['run'::text, 'instance'::text, 'gate'::text]))),
  CONSTRAINT workflow_parked_pkey PRIMARY KEY (owner, id)
);

CREATE TABLE workflow.workflow_log (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  run_id uuid NOT NULL,
  instance_id uuid,
  epoch integer NOT NULL,
  attempt integer NOT NULL,
  first integer NOT NULL,
  bytes integer NOT NULL,
  lines json NOT NULL,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT workflow_log_pkey PRIMARY KEY (id)
);

CREATE TABLE workflow.workflow_debounce (
  key text NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  version text,
  tenant text,
  start json NOT NULL,
  actor text,
  replaced integer DEFAULT 0 NOT NULL,
  first_at timestamp with time zone NOT NULL,
  due_at timestamp with time zone NOT NULL,
  kind text DEFAULT 'instance'::text NOT NULL,
  CONSTRAINT workflow_debounce_pkey PRIMARY KEY (key)
);

CREATE TABLE workflow.workflow_sign_in (
  hash text NOT NULL,
  method text NOT NULL,
  subject text,
  tenant text,
  roles json NOT NULL,
  scopes json NOT NULL,
  key_id text,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT workflow_sign_in_pkey PRIMARY KEY (hash)
);

CREATE TABLE workflow.workflow_fair_turn (
  queue text NOT NULL,
  priority integer NOT NULL,
  scope text NOT NULL,
  key text NOT NULL,
  used integer NOT NULL,
  CONSTRAINT workflow_fair_turn_pkey PRIMARY KEY (queue, priority, scope)
);

CREATE TABLE workflow.workflow_fair_weight (
  queue text NOT NULL,
  key text COLLATE "C" NOT NULL,
  weight integer NOT NULL,
  CONSTRAINT workflow_fair_weight_weight_check CHECK (((weight >= 1) AND (weight <= 100))),
  CONSTRAINT workflow_fair_weight_pkey PRIMARY KEY (queue, key)
);

ALTER SEQUENCE workflow.workflow_event_id_seq OWNED BY workflow.workflow_event.id;

CREATE UNIQUE INDEX workflow_run_place ON workflow.workflow_run USING btree (instance_id, node, fire, item, role) WHERE (instance_id IS NOT NULL);

CREATE INDEX idx_workflow_run_claim ON workflow.workflow_run USING btree (priority, created_at) WHERE (status = ANY (ARRAY['pending'::text, 'leased'::text]));

CREATE INDEX workflow_run_line ON workflow.workflow_run USING btree (queue, type text_pattern_ops, priority, run_at, id) WHERE ((status = 'pending'::text) AND (deleted_at IS NULL));

CREATE INDEX workflow_run_waiting ON workflow.workflow_run USING btree (instance_id, id) WHERE ((status = 'pending'::text) AND (instance_id IS NOT NULL));

CREATE INDEX workflow_run_unsettled ON workflow.workflow_run USING btree (id) WHERE ((settled_at IS NULL) AND (status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])));

CREATE INDEX workflow_run_dead_letter ON workflow.workflow_run USING btree (id) WHERE dead_letter;

CREATE INDEX workflow_run_finished ON workflow.workflow_run USING btree (finished_at) WHERE ((instance_id IS NULL) AND (finished_at IS NOT NULL));

CREATE INDEX idx_workflow_run_deleted_at ON workflow.workflow_run USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);

CREATE UNIQUE INDEX workflow_instance_start_key ON workflow.workflow_instance USING btree (start_key) WHERE (start_key IS NOT NULL);

CREATE INDEX workflow_instance_parent ON workflow.workflow_instance USING btree (parent_id, parent_node, parent_item, parent_fire) WHERE (parent_id IS NOT NULL);

CREATE INDEX workflow_instance_open_child ON workflow.workflow_instance USING btree (parent_id, id) WHERE ((parent_id IS NOT NULL) AND (ended_at IS NULL));

CREATE INDEX workflow_instance_state ON workflow.workflow_instance USING btree (state, id);

CREATE INDEX workflow_instance_ended ON workflow.workflow_instance USING btree (ended_at) WHERE ((ended_at IS NOT NULL) AND (parent_id IS NULL));

CREATE INDEX workflow_instance_tree ON workflow.workflow_instance USING btree (root_id) WHERE (parent_id IS NOT NULL);

CREATE UNIQUE INDEX workflow_gate_place ON workflow.workflow_gate USING btree (instance_id, node, fire);

CREATE INDEX workflow_gate_open ON workflow.workflow_gate USING btree (id) WHERE (state = 'open'::text);

CREATE INDEX workflow_gate_due ON workflow.workflow_gate USING btree (due_at) WHERE ((state = 'open'::text) AND (due_at IS NOT NULL));

CREATE INDEX workflow_unique_run ON workflow.workflow_unique USING btree (run_id);

CREATE INDEX workflow_cron_due ON workflow.workflow_cron USING btree (next_at) WHERE (enabled AND (next_at IS NOT NULL));

CREATE INDEX idx_workflow_registry_runtime ON workflow.workflow_registry USING btree (runtime, is_enabled);

CREATE INDEX idx_workflow_registry_deleted_at ON workflow.workflow_registry USING btree (deleted_at) WHERE (deleted_at IS NULL);

CREATE INDEX idx_workflow_schedule_next_run ON workflow.workflow_schedule USING btree (next_run_at) WHERE (enabled AND (deleted_at IS NULL));

CREATE INDEX idx_workflow_schedule_type ON workflow.workflow_schedule USING btree (type);

CREATE INDEX idx_workflow_event_workflow_id ON workflow.workflow_event USING btree (workflow_id, id) WHERE (workflow_id IS NOT NULL);

CREATE INDEX workflow_event_instance ON workflow.workflow_event USING btree (instance_id, seq) WHERE (instance_id IS NOT NULL);

CREATE INDEX workflow_run_again ON workflow.workflow_run USING btree (queue, run_at) WHERE ((status = 'pending'::text) AND (attempt > 0) AND (deleted_at IS NULL));

CREATE INDEX workflow_net_kind ON workflow.workflow_net USING btree (((net ->> 'kind'::text))) WHERE ((net ->> 'kind'::text) IS NOT NULL);

CREATE INDEX workflow_webhook_delivery_pending ON workflow.workflow_webhook_delivery USING btree (webhook_id, feed_id, part) WHERE (state = 'pending'::text);

CREATE INDEX workflow_webhook_delivery_log ON workflow.workflow_webhook_delivery USING btree (webhook_id, feed_id DESC, part DESC);

CREATE INDEX workflow_webhook_delivery_ended ON workflow.workflow_webhook_delivery USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX workflow_name_root ON workflow.workflow_name USING btree (root_id);

CREATE INDEX idx_workflow_run_type_status ON workflow.workflow_run USING btree (created_at DESC, id DESC) WHERE inbox;

CREATE INDEX workflow_gate_escalate ON workflow.workflow_gate USING btree (escalate_at) WHERE ((state = 'open'::text) AND (escalate_at IS NOT NULL));

CREATE INDEX workflow_instance_slot ON workflow.workflow_instance USING btree (slot_key, state, queued_at, id) WHERE ((slot_key IS NOT NULL) AND (ended_at IS NULL));

CREATE INDEX workflow_limit_slot ON workflow.workflow_limit USING btree (key) WHERE (key ~~ 'workflow:%'::text);

CREATE UNIQUE INDEX workflow_definition_version ON workflow.workflow_definition USING btree (name, COALESCE(tenant, ''::text), version);

CREATE UNIQUE INDEX workflow_definition_number ON workflow.workflow_definition USING btree (name, COALESCE(tenant, ''::text), number);

CREATE INDEX workflow_definition_event ON workflow.workflow_definition USING btree (((trigger ->> 'event'::text))) WHERE ((retired_at IS NULL) AND ((trigger ->> 'event'::text) IS NOT NULL));

CREATE INDEX workflow_instance_idle ON workflow.workflow_instance USING btree (name, COALESCE(tenant, ''::text), id) WHERE ((state = 'idle'::text) AND (parent_id IS NULL));

CREATE INDEX workflow_command_due ON workflow.workflow_command USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX workflow_run_due ON workflow.workflow_run USING btree ((
CASE status
    WHEN 'leased'::text THEN LEAST(lease_until, timeout_at)
    WHEN 'pending'::text THEN LEAST(
    CASE
        WHEN (deleted_at IS NULL) THEN expires_at
        ELSE NULL::timestamp with time zone
    END, timeout_at)
    ELSE NULL::timestamp with time zone
END)) WHERE (
CASE status
    WHEN 'leased'::text THEN LEAST(lease_until, timeout_at)
    WHEN 'pending'::text THEN LEAST(
    CASE
        WHEN (deleted_at IS NULL) THEN expires_at
        ELSE NULL::timestamp with time zone
    END, timeout_at)
    ELSE NULL::timestamp with time zone
END IS NOT NULL);

CREATE INDEX workflow_instance_due ON workflow.workflow_instance USING btree ((
CASE
    WHEN more THEN '-infinity'::timestamp with time zone
    WHEN (ended_at IS NULL) THEN deadline_at
    ELSE NULL::timestamp with time zone
END)) WHERE (
CASE
    WHEN more THEN '-infinity'::timestamp with time zone
    WHEN (ended_at IS NULL) THEN deadline_at
    ELSE NULL::timestamp with time zone
END IS NOT NULL);

CREATE INDEX idx_workflow_run_type_prefix ON workflow.workflow_run USING btree (type text_pattern_ops) WHERE ((status = 'pending'::text) AND (deleted_at IS NULL));

CREATE UNIQUE INDEX idx_workflow_event_type ON workflow.workflow_event_default USING btree (id);

CREATE INDEX workflow_run_leased ON workflow.workflow_run USING btree (session_id) WHERE ((status = 'leased'::text) IS TRUE);

CREATE INDEX workflow_term_found ON workflow.workflow_term USING btree (term, id);

CREATE INDEX workflow_term_tenant ON workflow.workflow_term USING btree (tenant, term, id) WHERE (tenant IS NOT NULL);

CREATE UNIQUE INDEX workflow_fire_request ON workflow.workflow_fire USING btree (schedule, request_key) WHERE (request_key IS NOT NULL);

CREATE INDEX workflow_cron_tenant ON workflow.workflow_cron USING btree (COALESCE(tenant, ''::text), name);

CREATE INDEX workflow_schedule_live ON workflow.workflow_schedule USING btree (id) WHERE (deleted_at IS NULL);

CREATE INDEX workflow_operation_due ON workflow.workflow_operation USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX workflow_operation_ended ON workflow.workflow_operation USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX workflow_operation_tenant ON workflow.workflow_operation USING btree (tenant, id);

CREATE INDEX workflow_operation_item_state ON workflow.workflow_operation_item USING btree (operation_id, state, item_id);

CREATE INDEX workflow_error_group_last ON workflow.workflow_error_group USING btree (last_at, fingerprint);

CREATE INDEX workflow_error_group_tenant ON workflow.workflow_error_group USING btree (tenant, last_at, fingerprint);

CREATE INDEX workflow_pause_listed ON workflow.workflow_pause USING btree (paused_at, key);

CREATE INDEX workflow_pause_of_tenant ON workflow.workflow_pause USING btree (tenant, paused_at, key) WHERE (tenant IS NOT NULL);

CREATE INDEX workflow_pause_unfinished ON workflow.workflow_pause USING btree (key) WHERE (state <> 'paused'::text);

CREATE INDEX workflow_log_run ON workflow.workflow_log USING btree (run_id, id);

CREATE INDEX workflow_log_instance ON workflow.workflow_log USING btree (instance_id, id) WHERE (instance_id IS NOT NULL);

CREATE INDEX workflow_debounce_due ON workflow.workflow_debounce USING btree (due_at);

CREATE INDEX workflow_sign_in_expires ON workflow.workflow_sign_in USING btree (expires_at);

CREATE INDEX workflow_run_fair ON workflow.workflow_run USING btree (queue, type, priority, fair_key, run_at, id) WHERE ((status = 'pending'::text) AND (deleted_at IS NULL) AND (fair_key IS NOT NULL));

CREATE UNIQUE INDEX workflow_debounce_listed ON workflow.workflow_debounce USING btree (id);

CREATE INDEX workflow_debounce_of_tenant ON workflow.workflow_debounce USING btree (COALESCE(tenant, ''::text), id);

CREATE INDEX workflow_total_minute ON workflow.workflow_total USING btree (minute);

CREATE INDEX workflow_event_audit ON workflow.workflow_event USING btree (id) WHERE ((actor IS NOT NULL) AND (event_type <> ALL (ARRAY['created'::text, 'leased'::text, 'started'::text, 'heartbeat'::text, 'succeeded'::text, 'failed'::text, 'retried'::text, 'returned'::text, 'late_success'::text, 'deferred'::text, 'progress'::text, 'instance.created'::text, 'instance.queued'::text, 'workflow.triggered'::text])));

CREATE INDEX workflow_event_of_actor ON workflow.workflow_event USING btree (actor, id) WHERE ((actor IS NOT NULL) AND (event_type <> ALL (ARRAY['created'::text, 'leased'::text, 'started'::text, 'heartbeat'::text, 'succeeded'::text, 'failed'::text, 'retried'::text, 'returned'::text, 'late_success'::text, 'deferred'::text, 'progress'::text, 'instance.created'::text, 'instance.queued'::text, 'workflow.triggered'::text])));

COMMENT ON INDEX workflow.idx_workflow_event_type IS 'Events by id, in the default partition; the others have their own. The name is one that clients look for.';

COMMENT ON INDEX workflow.idx_workflow_run_type_status IS 'Lists of the inbox, newest first. The name is one that clients look for.';

INSERT INTO workflow.workflow_setting (key, value) VALUES ('registry_version', gen_random_uuid()::text);
