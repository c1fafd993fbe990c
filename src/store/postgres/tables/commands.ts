/**
 * Commands: taking, confirming, reading. They are stored in `transact` with the deferral of their run. A take or a
 * confirmation that a power cut loses only causes another publish, so neither waits for the disk.
 */
import {
  type CommandRow,
  type Commands,
  keptOf,
  MOST_REFUSED,
  PAUSED_HOLD_MS,
  type Refused,
  type RefusedRow,
} from '../../../model/commands.ts'
import { COMMAND, decoder, type Table } from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { uuidArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { isUuid } from '../connection/uuid.ts'

type OfRun = Pick<CommandRow, 'tenant' | 'node' | 'role'>

const OF_RUN: Table<OfRun> = {
  name: 'workflow.workflow_run',
  columns: (['tenant', 'node', 'role'] as const).map((key) => ({ key, name: key, kind: 'text', absent: null })),
}
const CELLS = [
  ...COMMAND.columns.map(({ name }) => `c.${name}`),
  ...OF_RUN.columns.map(({ name }) => `r.${name}`),
].join(', ')

/**
 * $1 limit, $2 hold in ms. Locks only commands, and waits for no lock: settles lock runs and then store commands. A run
 * is read as it was when the statement began, a command as it is once locked; one that is newer than its run (its epoch
 * is greater) was stored in between and stays due. One that was answered before it was confirmed has been published:
 * see commands.ts. A command of a paused instance is not taken, and is due again much later or at the resume.
 */
const TAKE = statement(
  `WITH clock AS MATERIALIZED (SELECT workflow.clock() AS at),
   due AS MATERIALIZED (
     SELECT c.run_id, c.due_at AS was FROM workflow.workflow_command c
     WHERE c.due_at <= (SELECT at FROM clock) ORDER BY c.due_at LIMIT $1::int4 FOR UPDATE SKIP LOCKED
   ), held AS (
     UPDATE workflow.workflow_command c SET due_at =
       CASE WHEN r.status = 'leased' AND r.epoch = c.epoch
            THEN (SELECT at FROM clock) + make_interval(secs => CASE WHEN root.paused IS NULL THEN $2::float8 ELSE ${PAUSED_HOLD_MS} END / 1000) END,
       published_at = coalesce(c.published_at,
         CASE WHEN r.status IN ('succeeded', 'failed') AND NOT r.unknown_outcome AND c.due_at > c.created_at
                   AND coalesce(r.error ->> 'code', '') NOT LIKE 'command\\_%' THEN r.finished_at END)
     FROM due d LEFT JOIN workflow.workflow_run r ON r.id = d.run_id
       LEFT JOIN workflow.workflow_instance root ON root.id = r.root_id
     WHERE c.run_id = d.run_id AND (r.id IS NULL OR c.epoch <= r.epoch)
     RETURNING ${CELLS}, root.paused IS NOT NULL AS paused, d.was
   )
   SELECT * FROM held ORDER BY was`,
)
/** Locked in the order of their ids, as a settle stores them. */
const CONFIRM = statement(
  `WITH held AS MATERIALIZED (
     SELECT c.run_id FROM workflow.workflow_command c WHERE c.run_id = ANY ($1::uuid[]) ORDER BY c.run_id FOR UPDATE
   ), clock AS MATERIALIZED (SELECT workflow.clock() AS at)
   UPDATE workflow.workflow_command c SET published_at = k.at, publishes = c.publishes + 1,
     due_at = CASE WHEN c.due_at IS NOT NULL THEN k.at + make_interval(secs => c.resend_ms / 1000.0) END
   FROM held h, clock k WHERE c.run_id = h.run_id`,
)
/** Commands that are being taken, confirmed or stored at this moment do not need it. */
const RENEW = statement(
  `WITH clock AS MATERIALIZED (SELECT workflow.clock() AS at), held AS MATERIALIZED (
     SELECT c.run_id FROM workflow.workflow_command c
     WHERE c.due_at > (SELECT at FROM clock) AND c.published_at IS NOT NULL FOR UPDATE SKIP LOCKED
   )
   UPDATE workflow.workflow_command c SET due_at = k.at FROM held h, clock k WHERE c.run_id = h.run_id`,
)
const NEXT_DUE = statement(
  'SELECT c.due_at FROM workflow.workflow_command c WHERE c.due_at IS NOT NULL ORDER BY c.due_at LIMIT 1',
)
const READ = `SELECT ${CELLS} FROM workflow.workflow_command c JOIN workflow.workflow_run r ON r.id = c.run_id`
const OF = statement(`${READ} WHERE c.run_id = ANY ($1::uuid[]) ORDER BY c.run_id`)
const OF_INSTANCE = statement(`${READ} WHERE r.instance_id = $1::uuid ORDER BY r.created_at, r.id`)

const NOTE = statement(
  `WITH noted AS (
     INSERT INTO workflow.workflow_refused (at, subject, code, message, instance_id, step_id, body)
     VALUES (workflow.clock(), $1, $2, $3, $4, $5, $6) RETURNING id
   )
   DELETE FROM workflow.workflow_refused r USING noted n WHERE r.id <= n.id - ${MOST_REFUSED}`,
)
const LIST = statement(
  `SELECT id, at, subject, code, message, instance_id, step_id, body FROM workflow.workflow_refused
   WHERE $1::bigint IS NULL OR id < $1::bigint ORDER BY id DESC LIMIT $2::int4`,
)

const IS_PAUSED = COMMAND.columns.length + OF_RUN.columns.length

const ownCells = decoder(COMMAND)
const runCells = decoder(OF_RUN)

function commandFrom(fields: Fields): CommandRow {
  return { ...ownCells(fields), ...runCells(fields, COMMAND.columns.length) }
}

export function commandsOn({ reads, signals }: { readonly reads: Lanes; readonly signals: Lanes }): Commands {
  return {
    take: async ({ limit, holdMs }) => {
      const taken: CommandRow[] = []
      for (;;) {
        const wanted = limit - taken.length
        const values = [String(wanted), String(holdMs)]
        const row = (fields: Fields) => ({ command: commandFrom(fields), paused: fields[IS_PAUSED] === 't' })
        const looked = await ask(signals, { statement: TAKE, values, row })
        for (const { command, paused } of looked) if (command.dueAt !== null && !paused) taken.push(command)
        // Commands answered meanwhile must not hide the pending ones behind them.
        if (looked.length < wanted || taken.length >= limit) return taken
      }
    },
    confirm: async ({ runIds }) => {
      if (runIds.length > 0) await ask(signals, { statement: CONFIRM, values: [uuidArray(runIds)], row: () => null })
    },
    renew: async () => {
      await ask(signals, { statement: RENEW, values: [], row: () => null })
    },
    nextDueAt: () => askOne(reads, { statement: NEXT_DUE, row: ([at]) => parseTime(at as string) }),
    of: async ({ runIds }) => {
      const ids = runIds.filter(isUuid)
      return ids.length === 0 ? [] : ask(reads, { statement: OF, values: [uuidArray(ids)], row: commandFrom })
    },
    ofInstance: async ({ instanceId }) =>
      isUuid(instanceId) ? ask(reads, { statement: OF_INSTANCE, values: [instanceId], row: commandFrom }) : [],
    refused: refusedOn(reads),
  }
}

function refusedOn(lanes: Lanes): Refused {
  return {
    note: async (message) => {
      const { subject, code, message: text, instanceId, stepId, body } = keptOf(message)
      await ask(lanes, { statement: NOTE, values: [subject, code, text, instanceId, stepId, body], row: () => null })
    },
    list: ({ limit, before }) =>
      ask(lanes, {
        statement: LIST,
        values: [before === null ? null : String(before), String(limit)],
        row: refusedFrom,
      }),
  }
}

function refusedFrom(fields: Fields): RefusedRow {
  const [id, at, subject, code, message, instanceId, stepId, body] = fields as readonly string[]
  return {
    id: Number(id),
    at: parseTime(at as string),
    subject: subject as string,
    code: code as string,
    message: message as string,
    instanceId: instanceId ?? null,
    stepId: stepId ?? null,
    body: body as string,
  }
}
