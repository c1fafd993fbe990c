/** The global feed with a filter. With one writer at a time, committed events are complete up to the greatest id. */
import type { EventPage, EventQuery } from '../../../model/queries/queries.ts'
import type { Value } from '../driver.ts'
import type { Reading } from '../long-reads.ts'
import { eventsWithin } from './events.ts'

/**
 * Ids a page reads: a call must also end if the filter matches nothing, and report its position. The events of one run
 * have an index, so all of them are read.
 */
const LOOKED_AT = 20_000

export function eventPage(connection: Reading, query: EventQuery): EventPage {
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

export function feedEnd(connection: Reading): number {
  return (connection.statement('SELECT max(id) FROM workflow_event').get()?.[0] as number | null) ?? 0
}

export function feedStart(connection: Reading): number {
  return (connection.statement('SELECT min(id) FROM workflow_event').get()?.[0] as number | null) ?? 0
}
