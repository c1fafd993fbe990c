/** The history of instances and runs, and the global feed; pages are also bounded in bytes. */

import type { EventPage, EventQuery, ExecutionQueries } from '../../../model/queries/queries.ts'
import type { StoredEvent } from '../../../model/rows.ts'
import { EVENT_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import type { Value } from '../driver.ts'
import type { Reading } from '../long-reads.ts'
import { EVENT_CELLS, eventOf } from '../row/narrow-rows.ts'
import { errorsOf, HISTORY, HISTORY_PAGE, histories, leasesLost } from './history.ts'
import type { Select } from './select.ts'

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

type EventQueries = Pick<
  ExecutionQueries,
  | 'instanceEvents'
  | 'runHistory'
  | 'runHistoryPage'
  | 'histories'
  | 'leasesLost'
  | 'errorsOf'
  | 'feed'
  | 'events'
  | 'feedEnd'
  | 'feedStart'
>
export function eventQueries(select: Select): EventQueries {
  const { connection } = select
  return {
    instanceEvents: ({ instanceId, afterSeq, limit }) =>
      connection.read(() => {
        const events = 'SELECT * FROM workflow_event WHERE instance_id = ? AND seq > ? ORDER BY seq LIMIT ?'
        return eventsWithin(connection, events, 'seq', instanceId, afterSeq, limit).events
      }),
    runHistory: (runId) => select.list(eventOf, HISTORY, runId),
    runHistoryPage: ({ runId, after, limit }) => select.list(eventOf, HISTORY_PAGE, runId, limit, after),
    histories: ({ runIds }) => connection.readLong((on) => histories(on, runIds)),
    leasesLost: ({ runIds }) => connection.read(() => leasesLost(connection, runIds)),
    errorsOf: (params) => connection.read(() => errorsOf(connection, params)),
    // With one writer at a time no transaction in flight can have a smaller id than a committed one.
    feed: ({ afterId, limit }) =>
      connection.read(() => {
        const events = 'SELECT * FROM workflow_event WHERE id > ? ORDER BY id LIMIT ?'
        return eventsWithin(connection, events, 'id', afterId, limit).events
      }),
    events: (query) => connection.readLong((on) => eventPage(on, query)),
    feedEnd: () => connection.read(() => feedEnd(connection)),
    feedStart: () => connection.read(() => feedStart(connection)),
  }
}

/** With one writer at a time, committed events are complete up to the greatest id. */
/**
 * Ids a page reads: a call must also end if the filter matches nothing, and report its position. The events of one run
 * have an index, so all of them are read.
 */
const LOOKED_AT = 20_000

function eventPage(connection: Reading, query: EventQuery): EventPage {
  const last = feedEnd(connection)
  const first = connection.statement('SELECT min(id) FROM workflow_event WHERE id > ?').get(query.afterId)?.[0]
  const from = Math.max(query.afterId, ((first as number | null) ?? query.afterId + 1) - 1)
  const until = query.runId ? last : Math.min(last, from + LOOKED_AT)
  if (until <= from) return { events: [], cursor: from, more: false }
  const conditions = ['e.id > ?', 'e.id <= ?', ...(query.runId ? ['e.workflow_id IS NOT NULL'] : [])]
  const values: Value[] = [from, until]
  const among = (column: string, words: readonly string[] | null | undefined): void => {
    if (!words) return
    conditions.push(`${column} IN (${words.map(() => '?').join(', ')})`)
    values.push(...words)
  }
  among('e.event_type', query.types)
  among('e.tenant', query.tenant ? [query.tenant] : null)
  among('e.workflow_id', query.runId ? [query.runId] : null)
  among('e.instance_id', query.instanceId ? [query.instanceId] : null)
  among('r.queue', query.queues)
  among('r.type', query.runTypes)
  const runs = query.queues || query.runTypes ? 'JOIN workflow_run r ON r.id = e.workflow_id' : ''
  const along = query.runId ? 'INDEXED BY idx_workflow_event_run' : 'NOT INDEXED'
  const select = `SELECT e.* FROM workflow_event e ${along} ${runs} WHERE ${conditions.join(' AND ')} ORDER BY e.id LIMIT ?`
  const { events, cut } = eventsWithin(connection, select, 'id', ...values, query.limit)
  const cursor = events.length < query.limit && !cut ? until : (events.at(-1)?.id ?? until)
  return { events, cursor, more: cursor < last }
}

function feedEnd(connection: Reading): number {
  return (connection.statement('SELECT max(id) FROM workflow_event').get()?.[0] as number | null) ?? 0
}

function feedStart(connection: Reading): number {
  return (connection.statement('SELECT min(id) FROM workflow_event').get()?.[0] as number | null) ?? 0
}
