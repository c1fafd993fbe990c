-- Bulk operations: one action on everything that a search finds, carried out item by item.
--   cursor      the last item of the last page of the search; null: no page has been read
--   counted_to  results of items with greater ids are in the counts; those up to it are counted when the row is read
--   pace_at     when the rate admits the next item
--   due_at      when there is something to do; null: it is not running
CREATE TABLE workflow.workflow_operation (
  id          uuid PRIMARY KEY,
  tenant      text,
  actor       text,
  reason      text,
  action      text NOT NULL,
  target      text NOT NULL CHECK (target IN ('instances', 'runs')),
  query       text NOT NULL,
  parameters  json NOT NULL,
  rate        integer,
  state       text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'stopped', 'completed')),
  cursor      text,
  selecting   boolean NOT NULL DEFAULT true,
  matched     integer NOT NULL DEFAULT 0,
  succeeded   integer NOT NULL DEFAULT 0,
  refused     integer NOT NULL DEFAULT 0,
  failed      integer NOT NULL DEFAULT 0,
  counted_to  uuid NOT NULL DEFAULT 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  pace_at     timestamptz,
  due_at      timestamptz,
  reported_at timestamptz,
  created_at  timestamptz NOT NULL,
  ended_at    timestamptz
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

CREATE INDEX workflow_operation_due ON workflow.workflow_operation (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX workflow_operation_ended ON workflow.workflow_operation (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX workflow_operation_tenant ON workflow.workflow_operation (tenant, id);

-- Its items. The row of an item is written by the transaction that performs the action on it.
CREATE TABLE workflow.workflow_operation_item (
  operation_id uuid NOT NULL,
  item_id      uuid NOT NULL,
  state        text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'succeeded', 'refused', 'failed')),
  code         text,
  message      text,
  new_id       uuid,
  taken_at     timestamptz,
  settled_at   timestamptz,
  PRIMARY KEY (operation_id, item_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);

-- What is pending, and lists and counts by result.
CREATE INDEX workflow_operation_item_state ON workflow.workflow_operation_item (operation_id, state, item_id);
