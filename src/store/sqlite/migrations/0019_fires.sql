-- What schedules did: a row for each time that a schedule fired or was skipped, and for each run on request. The transaction
-- that makes the run or the instance writes it. The latest thousand rows of a schedule are kept, so retention has none to find.
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

-- Pages of all schedules: those of a tenant by name, and those of the inbox that are not removed.
CREATE INDEX idx_workflow_cron_tenant ON workflow_cron (coalesce(tenant, ''), name);
CREATE INDEX idx_workflow_schedule_live ON workflow_schedule (id) WHERE deleted_at IS NULL;
