/**
 * The audit trail in the terms of OJS. One stored line may stand for several events on the wire, in the order in which
 * they happened: the line that ends a run held by a session also records its start, the end of a step is an event of
 * the job and one of its workflow, the end of a nested workflow is also the end of its step.
 */

import { isolated } from '../../../kernel/isolated.ts'
import { readStored } from '../../../kernel/json-limits.ts'
import { isInstanceEvent, isStoreEvent, type StoredData, type StoreEventType } from '../../../model/events/events.ts'
import type { RunBrief } from '../../../model/queries/trees.ts'
import type { InstanceRow, StoredEvent } from '../../../model/rows.ts'
import type { Json } from '../../../net/net.ts'
import type { Noting } from '../../interface/projection.ts'
import { kindOf, type Nets, nameOf, netOf, netsOf } from '../compile/nets.ts'
import type { Kind } from '../compile/tree.ts'
import { workflowId } from '../compile/workflow-id.ts'
import { eventId } from './event-id.ts'
import { jobEvents } from './job-events.ts'
import { timeText } from './time.ts'
import { workflowEvents } from './workflow-events.ts'

export type EventData = { readonly [key: string]: Json }

export interface OjsEvent {
  readonly specversion: '1.0'
  readonly id: string
  readonly type: string
  readonly source: string
  readonly time: string
  readonly subject: string
  readonly data: EventData
  /** Of workflow events only: the names that the workflow specification uses for the same fields. */
  readonly event?: string
  readonly workflow_id?: string
  readonly workflow_type?: string
  readonly workflow_name?: string | null
  readonly timestamp?: string
}

export interface MappedEvent {
  /** The stored event it comes from: a reader continues after it. */
  readonly feedId: number
  /** The number of this event among those of its stored event. */
  readonly part: number
  readonly queue: string | null
  readonly jobType: string | null
  readonly jobId: string | null
  readonly workflowId: string | null
  readonly rootWorkflowId: string | null
  readonly tenant: string | null
  readonly wire: OjsEvent
}

/** An event before it gets its envelope. */
export interface DraftEvent {
  readonly type: string
  /** Default: when the line was stored. */
  readonly at?: number
  /** Of a workflow event: its workflow. */
  readonly workflow?: Workflow
  readonly data: EventData
}

/** A workflow as its events name it. */
export interface Workflow {
  readonly row: InstanceRow
  readonly id: string
  readonly kind: Kind
  readonly name: string | null
  /** Steps of a chain; null: it has jobs. */
  readonly steps: number | null
}

/** The runs and workflows of the events of one call. */
export interface Subjects {
  run(event: StoredEvent): RunBrief | null
  /** null: of another notation, or removed. */
  workflow(instanceId: string | null): Workflow | null
}

const SOURCE = 'ojs://petrel/engine/store'
/** The most bytes of results that are included in completions, per call. */
const MAX_BYTES = 8 * 1024 * 1024

/** Replaces a stored event that cannot be read; it passes every filter of types. */
export const UNREADABLE = 'system.unreadable_event'

/**
 * In the given order; events without a counterpart in OJS are left out. Few statements, however many events. An event
 * that cannot be read is replaced by one that reports this, so that readers continue after it.
 */
export async function ojsEvents(reading: Noting, events: readonly StoredEvent[]): Promise<readonly MappedEvent[]> {
  const all = await isolated<StoredEvent, readonly MappedEvent[]>(
    events,
    async (some) => {
      const subjects = await load(reading, some)
      return some.map((event) => mappedEvents(reading, subjects, event))
    },
    (event, error) => unreadable(reading, event, error),
  )
  return all.flat()
}

/** A mapped event as JSON. Parts of its data that cannot be written are left out and named. */
export function eventText(reading: Noting, event: MappedEvent): string {
  try {
    return JSON.stringify(event.wire)
  } catch (error) {
    reading.faults.note('unreadable_event', String(event.feedId), error)
    const plain = Object.entries(event.wire.data).filter(([, value]) => value === null || typeof value !== 'object')
    const data = { ...Object.fromEntries(plain), error: unreadableError(error) }
    return JSON.stringify({ ...event.wire, data })
  }
}

function mappedEvents(reading: Noting, subjects: Subjects, event: StoredEvent): readonly MappedEvent[] {
  try {
    const data = (event.data === null ? {} : readStored(event.data)) as StoredData
    return draftsOf(subjects, event, data).map((draft, part) => mapped(subjects, event, draft, part))
  } catch (error) {
    return unreadable(reading, event, error)
  }
}

function unreadable(reading: Noting, event: StoredEvent, error: unknown): readonly MappedEvent[] {
  reading.faults.note('unreadable_event', String(event.id), error)
  const { id: feedId, at, runId, instanceId, tenant } = event
  const about = { event_type: event.type, job_id: runId, instance_id: instanceId, error: unreadableError(error) }
  const wire: OjsEvent = {
    specversion: '1.0',
    id: eventId({ feedId, part: 0, at }),
    type: UNREADABLE,
    source: SOURCE,
    time: timeText(at),
    subject: runId ?? instanceId ?? '',
    data: about,
  }
  const nowhere = { queue: null, jobType: null, workflowId: null, rootWorkflowId: null }
  return [{ feedId, part: 0, ...nowhere, jobId: runId, tenant, wire }]
}

function unreadableError(error: unknown): EventData {
  return { code: 'unreadable', message: error instanceof Error ? error.message : String(error) }
}

function draftsOf(subjects: Subjects, event: StoredEvent, data: StoredData): readonly DraftEvent[] {
  const run = subjects.run(event)
  if (run !== null) return jobEvents(subjects, event, data, run)
  const { type, actor } = event
  if (isInstanceEvent(type)) return workflowEvents(subjects, { ...event, type }, data)
  if (!isStoreEvent(type) || !IN_FEED[type]) return []
  return [{ type, data: (actor === null ? data : { ...data, actor }) as EventData }]
}

/** Events of the engine as a whole that are events of OJS under the same name. */
const IN_FEED: Readonly<Record<StoreEventType, boolean>> = {
  'queue.paused': true,
  'queue.resumed': true,
  'workflow.paused': false,
  'workflow.resumed': false,
  'registry.paused': false,
  'registry.resumed': false,
  'worker.directed': true,
  'cron.triggered': true,
  'cron.skipped': true,
  'schedule.disabled': false,
  'workflow.deployed': false,
  'workflow.retired': false,
  'workflow.triggered': false,
  'registry.changed': false,
  'registry.removed': false,
  'error_group.resolved': true,
  'error_group.ignored': true,
  'error_group.reopened': true,
  'operation.created': true,
  'operation.progressed': true,
  'operation.stopped': true,
  'operation.resumed': true,
  'operation.rate_changed': true,
  'operation.completed': true,
  'store.reset': false,
}

async function load(reading: Noting, events: readonly StoredEvent[]): Promise<Subjects> {
  const { trees } = reading.queries
  const runIds = new Set(events.flatMap((event) => event.runId ?? []))
  const instanceIds = new Set(events.flatMap((event) => event.instanceId ?? []))
  const [briefs, rows] = await Promise.all([
    runIds.size === 0 ? [] : trees.briefs({ ids: [...runIds], maxBytes: MAX_BYTES }),
    instanceIds.size === 0 ? [] : trees.ancestors({ ids: [...instanceIds] }),
  ])
  const ours = rows.filter((row) => row.dialect === 'ojs')
  const nets = await netsOf(reading, new Set(ours.map((row) => row.netHash)))
  const runs = new Map(briefs.map((run) => [run.id, run]))
  const workflows = new Map(ours.map((row) => [row.id, workflowOf(row, nets)]))
  return {
    run: (event) => (event.runId === null ? null : (runs.get(event.runId) ?? null)),
    workflow: (id) => workflows.get(id ?? '') ?? null,
  }
}

function workflowOf(row: InstanceRow, nets: Nets): Workflow {
  const net = netOf(nets, row.netHash)
  const kind = kindOf(net)
  const steps = kind === 'chain' ? net.nodes.length : null
  return { row, id: workflowId(row), kind, name: nameOf(row, net), steps }
}

function mapped(subjects: Subjects, event: StoredEvent, draft: DraftEvent, part: number): MappedEvent {
  const run = subjects.run(event)
  const { type, at = event.at, workflow } = draft
  const own = workflow ?? subjects.workflow(event.instanceId)
  const root = own === null ? null : subjects.workflow(own.row.rootId)
  const time = timeText(at)
  const subject = workflow?.id ?? run?.id ?? own?.id ?? textOf(draft.data['queue'] ?? draft.data['name'])
  const data = workflow === undefined ? draft.data : { ...aboutWorkflow(workflow), ...draft.data }
  return {
    feedId: event.id,
    part,
    queue: run?.queue ?? textOrNull(draft.data['queue']),
    jobType: run?.type ?? null,
    jobId: run?.id ?? null,
    workflowId: own?.id ?? null,
    rootWorkflowId: root?.id ?? own?.id ?? null,
    tenant: event.tenant,
    wire: {
      specversion: '1.0',
      id: eventId({ feedId: event.id, part, at: event.at }),
      type,
      source: SOURCE,
      time,
      subject,
      data,
      ...(workflow === undefined
        ? {}
        : {
            event: type,
            workflow_id: workflow.id,
            workflow_type: workflow.kind,
            workflow_name: workflow.name,
            timestamp: time,
          }),
    },
  }
}

function aboutWorkflow({ id, kind, name, steps }: Workflow): EventData {
  return {
    workflow_id: id,
    workflow_type: kind,
    workflow_name: name,
    ...(steps === null ? {} : { total_steps: steps }),
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}
