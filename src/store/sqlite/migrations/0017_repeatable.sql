-- Views and triggers are in the files of repeatable/ from here on. Migrations before this one made them, too; the files
-- replace what they made.
--   name      of the file, without .sql
--   revision  the number in its first line
--   checksum  SHA-256 of its text
CREATE TABLE workflow_repeatable (
  name TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;
