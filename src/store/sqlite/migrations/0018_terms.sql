-- What instances and runs are found by besides their columns: tags, members of metadata and input, codes of failures. Rows are
-- only written where there is such data, by the transaction that creates the instance or the run, or that records the failure.
--   term    i: (of an instance) or r: (of a run), the field, a colon and the value: i:tag:eu
CREATE TABLE workflow_term (
  id TEXT NOT NULL,
  term TEXT NOT NULL,
  tenant TEXT,
  PRIMARY KEY (id, term)
) STRICT, WITHOUT ROWID;

-- The newest first.
CREATE INDEX idx_workflow_term_found ON workflow_term (term, id);
-- A tenant walks only over its own.
CREATE INDEX idx_workflow_term_tenant ON workflow_term (tenant, term, id) WHERE tenant IS NOT NULL;

-- Tags of a definition, from its text and from its deployment: a JSON list of texts. NULL: none.
ALTER TABLE workflow_definition ADD COLUMN tags TEXT CHECK (tags IS NULL OR json_valid(tags));
