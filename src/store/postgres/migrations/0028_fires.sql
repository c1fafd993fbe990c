-- What schedules did: a row for each time that a schedule fired or was skipped, and for each run on request. The transaction
-- that makes the run or the instance writes it. The latest thousand rows of a schedule are kept, so retention has none to find.
CREATE TABLE workflow.workflow_fire (
  schedule    text NOT NULL,
  id          uuid NOT NULL,
  planned_at  timestamptz,
  fired_at    timestamptz NOT NULL,
  made        text CHECK (made IN ('run', 'instance')),
  made_id     uuid,
  made_count  integer NOT NULL DEFAULT 0,
  skipped     text CHECK (skipped IN ('overlap', 'refused')),
  reason      text,
  actor       text,
  request_key text,
  PRIMARY KEY (schedule, id)
);

CREATE UNIQUE INDEX workflow_fire_request ON workflow.workflow_fire (schedule, request_key) WHERE request_key IS NOT NULL;

-- Pages of all schedules: those of a tenant by name, and those of the inbox that are not removed.
CREATE INDEX workflow_cron_tenant ON workflow.workflow_cron (coalesce(tenant, ''), name);
CREATE INDEX workflow_schedule_live ON workflow.workflow_schedule (id) WHERE deleted_at IS NULL;
