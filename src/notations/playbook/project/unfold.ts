/**
 * Converts one line of an execution's history to events. The line that ends a lease covers the whole lease, and the
 * notes its worker sent with it: step.started, the attempts of its tasks, and the end of the step.
 *
 *   created            step.scheduled            (an item of a loop: loop.iteration.scheduled, and so on)
 *   end of a lease     step.started, tasks, then step.done | step.failed | step.retried
 *   each.opened        step.scheduled, step.started, loop.started
 *   each.closed        loop.done, step.done      (failed: step.failed)
 *   node.fired         step.scheduled, step.started   of steps that make no run
 *                      loop.iteration.scheduled, loop.iteration.started   of an item that is a sub-playbook
 *   node.item_ended    loop.iteration.done | failed   of such an item
 *   node.routed        their step.done | step.failed; next.evaluated, if there are arcs
 *
 * A pure function: facts missing in a line come from the rows around it, which are only ever added to.
 */

import { isInstanceEvent, isNodeEvent, type StoredData } from '../../../model/events/events.ts'
import type { RunBrief } from '../../../model/queries/trees.ts'
import type { InstanceRow, StoredEvent } from '../../../model/rows.ts'
import { TERMINAL } from '../../../net/marking.ts'
import type { Json, Net, Node } from '../../../net/net.ts'
import { type EventStatus, type ExecutionEvent, type ExecutionEventType, eventId } from './envelope.ts'
import { OF_ITEM, OF_STEP, ofRun, stepRunOf } from './unfold-runs.ts'
import { executionStatus, isStep } from './words.ts'

export interface Log {
  readonly instance: InstanceRow
  readonly nodes: ReadonlyMap<string, Node>
  readonly runs: ReadonlyMap<string, LogRun>
}

export type LogRun = Pick<RunBrief, 'id' | 'fire' | 'item' | 'attempt' | 'createdAt' | 'startedAt' | 'firstStartedAt'>

export function logOf(instance: InstanceRow, net: Net, runs: readonly RunBrief[]): Log {
  return {
    instance,
    nodes: new Map(net.nodes.map((node) => [node.key, node])),
    runs: new Map(runs.map((run) => [run.id, run])),
  }
}

type Data = StoredData

/** The fields of an event that its line does not have. */
export interface EventFields {
  readonly type: ExecutionEventType
  readonly status: EventStatus
  readonly at?: number
  readonly source?: 'server' | 'worker'
  readonly step?: string
  readonly stepRun?: string
  readonly run?: string
  readonly taskRun?: string
  readonly task?: string
  readonly iteration?: number
  readonly attempt?: number
  readonly id?: string
  readonly payload?: { readonly [name: string]: Json }
}

/** An event without a place in the log yet. */
export type Emit = (fields: EventFields) => void

export function unfold(log: Log, line: StoredEvent): readonly ExecutionEvent[] {
  const events: ExecutionEvent[] = []
  // Workers have clocks of their own: the times they report are kept between the creation of the run and this line, in
  // order.
  let before = log.runs.get(line.runId ?? '')?.createdAt ?? line.at
  const emit: Emit = (fields) => {
    const place = { seq: line.seq ?? 0, n: events.length + 1 }
    before = Math.min(line.at, Math.max(before, fields.at ?? line.at))
    events.push(envelope(log.instance, { ...fields, at: before }, { seq: place.seq, id: eventId(place), at: line.at }))
  }
  const data = (line.data === null ? {} : (JSON.parse(line.data) as Data | null)) ?? {}
  if (line.node !== null && !isStep(line.node)) return events
  if (line.runId !== null) ofRun(log, line, data, emit)
  else if (line.node === null) ofExecution(log, line, data, emit)
  else ofNode(log, line, line.node, data, emit)
  return events
}

export function envelope(
  instance: InstanceRow,
  fields: EventFields,
  line: { readonly seq: number; readonly id: string; readonly at: number },
): ExecutionEvent {
  const [entity] = fields.type.split('.') as [string]
  const [type, id, parent] = entityOf(instance, entity, fields)
  return {
    event_id: fields.id ?? line.id,
    event_type: fields.type,
    timestamp: new Date(fields.at ?? line.at).toISOString(),
    execution_id: instance.id,
    source: fields.source ?? 'server',
    entity_type: type,
    entity_id: id,
    parent_id: parent,
    seq: line.seq,
    step: fields.step ?? null,
    step_run_id: fields.stepRun ?? null,
    task_run_id: fields.taskRun ?? null,
    run_id: fields.run ?? null,
    iteration: fields.iteration ?? null,
    attempt: fields.attempt ?? null,
    status: fields.status,
    payload: fields.payload ?? {},
  }
}

type Entity = readonly [ExecutionEvent['entity_type'], string, string | null]

function entityOf(instance: InstanceRow, word: string, fields: EventFields): Entity {
  const step = fields.step
  if (step === undefined) {
    return word === 'workflow'
      ? ['workflow', instance.id, instance.id]
      : ['playbook', instance.id, instance.parentId ?? null]
  }
  if (fields.task !== undefined) return ['task', `${step}.${fields.task}`, fields.stepRun ?? null]
  if (fields.iteration !== undefined) return ['iteration', `${step}[${fields.iteration}]`, fields.stepRun ?? null]
  return word === 'loop' ? ['loop', step, fields.stepRun ?? null] : ['step', step, instance.id]
}

function ofExecution({ instance }: Log, line: StoredEvent, data: Data, emit: Emit): void {
  const actor = line.actor ?? data['actor'] ?? null
  const by = actor === null ? {} : { actor }
  const began = (): void => {
    emit({ type: 'playbook.started', status: 'in_progress', payload: { name: instance.name } })
    emit({ type: 'workflow.started', status: 'in_progress' })
  }
  const { type } = line
  // A number of discarded tokens belongs to no node.
  if (!isInstanceEvent(type)) return
  switch (type) {
    case 'instance.created':
      emit({
        type: 'playbook.execution.requested',
        status: 'in_progress',
        payload: { name: instance.name, ...by, ...(instance.retryOf === null ? {} : { retry_of: instance.retryOf }) },
      })
      // An instance that had to be queued reports when it left the queue.
      if (instance.queuedAt === null && hasBegun(instance)) began()
      return
    case 'instance.dequeued':
      return began()
    case 'instance.paused': {
      const { reason } = data
      return emit({
        type: 'playbook.paused',
        status: 'paused',
        payload: { ...by, ...(reason === undefined ? {} : { reason }) },
      })
    }
    case 'instance.unpaused':
      return emit({ type: 'playbook.resumed', status: 'in_progress', payload: { ...by } })
    case 'instance.waiting':
      return emit({ type: 'playbook.paused', status: 'paused' })
    case 'instance.resumed':
      return emit({ type: 'playbook.resumed', status: 'in_progress' })
    case 'instance.patched':
      return emit({ type: 'ctx.updated', status: 'success', payload: { ...by, ...namesIn(data) } })
    case 'instance.completed':
    case 'instance.failed':
    case 'instance.cancelled':
    case 'instance.compensated': {
      const status = executionStatus(instance)
      const outcome = status === 'success' ? 'success' : status === 'cancelled' ? 'skipped' : 'error'
      const { error } = data
      const payload = { status, ...(error === undefined ? {} : { error }) }
      emit({ type: 'workflow.finished', status: outcome, payload })
      return emit({ type: 'playbook.finished', status: outcome, payload })
    }
    case 'instance.retries':
    case 'instance.forks':
    case 'instance.queued':
    case 'instance.started':
    case 'instance.cancel_requested':
    case 'instance.resume_requested':
    case 'instance.draining':
    case 'instance.compensating':
      return
    default:
      return type satisfies never
  }
}

function namesIn({ set }: Data): { readonly [name: string]: Json } {
  return Array.isArray(set) ? { names: set } : {}
}

/** false: idle, queued, or cancelled before it did anything. */
function hasBegun({ state, fires, live, held, open }: InstanceRow): boolean {
  if (fires + live + held + open > 0) return true
  return state !== 'idle' && state !== 'queued' && !TERMINAL.has(state)
}

function ofNode(log: Log, line: StoredEvent, step: string, data: Data, emit: Emit): void {
  const fire = typeof data['fire'] === 'number' ? data['fire'] : null
  const kind = log.nodes.get(step)?.work.kind ?? 'run'
  const stepRun = fire === null ? {} : { stepRun: stepRunOf(step, fire) }
  const own = { step, ...stepRun }
  const iteration = typeof data['item'] === 'number' ? { iteration: data['item'] } : {}
  const begin = (): void => {
    const words = 'iteration' in iteration ? OF_ITEM : OF_STEP
    emit({ ...own, ...iteration, type: words.scheduled, status: 'in_progress' })
    emit({ ...own, ...iteration, type: words.started, status: 'in_progress' })
  }
  const admission = (status: EventStatus, payload: { readonly [name: string]: Json }): void =>
    emit({ ...own, type: 'policy.admit.evaluated', status, payload: { ...payload, ...rule(data) } })
  const { type } = line
  if (!isNodeEvent(type)) return
  switch (type) {
    case 'node.admitted':
      return admission('success', { allow: true })
    case 'node.held':
      return admission('paused', { allow: false, token: 'held' })
    case 'node.discarded':
      return admission('skipped', { allow: false, token: 'discarded' })
    case 'node.fired':
      return begin()
    case 'each.opened':
      begin()
      return emit({
        ...own,
        type: 'loop.started',
        status: 'in_progress',
        payload: { total: data['total'] ?? null, max_in_flight: data['max'] ?? null },
      })
    case 'each.closed':
      return closed(log, own, data, emit)
    case 'node.item_ended': {
      const ok = data['status'] === 'succeeded'
      const word = ok ? OF_ITEM.done : OF_ITEM.failed
      return emit({ ...own, ...iteration, type: word, status: ok ? 'success' : 'error' })
    }
    case 'node.routed':
      if (kind === 'pass' || kind === 'child' || kind === 'gate') ended(own, data, emit)
      return routed(own, data, emit)
    case 'node.completed':
    case 'node.failed':
    case 'node.skipped':
    case 'node.rerun':
    case 'node.final_failed':
    case 'gate.opened':
    case 'gate.linked':
    case 'gate.voted':
    case 'gate.escalated':
    case 'gate.approved':
    case 'gate.rejected':
    case 'gate.closed':
    case 'late_success':
      return
    default:
      return type satisfies never
  }
}

type Own = { readonly step: string; readonly stepRun?: string }

function closed(log: Log, own: Own, data: Data, emit: Emit): void {
  const { work } = log.nodes.get(own.step) ?? {}
  const { total = null, success = null, failed = null } = data
  const stats = { total, success, failed }
  const tolerant = work?.kind === 'each' && work.tolerant === true
  if (typeof failed === 'number' && failed > 0 && !tolerant) {
    const error = { code: 'items_failed', message: `${failed} of ${total} iterations failed` }
    return emit({ ...own, type: 'step.failed', status: 'error', payload: { stats, error } })
  }
  emit({ ...own, type: 'loop.done', status: 'success', payload: { stats } })
  emit({ ...own, type: 'step.done', status: 'success', payload: { stats } })
}

function ended(own: Own, data: Data, emit: Emit): void {
  const { error } = data
  if (data['status'] !== 'failed') return emit({ ...own, type: 'step.done', status: 'success' })
  emit({ ...own, type: 'step.failed', status: 'error', payload: error === undefined ? {} : { error } })
}

function routed(own: Own, data: Data, emit: Emit): void {
  const { mode, arcs, taken, to, handled } = data
  if (arcs === 0) return
  const to_ = Array.isArray(to) ? to : []
  emit({
    ...own,
    type: 'next.evaluated',
    status: to_.length === 0 ? 'skipped' : 'success',
    payload: {
      mode: mode === 'every' ? 'inclusive' : 'exclusive',
      arcs: arcs ?? null,
      selected: Array.isArray(taken) ? taken : [],
      steps: to_,
      ...(handled === undefined ? {} : { handled }),
    },
  })
}

function rule(data: Data): { readonly [name: string]: Json } {
  const { rule: index, why } = data
  return { rule: index ?? null, ...(why === undefined ? {} : { why }) }
}
