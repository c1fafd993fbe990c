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

import type { RunBrief } from '../../../model/queries/trees.ts'
import type { InstanceRow, StoredEvent } from '../../../model/rows.ts'
import { type Failure, TERMINAL } from '../../../net/marking.ts'
import type { Json, Net, Node } from '../../../net/net.ts'
import { type EventStatus, type ExecutionEvent, type ExecutionEventType, eventId } from './envelope.ts'
import { isResumed, notesIn, omittedIn, taskEvents } from './notes.ts'
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

type Data = { readonly [name: string]: Json | undefined }

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
  switch (line.type) {
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
  switch (line.type) {
    case 'node.admitted':
      return emit({
        ...own,
        type: 'policy.admit.evaluated',
        status: 'success',
        payload: { allow: true, ...rule(data) },
      })
    case 'node.held':
      return emit({
        ...own,
        type: 'policy.admit.evaluated',
        status: 'paused',
        payload: { allow: false, token: 'held', ...rule(data) },
      })
    case 'node.discarded':
      return emit({
        ...own,
        type: 'policy.admit.evaluated',
        status: 'skipped',
        payload: { allow: false, token: 'discarded', ...rule(data) },
      })
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
      const type = ok ? OF_ITEM.done : OF_ITEM.failed
      return emit({ ...own, ...iteration, type, status: ok ? 'success' : 'error' })
    }
    case 'node.routed':
      if (kind === 'pass' || kind === 'child' || kind === 'gate') ended(own, data, emit)
      return routed(own, data, emit)
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

export function stepRunOf(step: string, fire: number): string {
  return `${step}#${fire}`
}

/** The event types of a step, or of one item of a loop. */
const OF_STEP = {
  scheduled: 'step.scheduled',
  started: 'step.started',
  retried: 'step.retried',
  done: 'step.done',
  failed: 'step.failed',
} as const
const OF_ITEM = {
  scheduled: 'loop.iteration.scheduled',
  started: 'loop.iteration.started',
  retried: 'loop.iteration.retried',
  done: 'loop.iteration.done',
  failed: 'loop.iteration.failed',
} as const

function ofRun(log: Log, line: StoredEvent, data: Data, emit: Emit): void {
  const run = line.runId === null ? undefined : log.runs.get(line.runId)
  const step = line.node
  if (run === undefined || step === null) return
  const own = runOwn(run, step)
  const words = run.item < 0 ? OF_STEP : OF_ITEM
  const attempt = attemptAt(line, data, run)
  if (line.type === 'created') {
    const taken = data['taken_over'] === true ? { taken_over: true } : {}
    return emit({ ...own, type: words.scheduled, status: 'in_progress', payload: taken })
  }
  const startedAt = startOf(line, data, run, attempt)
  if (startedAt !== null && !isResumed(data)) {
    const by = data['leased_by']
    emit(started(run, step, { attempt, at: startedAt, payload: typeof by === 'string' ? { worker: by } : {} }))
  }
  taskEvents({ notes: notesIn(data), own, emit })
  const error = data['error'] as unknown as Failure | undefined
  const payload: { [name: string]: Json } = {
    ...(error === undefined ? {} : { error: errorJson(error) }),
    ...(omittedIn(data) === 0 ? {} : { attempts_omitted: omittedIn(data) }),
  }
  switch (line.type) {
    case 'succeeded':
      return emit({ ...own, type: words.done, status: 'success', attempt, payload })
    case 'failed':
      return emit({ ...own, type: words.failed, status: 'error', attempt, payload })
    case 'cancelled':
      return emit({ ...own, type: words.failed, status: 'skipped', payload: { ...payload, cancelled: true } })
    case 'retried':
      return emit({
        ...own,
        type: words.retried,
        status: 'error',
        attempt,
        payload: { ...payload, ...(data['run_at'] === undefined ? {} : { run_at: data['run_at'] as Json }) },
      })
  }
}

/** The start of a run in progress, with an id that stays when the log contains it later. */
export function started(
  run: Pick<LogRun, 'id' | 'fire' | 'item'>,
  step: string,
  how: { readonly attempt: number; readonly at: number; readonly payload: { readonly [name: string]: Json } },
): EventFields {
  const type = (run.item < 0 ? OF_STEP : OF_ITEM).started
  return { ...runOwn(run, step), ...how, type, status: 'in_progress', source: 'worker', id: `${run.id}.${how.attempt}` }
}

function runOwn(run: Pick<LogRun, 'id' | 'fire' | 'item'>, step: string) {
  const own = { step, stepRun: stepRunOf(step, run.fire), run: run.id }
  return run.item < 0 ? own : { ...own, iteration: run.item }
}

/**
 * The line has the time, unless the lease was one of its own: then the row has it. A run that was only handed back
 * never began.
 */
function startOf(line: StoredEvent, data: Data, run: LogRun, attempt: number): number | null {
  if (typeof data['started_at'] === 'string') return Date.parse(data['started_at'])
  if (!['succeeded', 'failed', 'retried', 'cancelled'].includes(line.type)) return null
  const at = attempt === 1 ? run.firstStartedAt : run.startedAt
  return at === null ? null : Math.min(at, line.at)
}

/** The execution that this line ends; failures are counted after it, a success is not one of them. */
function attemptAt(line: StoredEvent, data: Data, run: LogRun): number {
  const counted = data['attempt']
  if (line.type === 'retried' || line.type === 'failed') return Math.max(1, Number(counted ?? run.attempt))
  return run.attempt + 1
}

function errorJson({ code, message, category, retryable, details }: Failure): Json {
  return {
    code,
    message,
    ...(category === undefined ? {} : { category }),
    ...(retryable === undefined ? {} : { retryable }),
    ...(details === undefined ? {} : { details }),
  }
}
