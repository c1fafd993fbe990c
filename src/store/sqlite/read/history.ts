/** The history of runs, many at a time. */
import { LEASE_LOST_CODES, type RunError, type StoredEvent } from '../../../model/rows.ts'
import { ALWAYS_BYTES, BRIEF_ERROR_CHARACTERS, EVENT_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import type { Reading } from '../long-reads.ts'
import { eventOf } from '../row/narrow-rows.ts'
import { shownJson } from '../shown.ts'

/** An open lease is placed after the stored events, a derived `created` before them. */
const IN_ORDER = 'created_at, coalesce(event_id, part * 9007199254740991), part'
const historyCells = (isShown: string): string =>
  `coalesce(event_id, 0), workflow_id, instance_id, seq, event_type, node, actor, tenant, ${shownJson('data', isShown)}, created_at`

export const HISTORY = `SELECT ${historyCells(`octet_length(data) <= ${EVENT_BYTES}`)}
  FROM workflow_history WHERE workflow_id = ? ORDER BY ${IN_ORDER}`

/** An event that is too long by itself leaves its room to the others. */
const SIZE = `iif(octet_length(data) <= ${EVENT_BYTES}, octet_length(data), 0)`
const FITS = `octet_length(data) <= ${ALWAYS_BYTES} OR (octet_length(data) <= ${EVENT_BYTES} AND shown_size <= ${PAGE_BYTES})`
export const HISTORY_PAGE = `SELECT ${historyCells(FITS)}
  FROM (SELECT *, sum(${SIZE}) OVER (ORDER BY ${IN_ORDER} ROWS UNBOUNDED PRECEDING) AS shown_size FROM (
    SELECT * FROM workflow_history WHERE workflow_id = ? ORDER BY ${IN_ORDER} LIMIT ? OFFSET ?))
  ORDER BY ${IN_ORDER}`

const BRIEF = `json_object('code', coalesce(error ->> '$.code', 'error'),
  'message', substr(coalesce(error ->> '$.message', ''), 1, ${BRIEF_ERROR_CHARACTERS}),
  'details', json_object('$omitted', json_object('bytes', octet_length(error))))`
/** Along the index of a run's events, newest first, back to its last redrive. */
const ERRORS = `SELECT created_at, event_type, attempt,
    iif(shown_size <= ?3 OR octet_length(error) <= ${ALWAYS_BYTES}, error, ${BRIEF}), run_at
  FROM (SELECT *, sum(octet_length(error)) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS shown_size FROM (
    SELECT id, created_at, event_type, data ->> '$.attempt' AS attempt, data -> '$.error' AS error, data ->> '$.run_at' AS run_at
    FROM workflow_event WHERE workflow_id = ?1 AND engine = 1 AND data -> '$.error' IS NOT NULL AND id > coalesce(
      (SELECT max(id) FROM workflow_event WHERE workflow_id = ?1 AND event_type = 'redriven'), 0)
    ORDER BY id DESC LIMIT ?2))
  ORDER BY id DESC`

export function histories(connection: Reading, runIds: readonly string[]): Map<string, readonly StoredEvent[]> {
  const found = new Map<string, readonly StoredEvent[]>()
  for (const id of runIds) {
    const events = connection.statement(HISTORY).all(id).map(eventOf)
    if (events.length > 0) found.set(id, events)
  }
  return found
}

const LOST = `SELECT 1 FROM workflow_event WHERE workflow_id = ? AND engine = 1
  AND data ->> '$.error.code' IN (${LEASE_LOST_CODES.map((code) => `'${code}'`).join(', ')}) LIMIT 1`

export function leasesLost(connection: Reading, runIds: readonly string[]): Set<string> {
  return new Set(runIds.filter((id) => connection.statement(LOST).get(id) !== undefined))
}

export function errorsOf(
  connection: Reading,
  { runIds, limit }: { readonly runIds: readonly string[]; readonly limit: number },
): Map<string, readonly RunError[]> {
  const found = new Map<string, readonly RunError[]>()
  let left = PAGE_BYTES
  for (const id of runIds) {
    const errors = connection
      .statement(ERRORS)
      .all(id, limit, left)
      .map(
        ([at, type, attempt, error, runAt]): RunError => ({
          at: at as number,
          type: type as string,
          attempt: attempt as number | null,
          error: error as string,
          runAt: runAt === null ? null : Date.parse(runAt as string),
        }),
      )
    for (const { error } of errors) left -= Buffer.byteLength(error)
    if (errors.length > 0) found.set(id, errors.reverse())
  }
  return found
}
