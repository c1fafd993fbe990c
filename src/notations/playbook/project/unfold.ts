/**
 * One line of an execution's history as the events it stands for. The line that ends a lease tells the whole lease, and
 * the notes its worker sent along: step.started, what the tasks did, and the end of the step.
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
 * A pure function: what a line does not tell itself comes from the rows around it, which only ever gain.
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

/** What an event says beyond what its line gives it. */
export interface Said {
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
export type Saying = (said: Said) => void

export function unfold(log: Log, line: StoredEvent): readonly ExecutionEvent[] {
  const events: ExecutionEvent[] = []
  // Workers have clocks of their own: what they tell lies between the creation of the run and this line, in order.
  let before = log.runs.get(line.runId ?? '')?.createdAt ?? line.at
  const say: Saying = (said) => {
    const place = { seq: line.seq ?? 0, n: events.length + 1 }
    before = Math.min(line.at, Math.max(before, said.at ?? line.at))
    events.push(envelope(log.instance, { ...said, at: before }, { seq: place.seq, id: eventId(place), at: line.at }))
  }
  const data = (line.data === null ? {} : (JSON.parse(line.data) as Data | null)) ?? {}
  if (line.node !== null && !isStep(line.node)) return events
  if (line.runId !== null) ofRun(log, line, data, say)
  else if (line.node === null) ofExecution(log, line, data, say)
  else ofNode(log, line, line.node, data, say)
  return events
}

export function envelope(
  instance: InstanceRow,
  said: Said,
  line: { readonly seq: number; readonly id: string; readonly at: number },
): ExecutionEvent {
  const [entity] = said.type.split('.') as [string]
  const [type, id, parent] = entityOf(instance, entity, said)
  return {
    event_id: said.id ?? line.id,
    event_type: said.type,
    timestamp: new Date(said.at ?? line.at).toISOString(),
    execution_id: instance.id,
    source: said.source ?? 'server',
    entity_type: type,
    entity_id: id,
    parent_id: parent,
    seq: line.seq,
    step: said.step ?? null,
    step_run_id: said.stepRun ?? null,
    task_run_id: said.taskRun ?? null,
    run_id: said.run ?? null,
    iteration: said.iteration ?? null,
    attempt: said.attempt ?? null,
    status: said.status,
    payload: said.payload ?? {},
  }
}

type Entity = readonly [ExecutionEvent['entity_type'], string, string | null]

function entityOf(instance: InstanceRow, word: string, said: Said): Entity {
  const step = said.step
  if (step === undefined) {
    return word === 'workflow'
      ? ['workflow', instance.id, instance.id]
      : ['playbook', instance.id, instance.parentId ?? null]
  }
  if (said.task !== undefined) return ['task', `${step}.${said.task}`, said.stepRun ?? null]
  if (said.iteration !== undefined) return ['iteration', `${step}[${said.iteration}]`, said.stepRun ?? null]
  return word === 'loop' ? ['loop', step, said.stepRun ?? null] : ['step', step, instance.id]
}

function ofExecution({ instance }: Log, line: StoredEvent, data: Data, say: Saying): void {
  const actor = line.actor ?? data['actor'] ?? null
  const by = actor === null ? {} : { actor }
  const began = (): void => {
    say({ type: 'playbook.started', status: 'in_progress', payload: { name: instance.name } })
    say({ type: 'workflow.started', status: 'in_progress' })
  }
  switch (line.type) {
    case 'instance.created':
      say({
        type: 'playbook.execution.requested',
        status: 'in_progress',
        payload: { name: instance.name, ...by, ...(instance.retryOf === null ? {} : { retry_of: instance.retryOf }) },
      })
      // One that had to be queued tells when it left the queue.
      if (instance.queuedAt === null && hasBegun(instance)) began()
      return
    case 'instance.dequeued':
      return began()
    case 'instance.waiting':
      return say({ type: 'playbook.paused', status: 'paused' })
    case 'instance.resumed':
      return say({ type: 'playbook.resumed', status: 'in_progress' })
    case 'instance.patched':
      return say({ type: 'ctx.updated', status: 'success', payload: { ...by, ...namesIn(data) } })
    case 'instance.completed':
    case 'instance.failed':
    case 'instance.cancelled':
    case 'instance.compensated': {
      const status = executionStatus(instance)
      const outcome = status === 'success' ? 'success' : status === 'cancelled' ? 'skipped' : 'error'
      const { error } = data
      const payload = { status, ...(error === undefined ? {} : { error }) }
      say({ type: 'workflow.finished', status: outcome, payload })
      return say({ type: 'playbook.finished', status: outcome, payload })
    }
  }
}

function namesIn({ set }: Data): { readonly [name: string]: Json } {
  return Array.isArray(set) ? { names: set } : {}
}

/** Idle, queued, or cancelled before it did anything: not. */
function hasBegun({ state, fires, live, held, open }: InstanceRow): boolean {
  if (fires + live + held + open > 0) return true
  return state !== 'idle' && state !== 'queued' && !TERMINAL.has(state)
}

function ofNode(log: Log, line: StoredEvent, step: string, data: Data, say: Saying): void {
  const fire = typeof data['fire'] === 'number' ? data['fire'] : null
  const kind = log.nodes.get(step)?.work.kind ?? 'run'
  const stepRun = fire === null ? {} : { stepRun: stepRunOf(step, fire) }
  const own = { step, ...stepRun }
  const iteration = typeof data['item'] === 'number' ? { iteration: data['item'] } : {}
  const begin = (): void => {
    const words = 'iteration' in iteration ? OF_ITEM : OF_STEP
    say({ ...own, ...iteration, type: words.scheduled, status: 'in_progress' })
    say({ ...own, ...iteration, type: words.started, status: 'in_progress' })
  }
  switch (line.type) {
    case 'node.admitted':
      return say({ ...own, type: 'policy.admit.evaluated', status: 'success', payload: { allow: true, ...rule(data) } })
    case 'node.held':
      return say({
        ...own,
        type: 'policy.admit.evaluated',
        status: 'paused',
        payload: { allow: false, token: 'held', ...rule(data) },
      })
    case 'node.discarded':
      return say({
        ...own,
        type: 'policy.admit.evaluated',
        status: 'skipped',
        payload: { allow: false, token: 'discarded', ...rule(data) },
      })
    case 'node.fired':
      return begin()
    case 'each.opened':
      begin()
      return say({
        ...own,
        type: 'loop.started',
        status: 'in_progress',
        payload: { total: data['total'] ?? null, max_in_flight: data['max'] ?? null },
      })
    case 'each.closed':
      return closed(log, own, data, say)
    case 'node.item_ended': {
      const ok = data['status'] === 'succeeded'
      const type = ok ? OF_ITEM.done : OF_ITEM.failed
      return say({ ...own, ...iteration, type, status: ok ? 'success' : 'error' })
    }
    case 'node.routed':
      if (kind === 'pass' || kind === 'child' || kind === 'gate') ended(own, data, say)
      return routed(own, data, say)
  }
}

type Own = { readonly step: string; readonly stepRun?: string }

function closed(log: Log, own: Own, data: Data, say: Saying): void {
  const { work } = log.nodes.get(own.step) ?? {}
  const { total = null, success = null, failed = null } = data
  const stats = { total, success, failed }
  const tolerant = work?.kind === 'each' && work.tolerant === true
  if (typeof failed === 'number' && failed > 0 && !tolerant) {
    const error = { code: 'items_failed', message: `${failed} of ${total} iterations failed` }
    return say({ ...own, type: 'step.failed', status: 'error', payload: { stats, error } })
  }
  say({ ...own, type: 'loop.done', status: 'success', payload: { stats } })
  say({ ...own, type: 'step.done', status: 'success', payload: { stats } })
}

function ended(own: Own, data: Data, say: Saying): void {
  const { error } = data
  if (data['status'] !== 'failed') return say({ ...own, type: 'step.done', status: 'success' })
  say({ ...own, type: 'step.failed', status: 'error', payload: error === undefined ? {} : { error } })
}

function routed(own: Own, data: Data, say: Saying): void {
  const { mode, arcs, taken, to, handled } = data
  if (arcs === 0) return
  const to_ = Array.isArray(to) ? to : []
  say({
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

/** The words of a step, or of one item of a loop. */
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

function ofRun(log: Log, line: StoredEvent, data: Data, say: Saying): void {
  const run = line.runId === null ? undefined : log.runs.get(line.runId)
  const step = line.node
  if (run === undefined || step === null) return
  const own = runOwn(run, step)
  const words = run.item < 0 ? OF_STEP : OF_ITEM
  const attempt = attemptAt(line, data, run)
  if (line.type === 'created') {
    const taken = data['taken_over'] === true ? { taken_over: true } : {}
    return say({ ...own, type: words.scheduled, status: 'in_progress', payload: taken })
  }
  const startedAt = startOf(line, data, run, attempt)
  if (startedAt !== null && !isResumed(data)) {
    const by = data['leased_by']
    say(started(run, step, { attempt, at: startedAt, payload: typeof by === 'string' ? { worker: by } : {} }))
  }
  taskEvents({ notes: notesIn(data), own, say })
  const error = data['error'] as unknown as Failure | undefined
  const payload: { [name: string]: Json } = {
    ...(error === undefined ? {} : { error: errorJson(error) }),
    ...(omittedIn(data) === 0 ? {} : { attempts_omitted: omittedIn(data) }),
  }
  switch (line.type) {
    case 'succeeded':
      return say({ ...own, type: words.done, status: 'success', attempt, payload })
    case 'failed':
      return say({ ...own, type: words.failed, status: 'error', attempt, payload })
    case 'cancelled':
      return say({ ...own, type: words.failed, status: 'skipped', payload: { ...payload, cancelled: true } })
    case 'retried':
      return say({
        ...own,
        type: words.retried,
        status: 'error',
        attempt,
        payload: { ...payload, ...(data['run_at'] === undefined ? {} : { run_at: data['run_at'] as Json }) },
      })
  }
}

/** What a worker has begun, with an id that stays when the log tells it later. */
export function started(
  run: Pick<LogRun, 'id' | 'fire' | 'item'>,
  step: string,
  how: { readonly attempt: number; readonly at: number; readonly payload: { readonly [name: string]: Json } },
): Said {
  const type = (run.item < 0 ? OF_STEP : OF_ITEM).started
  return { ...runOwn(run, step), ...how, type, status: 'in_progress', source: 'worker', id: `${run.id}.${how.attempt}` }
}

function runOwn(run: Pick<LogRun, 'id' | 'fire' | 'item'>, step: string) {
  const own = { step, stepRun: stepRunOf(step, run.fire), run: run.id }
  return run.item < 0 ? own : { ...own, iteration: run.item }
}

/** The line tells it, unless the lease was one of its own: then the row does. What was only given back never began. */
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
