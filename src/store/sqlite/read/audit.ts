/** What people have done: along an index of the events that record an actor. */
import { type AuditPage, type AuditQuery, auditPage, MAX_AUDITED, ORDINARY } from '../../../model/queries/audit.ts'
import type { Connection } from '../connection.ts'
import { eventsWithin } from './events.ts'

/** The condition of the indexes, word for word: another plan would read all events. */
const AUDITED = `actor IS NOT NULL AND event_type NOT IN (${ORDINARY.map((type) => `'${type}'`).join(', ')})`
const OF_ALL = `FROM workflow_event INDEXED BY idx_workflow_event_audit WHERE ${AUDITED} AND id < ? ORDER BY id DESC LIMIT ?`
const OF_ACTOR = `FROM workflow_event INDEXED BY idx_workflow_event_of_actor
  WHERE ${AUDITED} AND actor = ? AND id < ? ORDER BY id DESC LIMIT ?`

export function audit(connection: Connection, query: AuditQuery): Promise<AuditPage> {
  const { actor, tenant, limit } = query
  const found = actor === null ? OF_ALL : OF_ACTOR
  const from = [...(actor === null ? [] : [actor]), query.before ?? Number.MAX_SAFE_INTEGER]
  return connection.readLong((on) => {
    const page =
      tenant === null
        ? eventsWithin(on, `SELECT * ${found}`, 'id DESC', ...from, limit)
        : eventsWithin(
            on,
            `SELECT * FROM (SELECT * ${found}) WHERE tenant = ? ORDER BY id DESC LIMIT ?`,
            'id DESC',
            ...from,
            MAX_AUDITED,
            tenant,
            limit,
          )
    const rows = { rows: page.events, full: page.cut || page.events.length >= limit }
    if (rows.full || tenant === null) return auditPage(rows, { last: null, count: 0 })
    const looked = on.statement(`SELECT min(id), count(*) FROM (SELECT id ${found})`).get(...from, MAX_AUDITED)
    return auditPage(rows, { last: (looked?.[0] ?? null) as number | null, count: (looked?.[1] ?? 0) as number })
  })
}
