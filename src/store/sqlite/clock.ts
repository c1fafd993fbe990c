/**
 * The store's clock: the machine's, plus an offset stored in the file so that every process on it has the same time.
 */
import type { Connection } from './connection.ts'
import type { Reading } from './long-reads.ts'

const KEY = 'clock_offset_ms'

export function readClock(on: Reading): number {
  return (on.beganAt ?? Date.now()) + readOffset(on)
}

/** Under the write lock, where the memory of the file can be trusted. */
export function recentClock(connection: Connection): number {
  connection.recent.clockOffsetMs ??= readOffset(connection)
  return Date.now() + connection.recent.clockOffsetMs
}

function readOffset(on: Reading): number {
  const offset = on.statement(`SELECT value FROM workflow_setting WHERE key = '${KEY}'`).get()
  return offset === undefined ? 0 : Number(offset[0])
}

export function writeOffset(connection: Connection, offsetMs: number): void {
  connection
    .statement(`INSERT INTO workflow_setting (key, value) VALUES ('${KEY}', ?)
                ON CONFLICT (key) DO UPDATE SET value = excluded.value`)
    .get(String(offsetMs))
}
