/** What executions log. */
import type { LogLine } from '../../../kernel/log-lines.ts'
import { EXECUTION_LOG_BYTES, type LogPart, type Logs, type NewLogPart, RUN_LOG_BYTES } from '../../../model/logs.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'

const RUN = `SELECT instance_id, attempt FROM workflow_run
  WHERE id = ? AND status = 'leased' AND epoch = ? AND (? IS NULL OR leased_by = ?)`
const NEXT = `SELECT first + json_array_length(lines) FROM workflow_log WHERE run_id = ? AND epoch = ? ORDER BY id DESC LIMIT 1`
const APPEND = `INSERT INTO workflow_log (run_id, instance_id, epoch, attempt, first, bytes, lines, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
/** The first part of each execution, and the newest ones of each execution and of the run, are kept. */
const CUT = `DELETE FROM workflow_log WHERE id IN (
  SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY epoch ORDER BY id) AS place,
      sum(bytes) OVER (PARTITION BY epoch ORDER BY id DESC) AS newer, sum(bytes) OVER (ORDER BY id DESC) AS newer_of_run
    FROM workflow_log WHERE run_id = ?)
  WHERE (place > 1 AND newer > ${EXECUTION_LOG_BYTES}) OR newer_of_run > ${RUN_LOG_BYTES})`
const page = (column: string): string => `SELECT l.id, l.run_id, r.node, r.item, l.attempt, l.epoch, l.first, l.lines
  FROM (SELECT * FROM workflow_log WHERE ${column} = ?1 AND ${column} IS NOT NULL AND id > ?2 AND (?3 IS NULL OR attempt = ?3)
    ORDER BY id LIMIT ?4) l
  LEFT JOIN workflow_run r ON r.id = l.run_id ORDER BY l.id`
const OF_RUN = page('run_id')
const OF_INSTANCE = page('instance_id')

export function logsOn(connection: Connection): Logs {
  return {
    // Nothing remembered about runs changes here. A power cut may lose lines: the disk is not waited for.
    append: (parts) =>
      connection.writeUnsynced(
        () => append(connection, parts),
        () => undefined,
      ),
    read: ({ of, attempt, after, limit }) =>
      connection.readLong((on) =>
        'runId' in of
          ? on.statement(OF_RUN).all(of.runId, after, attempt, limit).map(partOf)
          : on.statement(OF_INSTANCE).all(of.instanceId, after, attempt, limit).map(partOf),
      ),
  }
}

function append(connection: Connection, parts: readonly NewLogPart[]): number {
  const now = readClock(connection)
  const stored = new Set<string>()
  let count = 0
  for (const { runId, epoch, holder, first, lines } of parts) {
    const run = connection.statement(RUN).get(runId, epoch, holder, holder)
    if (run === undefined) continue
    const [instanceId = null, attempt] = run
    const next = first ?? (connection.statement(NEXT).get(runId, epoch)?.[0] as number | undefined) ?? 0
    const text = JSON.stringify(lines)
    const bytes = Buffer.byteLength(text)
    connection.statement(APPEND).run(runId, instanceId, epoch, (attempt as number) + 1, next, bytes, text, now)
    stored.add(runId)
    count++
  }
  for (const runId of stored) connection.statement(CUT).run(runId)
  return count
}

function partOf([id, runId, node, item, attempt, epoch, first, lines]: Cells): LogPart {
  return {
    id: id as number,
    runId: runId as string,
    node: node as string | null,
    item: (item ?? -1) as number,
    attempt: attempt as number,
    epoch: epoch as number,
    first: first as number,
    lines: JSON.parse(lines as string) as readonly LogLine[],
  }
}
