/** Events of a working set. Those of an instance are numbered without gaps. */

import type { EventData, EventType, NewEvent, RunEventType } from '../../model/events/events.ts'
import type { RunRow } from '../../model/rows.ts'
import { memberOf } from './members.ts'
import type { Events, Member } from './working-set.ts'

export function recordEvent<T extends EventType>(
  change: Pick<Events, 'events' | 'now'>,
  member: Member,
  type: T,
  node: string | null,
  data: EventData[T],
  actor: string | null = null,
): void {
  member.dirty = true
  const { id, tenant } = member.row
  change.events.push({
    runId: null,
    instanceId: id,
    seq: ++member.seq,
    type,
    node,
    actor: actor ?? actorIn(data),
    tenant,
    data,
    at: change.now,
  } as NewEvent)
}

/** Requests about instances name their author in their data; lists of what people have done read the column. */
function actorIn(data: unknown): string | null {
  const actor = (data as { readonly actor?: unknown } | null)?.actor
  return typeof actor === 'string' ? actor : null
}

export function recordRunEvent<T extends RunEventType>(
  change: Events,
  run: RunRow,
  type: T,
  data: EventData[T],
  actor: string | null = null,
): void {
  let seq: number | null = null
  if (run.instanceId !== null) {
    const member = memberOf(change, run.instanceId)
    member.dirty = true
    seq = ++member.seq
  }
  change.events.push({
    runId: run.id,
    instanceId: run.instanceId,
    seq,
    type,
    node: run.node,
    actor,
    tenant: run.tenant,
    data,
    at: change.now,
  } as NewEvent)
}

/** The first start of any run is the instance's. */
export function noteStart(change: Events, run: RunRow, startedAt: number | null): void {
  if (run.instanceId === null || startedAt === null) return
  for (let id: string | null = run.instanceId; id !== null; ) {
    const member = memberOf(change, id)
    if (member.row.startedAt !== null) return
    member.row = { ...member.row, startedAt }
    recordEvent(change, member, 'instance.started', null, null)
    id = member.row.parentNode === null ? null : member.row.parentId
  }
}

/** Of a node whose work has failed. */
type FailureEvent = Extract<NewEvent, { readonly type: 'failed' | 'gate.rejected' | 'node.failed' }>

function isFailure(event: NewEvent): event is FailureEvent {
  return event.type === 'failed' || event.type === 'gate.rejected' || event.type === 'node.failed'
}

/** Adds to the latest failure of this node, whose event is not written yet, that the net runs the work again. */
export function markRerun(change: Pick<Events, 'events'>, instanceId: string, node: string | null): void {
  const at = change.events.findLastIndex((e) => e.instanceId === instanceId && e.node === node && isFailure(e))
  const event = change.events[at]
  if (event === undefined || !isFailure(event)) return
  change.events[at] = { ...event, data: { ...event.data, rerun: true } } as FailureEvent
}
