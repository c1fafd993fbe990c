/** What people have done: along an index of the events that record an actor, in each partition. */
import { type AuditPage, type AuditQuery, auditPage, MAX_AUDITED, ORDINARY } from '../../../model/queries/audit.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { STEPWISE } from '../connection/settings.ts'
import { type Fields, type Statement, statement } from '../connection/statement.ts'
import { EventRows, eventPageText } from './event.ts'

/** The condition of the indexes, word for word: another plan would read all events. */
const AUDITED = `e.actor IS NOT NULL AND e.event_type <> ALL (ARRAY[${ORDINARY.map((type) => `'${type}'`).join(', ')}])`

interface Texts {
  readonly page: Statement
  readonly pageOfTenant: Statement
  readonly looked: Statement
}

/** $1 before, $2 limit, $3 the actor or the tenant, $4 the tenant. */
function texts(whose: string, tenant: string): Texts {
  const found = `FROM workflow.workflow_event e WHERE ${AUDITED} ${whose} AND e.id < $1::bigint ORDER BY e.id DESC`
  const ofTenant = `SELECT * FROM (SELECT * ${found} LIMIT ${MAX_AUDITED}) e WHERE e.tenant = ${tenant} ORDER BY e.id DESC LIMIT $2::int`
  return {
    page: statement(eventPageText(`SELECT * ${found} LIMIT $2::int`, 'e.id DESC')),
    pageOfTenant: statement(eventPageText(ofTenant, 'e.id DESC')),
    looked: statement(`SELECT min(l.id), count(*) FROM (SELECT e.id ${found} LIMIT $2::int) l`),
  }
}

const OF_ALL = texts('', '$3::text')
const OF_ACTOR = texts('AND e.actor = $3::text', '$4::text')

export async function audit(lanes: Lanes, query: AuditQuery): Promise<AuditPage> {
  const { actor, tenant, limit } = query
  const of = actor === null ? OF_ALL : OF_ACTOR
  const before = String(query.before ?? Number.MAX_SAFE_INTEGER)
  const ofActor = actor === null ? [] : [actor]
  const rows = new EventRows()
  const page = { statement: tenant === null ? of.page : of.pageOfTenant, settings: STEPWISE, row: rows.row }
  await ask(lanes, { ...page, values: [before, String(limit), ...ofActor, ...(tenant === null ? [] : [tenant])] })
  const found = { rows: rows.events, full: rows.cut || rows.events.length >= limit }
  if (found.full || tenant === null) return auditPage(found, { last: null, count: 0 })
  const row = ([last, count]: Fields) => ({ last: last == null ? null : Number(last), count: Number(count) })
  const values = [before, String(MAX_AUDITED), ...ofActor]
  const looked = await askOne(lanes, { statement: of.looked, settings: STEPWISE, values, row })
  return auditPage(found, looked ?? { last: null, count: 0 })
}
