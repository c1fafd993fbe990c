/** Stored events as rows. */
import type { StoredEvent } from '../../rows.ts'
import { decoder, EVENT, selectList } from '../columns.ts'
import type { Fields } from '../statement.ts'

/** The id, then the columns of an EventRow. */
export const EVENT_COLUMNS = `e.id, ${selectList(EVENT, 'e')}`

const bodyFrom = decoder(EVENT)

export function eventFrom(fields: Fields): StoredEvent {
  return { id: Number(fields[0]), ...bodyFrom(fields, 1) }
}
