-- Views, triggers and functions are in the files of repeatable/ from here on. Migrations before this one made them, too; the
-- files replace what they made.
--   name      of the file, without .sql
--   revision  the number in its first line
--   checksum  SHA-256 of its text
CREATE TABLE workflow.workflow_repeatable (
  name       text PRIMARY KEY,
  revision   integer NOT NULL,
  checksum   text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

-- Its name is inbox_record_event now.
DROP FUNCTION workflow.inbox_tell(workflow.workflow_run, text, jsonb, text, timestamptz);
