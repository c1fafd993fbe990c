/** Events of the history: of an instance, and of a run by itself. */
import type { StoredEvent } from '../model/rows.ts'
import { json, time, type Wire } from './value.ts'

export function eventWire(event: StoredEvent): Wire {
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

export function runEventWire(event: StoredEvent): Wire {
  return { type: event.type, at: time(event.at), actor: event.actor, data: json(event.data) }
}
