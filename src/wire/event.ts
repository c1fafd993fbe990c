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
    actor: nullable(text('The author of the change, if known.')),
    data: anything('Further data.'),
  }),
)

export function eventWire(event: StoredEvent): Value<typeof InstanceEvent> {
  return {
    seq: event.seq,
    type: event.type,
    at: time(event.at),
    instance_id: event.instanceId,
    run_id: event.runId,
    node: event.node,
    actor: event.actor,
    data: json(event.data),
  }
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
