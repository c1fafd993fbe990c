-- What people have done, newest first. What starts and workers write is left out, as many events as there is work
-- (src/model/queries/audit.ts): runs that nobody touches write nothing to these indexes.
CREATE INDEX workflow_event_audit ON workflow.workflow_event (id)
  WHERE actor IS NOT NULL AND event_type <> ALL (ARRAY['created', 'leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'returned', 'late_success', 'deferred', 'progress', 'instance.created', 'instance.queued', 'workflow.triggered']);
CREATE INDEX workflow_event_of_actor ON workflow.workflow_event (actor, id)
  WHERE actor IS NOT NULL AND event_type <> ALL (ARRAY['created', 'leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'returned', 'late_success', 'deferred', 'progress', 'instance.created', 'instance.queued', 'workflow.triggered']);
