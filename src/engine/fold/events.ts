/** Events of a working set. Those of an instance are numbered without gaps. */

import type { RunRow } from '../../model/rows.ts'
import type { Json } from '../../net/net.ts'
import { memberOf } from './members.ts'
import type { Events, Member } from './working-set.ts'

export function recordEvent(
  change: Pick<Events, 'events' | 'now'>,
  member: Member,
  type: string,
  node: string | null,
  data: Json | null,
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
    actor,
    tenant,
    data: data === null ? null : JSON.stringify(data),
    at: change.now,
  })
}

export function recordRunEvent(
  change: Events,
  run: RunRow,
  type: string,
  data: Json | null,
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
    data: data === null ? null : JSON.stringify(data),
    at: change.now,
  })
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

/** Events of a node whose work has failed. */
const FAILURES: ReadonlySet<string> = new Set(['failed', 'gate.rejected', 'node.failed'])

/** The latest failure of this node is not final: the net runs the work again. */
export function markRerun(change: Pick<Events, 'events'>, instanceId: string, node: string | null): void {
  const at = change.events.findLastIndex((e) => e.instanceId === instanceId && e.node === node && FAILURES.has(e.type))
  const event = change.events[at]
  if (event === undefined) return
  const data = event.data === null ? {} : (JSON.parse(event.data) as { readonly [key: string]: Json })
  change.events[at] = { ...event, data: JSON.stringify({ ...data, rerun: true }) }
}
