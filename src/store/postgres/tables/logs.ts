/** What executions log. */
import type { LogLine } from '../../../kernel/log-lines.ts'
import {
  EXECUTION_LOG_BYTES,
  type LogPart,
  type LogQuery,
  type Logs,
  type NewLogPart,
  RUN_LOG_BYTES,
} from '../../../model/logs.ts'
import { ask } from '../connection/ask.ts'
import { uuidArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, type Statement, statement } from '../connection/statement.ts'
import { isUuid } from '../connection/uuid.ts'
import { PROBES } from '../read/trees.ts'

/** Sent again after a lost connection, parts with numbers are stored once. No lock: a part that is written while its lease ends belongs to the execution that has just ended. */
const APPEND = statement(
  `INSERT INTO workflow.workflow_log (run_id, instance_id, epoch, attempt, first, bytes, lines, created_at)
   SELECT r.id, r.instance_id, r.epoch, r.attempt + 1, coalesce((p.part ->> 'first')::int, (
       SELECT l.first + json_array_length(l.lines) FROM workflow.workflow_log l
       WHERE l.run_id = r.id AND l.epoch = r.epoch ORDER BY l.run_id DESC, l.id DESC LIMIT 1), 0),
     octet_length(p.part ->> 'lines'), p.part -> 'lines', workflow.clock()
   FROM json_array_elements($1::json) WITH ORDINALITY p(part, place)
   JOIN workflow.workflow_run r ON r.id = (p.part ->> 'runId')::uuid
   WHERE r.status = 'leased' AND r.epoch = (p.part ->> 'epoch')::int
     AND (p.part ->> 'holder' IS NULL OR r.leased_by = p.part ->> 'holder')
     AND (p.part ->> 'first' IS NULL OR NOT EXISTS (
       SELECT FROM workflow.workflow_log l
       WHERE l.run_id = r.id AND l.epoch = r.epoch AND l.first >= (p.part ->> 'first')::int))
   ORDER BY p.place
   RETURNING run_id`,
)
/** The first part of each execution, and the newest ones of each execution and of the run, are kept. */
const CUT = statement(
  `DELETE FROM workflow.workflow_log d WHERE d.id IN (
     SELECT l.id FROM (
       SELECT l.id, row_number() OVER (PARTITION BY l.run_id, l.epoch ORDER BY l.id) AS place,
         sum(l.bytes) OVER (PARTITION BY l.run_id, l.epoch ORDER BY l.id DESC) AS newer,
         sum(l.bytes) OVER (PARTITION BY l.run_id ORDER BY l.id DESC) AS newer_of_run
       FROM workflow.workflow_log l WHERE l.run_id = ANY ($1::uuid[])) l
     WHERE (l.place > 1 AND l.newer > ${EXECUTION_LOG_BYTES}) OR l.newer_of_run > ${RUN_LOG_BYTES})`,
)
const page = (condition: string): Statement =>
  statement(
    `SELECT l.id, l.run_id, r.node, r.item, l.attempt, l.epoch, l.first, l.lines FROM (
       SELECT * FROM workflow.workflow_log l
       WHERE ${condition} AND l.id > $2::bigint AND ($3::int IS NULL OR l.attempt = $3::int)
       ORDER BY l.id LIMIT $4::int) l
     LEFT JOIN workflow.workflow_run r ON r.id = l.run_id ORDER BY l.id`,
  )
const OF_RUN = page('l.run_id = $1::uuid')
const OF_INSTANCE = page('l.instance_id = $1::uuid AND l.instance_id IS NOT NULL')

export function logsOn(lanes: Lanes): Logs {
  return {
    append: (parts) => append(lanes, parts),
    read: ({ of, attempt, after, limit }: LogQuery) => {
      const id = 'runId' in of ? of.runId : of.instanceId
      if (!isUuid(id)) return Promise.resolve([])
      const values = [id, String(after), attempt === null ? null : String(attempt), String(limit)]
      return ask(lanes, { statement: 'runId' in of ? OF_RUN : OF_INSTANCE, settings: PROBES, values, row: partFrom })
    },
  }
}

async function append(lanes: Lanes, parts: readonly NewLogPart[]): Promise<number> {
  const values = [JSON.stringify(parts.filter(({ runId }) => isUuid(runId)))]
  const stored = await ask(lanes, { statement: APPEND, values, row: ([run]) => run as string })
  if (stored.length === 0) return 0
  await ask(lanes, { statement: CUT, values: [uuidArray([...new Set(stored)])], row: () => null })
  return stored.length
}

function partFrom([id, runId, node, item, attempt, epoch, first, lines]: Fields): LogPart {
  return {
    id: Number(id),
    runId: runId as string,
    node: node as string | null,
    item: Number(item ?? -1),
    attempt: Number(attempt),
    epoch: Number(epoch),
    first: Number(first),
    lines: JSON.parse(lines as string) as readonly LogLine[],
  }
}
