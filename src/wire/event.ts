/** Events of the history: of an instance, and of a bare run. */
import type { StoredEvent } from '../model/rows.ts'
import { anything, time as moment, named, nullable, object, text, uuid, type Value, whole } from './schema.ts'
import { json, time } from './value.ts'

export const InstanceEvent = named(
  'InstanceEvent',
  object({
    seq: nullable(whole('Counts the events of an instance.')),
    type: text(),
    at: moment(),
    instance_id: nullable(uuid()),
    run_id: nullable(uuid()),
    node: nullable(text()),
    actor: nullable(text('Who caused it: an operator, a voter, a client.')),
    worker: nullable(text('The worker that held the run.')),
    data: anything('Further data.'),
  }),
)

/** `worker`: looked up, since the event itself often does not name it. */
export function eventWire(event: StoredEvent, worker: string | null = null): Value<typeof InstanceEvent> {
  const data = json(event.data)
  return {
    seq: event.seq,
    type: event.type,
    at: time(event.at),
    instance_id: event.instanceId,
    run_id: event.runId,
    node: event.node,
    actor: event.actor ?? actorIn(data),
    worker,
    data,
  }
}

/** Events of instances have their author in their data. */
function actorIn(data: unknown): string | null {
  const actor = (data as { readonly actor?: unknown } | null)?.actor
  return typeof actor === 'string' ? actor : null
}

export const RunEvent = named(
  'RunEvent',
  object({
    type: text('created, leased, started, heartbeat, succeeded, failed, retried, cancelled, returned …'),
    at: moment(),
    actor: nullable(text('The author of the change, if known.')),
    data: anything('Further data: worker_id, attempt, error …'),
  }),
)

export function runEventWire(event: StoredEvent): Value<typeof RunEvent> {
  return { type: event.type, at: time(event.at), actor: event.actor, data: json(event.data) }
}
