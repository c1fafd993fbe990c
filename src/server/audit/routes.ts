/** GET /v1/audit: what people have done. */
import { readAudit } from '../../operations/events/audit.ts'
import { AuditReply, auditWire } from '../../wire/operate/audit.ts'
import { pageSize, storedText, wholeOrNone } from '../../wire/requests/params.ts'
import { route } from '../context.ts'

export const AUDIT_ROUTES = [
  route(
    'GET /v1/audit',
    {
      tag: 'Server',
      summary: 'What people have done',
      does: readAudit,
      description:
        'Events that record an actor, of instances, runs, gates, definitions, queues, workers, types, pauses, schedules, groups ' +
        'of failures and bulk operations, without what starts and workers write. A caller of a tenant sees what was done to its ' +
        'own, found among 10,000 events for each page.',
      query: {
        actor: storedText('Only what this one has done, written as it was recorded.'),
        before: wholeOrNone(
          { least: 1, most: Number.MAX_SAFE_INTEGER },
          { description: '`next_before` of the previous page.' },
        ),
        limit: pageSize(),
      },
      answers: { '200': { description: 'Newest first.', schema: AuditReply } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }) => auditWire(await perform(readAudit, query)),
  ),
]
