/** Pages of events, which are also bounded in bytes. */
import type { StoredEvent } from '../../../model/rows.ts'
import { EVENT_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import type { Value } from '../driver.ts'
import type { Reading } from '../long-reads.ts'
import { EVENT_CELLS, eventOf } from '../row/others.ts'

const BYTES = `min(coalesce(octet_length(data), 0), ${EVENT_BYTES}) + 200`
const CUT_AT = 10

/**
 * The first of the events that `select` returns, as many as fit in a page; at least one. `cut`: some were left for the
 * next page.
 */
export function eventsWithin(
  connection: Reading,
  select: string,
  order: string,
  ...values: readonly Value[]
): { readonly events: readonly StoredEvent[]; readonly cut: boolean } {
  const sql = `SELECT ${EVENT_CELLS}, shown < found FROM (
    SELECT *, count(*) OVER () AS found, count(*) FILTER (WHERE before < ${PAGE_BYTES}) OVER () AS shown FROM (
      SELECT *, sum(${BYTES}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) - (${BYTES}) AS before FROM (${select})))
    WHERE before < ${PAGE_BYTES} ORDER BY ${order}`
  const cells = connection.statement(sql).all(...values)
  return { events: cells.map(eventOf), cut: cells.at(-1)?.[CUT_AT] === 1 }
}
