-- Bulk operations: one action on everything that a search finds, carried out item by item.
--   cursor      the last item of the last page of the search; null: no page has been read
--   counted_to  results of items with greater ids are in the counts; those up to it are counted when the row is read
--   pace_at     when the rate admits the next item
--   due_at      when there is something to do; null: it is not running
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

-- Its items. The row of an item is written by the transaction that performs the action on it.
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

-- What is pending, and lists and counts by result.
CREATE INDEX idx_workflow_operation_item_state ON workflow_operation_item (operation_id, state, item_id);
