-- Revision 1.
-- The store's clock, for SQL: lease_until = (SELECT now FROM workflow_clock) + 30000.

CREATE VIEW workflow_clock AS
SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + coalesce(
  (SELECT CAST(value AS INTEGER) FROM workflow_setting WHERE key = 'clock_offset_ms'), 0) AS now;
