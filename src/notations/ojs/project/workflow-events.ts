/** Events of a workflow, and of the one that contains it, from a stored line about its instance. */

import type { InstanceEventType, StoredData } from '../../../model/events/events.ts'
import type { StoredEvent } from '../../../model/rows.ts'
import type { DraftEvent, EventData, Subjects, Workflow } from './events.ts'
import { indexOf } from './values.ts'

/**
 * A cancel is reported when it is requested, not when the last active job has ended: from then on the workflow shows as
 * cancelled. Its instance has both lines, the first of them `instance.draining`.
 */
export function workflowEvents(
  subjects: Subjects,
  stored: StoredEvent & { readonly type: InstanceEventType },
  data: StoredData,
): readonly DraftEvent[] {
  const workflow = subjects.workflow(stored.instanceId)
  if (workflow === null) return []
  const { row } = workflow
  const event = (type: string, more: EventData = {}): DraftEvent => ({ type, workflow, data: more })
  const lasted = { duration_ms: Math.max(0, stored.at - (row.startedAt ?? row.createdAt)) }
  switch (stored.type) {
    case 'instance.created': {
      const parent = subjects.workflow(row.parentNode === null ? null : row.parentId)
      return [event('workflow.created', parent === null ? {} : { parent_workflow_id: parent.id })]
    }
    case 'instance.started':
      return [event('workflow.started')]
    case 'instance.completed':
      return [event('workflow.completed', lasted), ...around(subjects, workflow, true, lasted)]
    case 'instance.failed': {
      const ended = { error: data['error'] ?? null, ...lasted }
      return [event('workflow.failed', ended), ...around(subjects, workflow, false, ended)]
    }
    case 'instance.draining':
      return data['reason'] === 'cancel' ? [event('workflow.cancelled', lasted)] : []
    case 'instance.cancelled':
      return around(subjects, workflow, false, { error: CANCELLED, ...lasted })
    case 'instance.retries':
    case 'instance.forks':
    case 'instance.queued':
    case 'instance.dequeued':
    case 'instance.waiting':
    case 'instance.resumed':
    case 'instance.patched':
    case 'instance.cancel_requested':
    case 'instance.resume_requested':
    case 'instance.paused':
    case 'instance.unpaused':
    case 'instance.compensating':
    case 'instance.compensated':
      return []
  }
}

const CANCELLED = { code: 'cancelled', message: 'the nested workflow was cancelled' }

/** The end of a nested workflow is also the end of its step or job in the outer workflow. */
function around(subjects: Subjects, workflow: Workflow, ok: boolean, more: EventData): readonly DraftEvent[] {
  const { row } = workflow
  if (row.parentNode === null || row.parentRole !== 'work') return []
  const outer = subjects.workflow(row.parentId)
  // A nested workflow that was cancelled together with the outer one is not a failure of the outer one.
  if (outer === null || (row.state === 'cancelled' && outer.row.reason === 'cancel')) return []
  return [
    placeEvent({
      workflow: outer,
      node: row.parentNode,
      item: row.parentItem,
      ok,
      type: workflow.kind,
      data: { job_id: null, nested_workflow_id: workflow.id, ...more },
    }),
  ]
}

/** One step of a chain, or one job of a group or batch, has ended. The object has the fields of both specifications. */
export function placeEvent(place: {
  readonly workflow: Workflow
  readonly node: string | null
  readonly item: number
  readonly ok: boolean
  readonly type: string
  readonly data: EventData
}): DraftEvent {
  const { workflow, ok, type } = place
  const index = indexOf(place)
  if (workflow.steps === null) {
    const data = { job_index: index, job_type: type, ...place.data }
    return { type: ok ? 'workflow.job_completed' : 'workflow.job_failed', workflow, data }
  }
  const remaining = workflow.steps - index - 1
  const data = {
    step_index: index,
    step_id: String(index),
    step_type: type,
    ...place.data,
    remaining_steps: remaining,
    steps_remaining: remaining,
  }
  return { type: ok ? 'workflow.step_completed' : 'workflow.step_failed', workflow, data }
}
