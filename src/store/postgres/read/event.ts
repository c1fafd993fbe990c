/** Stored events as rows. */
import type { StoredEvent } from '../../../model/rows.ts'
import { EVENT_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import { decoder, EVENT } from '../columns.ts'
import type { Fields } from '../connection/statement.ts'
import { jsonBytes, shownJson } from '../shown.ts'

/** The id, then the columns of an EventRow. Data beyond its bound is a marker. */
export const EVENT_COLUMNS = `e.id, ${EVENT.columns
  .map(({ name }) => (name === 'data' ? shownJson('e.data', `${jsonBytes('e.data')} <= ${EVENT_BYTES}`) : `e.${name}`))
  .join(', ')}`

const bodyFrom = decoder(EVENT)
const CUT_AT = EVENT.columns.length + 1

export function eventFrom(fields: Fields): StoredEvent {
  return { id: Number(fields[0]), ...bodyFrom(fields, 1) }
}

/**
 * The first of the events that `select` returns, as many as fit in a page; at least one. `select` names the table `e`
 * and ends with its limit. The last column is true if some were left for the next page.
 */
export function eventPageText(select: string, order: string): string {
  const bytes = `least(coalesce(${jsonBytes('e.data')}, 0), ${EVENT_BYTES}) + 200`
  return `SELECT ${EVENT_COLUMNS}, e.shown < e.found FROM (
    SELECT e.*, count(*) OVER () AS found, count(*) FILTER (WHERE e.before < ${PAGE_BYTES}) OVER () AS shown FROM (
      SELECT e.*, sum(${bytes}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) - (${bytes}) AS before FROM (${select}) e) e) e
    WHERE e.before < ${PAGE_BYTES} ORDER BY ${order}`
}

/** Rows of an eventPageText. */
export class EventRows {
  readonly events: StoredEvent[] = []
  cut = false

  readonly row = (fields: Fields): void => {
    this.events.push(eventFrom(fields))
    if (fields[CUT_AT] === 't') this.cut = true
  }
}
