/**
 * Commands: taking, confirming, reading. They are stored in `transact` with the deferral of their run. A take or a
 * confirmation that a power cut loses only causes another publish, so neither waits for the disk.
 */
import {
  COMMAND,
  type CommandRow,
  type Commands,
  keptOf,
  MOST_REFUSED,
  type NewCommand,
  PAUSED_HOLD_MS,
  type Refused,
  type RefusedRow,
} from '../../../model/commands.ts'
import type { RunRole } from '../../../model/rows.ts'
import { table, text } from '../../../model/table.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'
import { namesOf, rowReader } from '../row/reader.ts'
import { storable } from '../row/writer.ts'

const WITH_RUN = table('workflow_command', {
  ...COMMAND.fields,
  tenant: text().orNull(),
  node: text(),
  role: text<RunRole>(),
})
const commandOf = rowReader(WITH_RUN)
const READ = `SELECT ${namesOf(COMMAND)
  .map((name) => `c.${name}`)
  .join(', ')}, r.tenant, r.node, r.role FROM workflow_command c JOIN workflow_run r ON r.id = c.run_id`
const ANY_DUE = 'SELECT 1 FROM workflow_command WHERE due_at IS NOT NULL AND due_at <= ? LIMIT 1'
const DUE = `SELECT c.run_id, r.status = 'leased' AND r.epoch = c.epoch, root.paused IS NOT NULL
  FROM workflow_command c LEFT JOIN workflow_run r ON r.id = c.run_id LEFT JOIN workflow_instance root ON root.id = r.root_id
  WHERE c.due_at IS NOT NULL AND c.due_at <= ? ORDER BY c.due_at LIMIT ?`
const HOLD = 'UPDATE workflow_command SET due_at = ? WHERE run_id = ?'
/** Answered before it was confirmed: see commands.ts. */
const REST = `UPDATE workflow_command AS c SET due_at = NULL, published_at = coalesce(published_at, (
    SELECT r.finished_at FROM workflow_run r WHERE r.id = c.run_id AND c.due_at > c.created_at
      AND r.status IN ('succeeded', 'failed') AND NOT r.unknown_outcome
      AND coalesce(r.error ->> '$.code', '') NOT LIKE 'command\\_%' ESCAPE '\\'))
  WHERE run_id = ?`
const CONFIRM = `UPDATE workflow_command SET published_at = ?1, publishes = publishes + 1,
  due_at = iif(due_at IS NULL, NULL, ?1 + resend_ms) WHERE run_id = ?2`
const RENEW = 'UPDATE workflow_command SET due_at = ?1 WHERE due_at > ?1 AND published_at IS NOT NULL'
const NEXT_DUE = 'SELECT min(due_at) FROM workflow_command WHERE due_at IS NOT NULL'
const ONE = `${READ} WHERE c.run_id = ?`
const OF_INSTANCE = `${READ} WHERE r.instance_id = ? ORDER BY r.created_at, r.id`
const PUT = `INSERT INTO workflow_command (run_id, instance_id, epoch, subject, body, resend_ms, created_at, due_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
  ON CONFLICT (run_id) DO UPDATE SET instance_id = excluded.instance_id, epoch = excluded.epoch, subject = excluded.subject,
    body = excluded.body, resend_ms = excluded.resend_ms, created_at = excluded.created_at, published_at = NULL,
    publishes = 0, due_at = excluded.due_at`

const NOTE = `INSERT INTO workflow_refused (at, subject, code, message, instance_id, step_id, body)
  VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`
const FORGET = 'DELETE FROM workflow_refused WHERE id <= ?'
const LIST = `SELECT id, at, subject, code, message, instance_id, step_id, body FROM workflow_refused
  WHERE ?1 IS NULL OR id < ?1 ORDER BY id DESC LIMIT ?2`

export function commandsOn(connection: Connection): Commands {
  const one = (runId: string): CommandRow[] => connection.statement(ONE).all(runId).map(commandOf)
  return {
    take: (params) => take(connection, params),
    confirm: async ({ runIds }) => {
      if (runIds.length === 0) return
      const work = (): void => {
        const now = readClock(connection)
        for (const runId of runIds) connection.statement(CONFIRM).get(now, runId)
      }
      await connection.writeUnsynced(work, () => undefined)
    },
    renew: async () => {
      const work = (): void => void connection.statement(RENEW).get(readClock(connection))
      await connection.writeUnsynced(work, () => undefined)
    },
    nextDueAt: () => connection.read(() => (connection.statement(NEXT_DUE).get()?.[0] ?? null) as number | null),
    of: ({ runIds }) => connection.read(() => runIds.flatMap(one)),
    ofInstance: ({ instanceId }) =>
      connection.read(() => connection.statement(OF_INSTANCE).all(instanceId).map(commandOf)),
    refused: refusedOn(connection),
  }
}

/** Inside a transaction. Due at once; a command for a run is new even if the run had one before. */
export function putCommand(connection: Connection, row: NewCommand): void {
  connection
    .statement(PUT)
    .get(
      row.runId,
      row.instanceId,
      row.epoch,
      storable(row.subject, 'subject'),
      storable(row.body, 'body'),
      row.resendMs,
      row.createdAt,
    )
}

/** Writes only when a command is due: a look needs no commit. */
async function take(
  connection: Connection,
  { limit, holdMs }: { readonly limit: number; readonly holdMs: number },
): Promise<readonly CommandRow[]> {
  const due = await connection.read(() => connection.statement(ANY_DUE).get(readClock(connection)) !== undefined)
  if (!due) return []
  return connection.writeUnsynced(
    () => {
      const now = readClock(connection)
      const taken: CommandRow[] = []
      // Commands answered meanwhile must not hide the pending ones behind them.
      for (;;) {
        const wanted = limit - taken.length
        const looked = connection.statement(DUE).all(now, wanted)
        for (const [runId, alive, paused] of looked) {
          if (alive !== 1) {
            connection.statement(REST).get(runId as string)
            continue
          }
          connection.statement(HOLD).get(now + (paused === 1 ? PAUSED_HOLD_MS : holdMs), runId as string)
          if (paused === 1) continue
          taken.push(commandOf(connection.statement(ONE).get(runId as string) as Cells))
        }
        if (looked.length < wanted || taken.length >= limit) return taken
      }
    },
    () => undefined,
  )
}

function refusedOn(connection: Connection): Refused {
  return {
    note: (given) =>
      connection.write(
        () => {
          const { subject, code, message, instanceId, stepId, body } = keptOf(given)
          const now = readClock(connection)
          const noted = connection.statement(NOTE).get(now, subject, code, message, instanceId, stepId, body) as Cells
          connection.statement(FORGET).get((noted[0] as number) - MOST_REFUSED)
        },
        () => undefined,
      ),
    list: ({ limit, before }) => connection.read(() => connection.statement(LIST).all(before, limit).map(refusedOf)),
  }
}

function refusedOf(cells: Cells): RefusedRow {
  return {
    id: cells[0] as number,
    at: cells[1] as number,
    subject: cells[2] as string,
    code: cells[3] as string,
    message: cells[4] as string,
    instanceId: cells[5] as string | null,
    stepId: cells[6] as string | null,
    body: cells[7] as string,
  }
}
