/** The history of runs, many at a time. */
import { LEASE_LOST_CODES, type RunError, type StoredEvent } from '../../../model/rows.ts'
import { ALWAYS_BYTES, BRIEF_ERROR_CHARACTERS, EVENT_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import { ask } from '../connection/ask.ts'
import { textArray, uuidArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { isUuid } from '../connection/uuid.ts'
import { jsonBytes, shownJson } from '../shown.ts'
import { eventFrom } from './event.ts'

/** An open lease is placed after the stored events, a derived `created` before them. */
const IN_ORDER = `date_trunc('milliseconds', h.created_at), coalesce(h.event_id, h.part * 9007199254740991), h.part`
const BYTES = jsonBytes('h.data')
const columns = (isShown: string): string =>
  `coalesce(h.event_id, 0), h.workflow_id, h.instance_id, h.seq, h.event_type, h.node, h.actor, h.tenant,
   ${shownJson('h.data', isShown)}, h.created_at`

const HISTORIES = statement(
  `SELECT ${columns(`${BYTES} <= ${EVENT_BYTES}`)}
   FROM workflow.workflow_history h WHERE h.workflow_id = ANY ($1::uuid[]) ORDER BY h.workflow_id, ${IN_ORDER}`,
)

/** An event that is too long by itself leaves its room to the others. */
const PAGE = statement(
  `SELECT ${columns(`h.bytes <= ${ALWAYS_BYTES} OR (h.bytes <= ${EVENT_BYTES} AND h.shown_size <= ${PAGE_BYTES})`)} FROM (
     SELECT h.*, sum(CASE WHEN h.bytes <= ${EVENT_BYTES} THEN h.bytes ELSE 0 END)
       OVER (ORDER BY ${IN_ORDER} ROWS UNBOUNDED PRECEDING) AS shown_size FROM (
       SELECT h.*, ${BYTES} AS bytes FROM workflow.workflow_history h WHERE h.workflow_id = $1::uuid
       ORDER BY ${IN_ORDER} LIMIT $2::int OFFSET $3::int) h) h
   ORDER BY ${IN_ORDER}`,
)

const BRIEF = `jsonb_build_object('code', coalesce(e.error ->> 'code', 'error'),
  'message', left(coalesce(e.error ->> 'message', ''), ${BRIEF_ERROR_CHARACTERS}),
  'details', jsonb_build_object('$omitted', jsonb_build_object('bytes', octet_length(e.error::text))))`
/** Along the index of a run's events, newest first, back to its last redrive. */
const ERRORS = statement(
  `SELECT e.run, e.created_at, e.event_type, e.attempt,
     CASE WHEN e.shown_size <= ${PAGE_BYTES} OR e.bytes <= ${ALWAYS_BYTES} THEN e.error ELSE ${BRIEF} END, e.run_at
   FROM (
     SELECT n.id AS run, e.*, sum(e.bytes) OVER (ORDER BY n.place, e.id DESC ROWS UNBOUNDED PRECEDING) AS shown_size
     FROM unnest($1::uuid[]) WITH ORDINALITY n(id, place) CROSS JOIN LATERAL (
       SELECT e.id, e.created_at, e.event_type, e.data ->> 'attempt' AS attempt, e.data -> 'error' AS error,
         e.data ->> 'run_at' AS run_at, ${jsonBytes("(e.data -> 'error')")} AS bytes
       FROM workflow.workflow_event e
       WHERE e.workflow_id = n.id AND e.engine AND e.data ? 'error' AND e.id > coalesce((
         SELECT max(d.id) FROM workflow.workflow_event d WHERE d.workflow_id = n.id AND d.event_type = 'redriven'), 0)
       ORDER BY e.id DESC LIMIT $2::int) e) e
   ORDER BY e.id`,
)

const LOST = statement(
  `SELECT n.id FROM unnest($1::uuid[]) n(id) WHERE EXISTS (
     SELECT FROM workflow.workflow_event e
     WHERE e.workflow_id = n.id AND e.engine AND e.data #>> '{error,code}' = ANY ($2::text[]))`,
)

export async function leasesLost(lanes: Lanes, runIds: readonly string[]): Promise<ReadonlySet<string>> {
  const ids = runIds.filter(isUuid)
  if (ids.length === 0) return new Set()
  const row = (fields: Fields): string => fields[0] as string
  return new Set(await ask(lanes, { statement: LOST, values: [uuidArray(ids), textArray(LEASE_LOST_CODES)], row }))
}

export async function histories(
  lanes: Lanes,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, readonly StoredEvent[]>> {
  const found = new Map<string, StoredEvent[]>()
  const ids = runIds.filter(isUuid)
  if (ids.length === 0) return found
  for (const event of await ask(lanes, { statement: HISTORIES, values: [uuidArray(ids)], row: eventFrom })) {
    put(found, event.runId as string, event)
  }
  return found
}

export async function historyPage(
  lanes: Lanes,
  { runId, after, limit }: { readonly runId: string; readonly after: number; readonly limit: number },
): Promise<readonly StoredEvent[]> {
  if (!isUuid(runId)) return []
  return ask(lanes, { statement: PAGE, values: [runId, String(limit), String(after)], row: eventFrom })
}

export async function errorsOf(
  lanes: Lanes,
  params: { readonly runIds: readonly string[]; readonly limit: number },
): Promise<ReadonlyMap<string, readonly RunError[]>> {
  const found = new Map<string, RunError[]>()
  const ids = params.runIds.filter(isUuid)
  if (ids.length === 0) return found
  const row = (fields: Fields): void => put(found, fields[0] as string, errorFrom(fields))
  await ask(lanes, { statement: ERRORS, values: [uuidArray(ids), String(params.limit)], row })
  return found
}

function errorFrom(fields: Fields): RunError {
  return {
    at: parseTime(fields[1] as string),
    type: fields[2] as string,
    attempt: fields[3] === null ? null : Number(fields[3]),
    error: fields[4] as string,
    runAt: fields[5] ? Date.parse(fields[5]) : null,
  }
}

function put<T>(into: Map<string, T[]>, key: string, value: T): void {
  const list = into.get(key)
  if (list === undefined) into.set(key, [value])
  else list.push(value)
}
