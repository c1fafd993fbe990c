/** What people have done. */
import type { AuditPage } from '../../model/queries/audit.ts'
import { anything, list, time as moment, named, nullable, object, text, uuid, type Value, whole } from '../schema.ts'
import { json, time } from '../value.ts'

export const AuditReply = named(
  'Audit',
  object({
    entries: list(
      object({
        id: whole(),
        at: moment(),
        actor: text('Who did it: the subject of a key, or the name that a client without one gave.'),
        type: text('The event that records it: `instance.cancel_requested`, `queue.paused`, `gate.voted` …'),
        instance_id: nullable(uuid()),
        run_id: nullable(uuid()),
        node: nullable(text()),
        tenant: nullable(text()),
        data: anything('What the event records.'),
      }),
      'Newest first.',
    ),
    next_before: nullable(whole('Send it as `before`; a page before the last one may be short, or empty.')),
  }),
)

export function auditWire({ rows, next }: AuditPage): Value<typeof AuditReply> {
  return {
    entries: rows.map(({ id, at, actor, type, instanceId, runId, node, tenant, data }) => ({
      id,
      at: time(at),
      actor: actor ?? '',
      type,
      instance_id: instanceId,
      run_id: runId,
      node,
      tenant,
      data: json(data),
    })),
    next_before: next,
  }
}
