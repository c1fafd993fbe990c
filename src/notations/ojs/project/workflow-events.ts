/** What a stored line about an instance says of its workflow, and of the one around it. */

import type { InstanceEventType, StoredData } from '../../../model/events/events.ts'
import type { StoredEvent } from '../../../model/rows.ts'
import type { EventData, Subjects, Telling, Workflow } from './events.ts'
import { indexOf } from './values.ts'

/**
 * A cancel is told when it is asked for, not when the last active job has ended: from then on the workflow shows as
 * cancelled. Its instance has both lines, the first of them `instance.draining`.
 */
export function workflowEvents(
  subjects: Subjects,
  event: StoredEvent & { readonly type: InstanceEventType },
  data: StoredData,
): readonly Telling[] {
  const workflow = subjects.workflow(event.instanceId)
  if (workflow === null) return []
  const { row } = workflow
  const tell = (type: string, more: EventData = {}): Telling => ({ type, workflow, data: more })
  const lasted = { duration_ms: Math.max(0, event.at - (row.startedAt ?? row.createdAt)) }
  switch (event.type) {
    case 'instance.created': {
      const parent = subjects.workflow(row.parentNode === null ? null : row.parentId)
      return [tell('workflow.created', parent === null ? {} : { parent_workflow_id: parent.id })]
    }
    case 'instance.started':
      return [tell('workflow.started')]
    case 'instance.completed':
      return [tell('workflow.completed', lasted), ...around(subjects, workflow, true, lasted)]
    case 'instance.failed': {
      const told = { error: data['error'] ?? null, ...lasted }
      return [tell('workflow.failed', told), ...around(subjects, workflow, false, told)]
    }
    case 'instance.draining':
      return data['reason'] === 'cancel' ? [tell('workflow.cancelled', lasted)] : []
    case 'instance.cancelled':
      return around(subjects, workflow, false, { error: CANCELLED, ...lasted })
    case 'instance.retries':
    case 'instance.queued':
    case 'instance.dequeued':
    case 'instance.waiting':
    case 'instance.resumed':
    case 'instance.patched':
    case 'instance.cancel_requested':
    case 'instance.resume_requested':
    case 'instance.compensating':
    case 'instance.compensated':
      return []
  }
}

const CANCELLED = { code: 'cancelled', message: 'the nested workflow was cancelled' }

/** The step or job of the outer workflow that a nested one stands for has ended with it. */
function around(subjects: Subjects, workflow: Workflow, ok: boolean, more: EventData): readonly Telling[] {
  const { row } = workflow
  if (row.parentNode === null || row.parentRole !== 'work') return []
  const outer = subjects.workflow(row.parentId)
  // Cancelled from outside, a nested workflow is no failure of the one around it.
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

/** One step of a chain, or one job of a group or batch, has ended. Both vocabularies in one object. */
export function placeEvent(place: {
  readonly workflow: Workflow
  readonly node: string | null
  readonly item: number
  readonly ok: boolean
  readonly type: string
  readonly data: EventData
}): Telling {
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
