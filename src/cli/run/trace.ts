/** Events of an instance and its children as readable lines: node, attempt, outcome, time. */

import type { InstanceRow, RunRow, StoredEvent } from '../../model/rows.ts'
import type { Net } from '../../net/net.ts'
import { isStep } from '../../notations/playbook/project/words.ts'
import type { Store } from '../../store/store.ts'
import { json } from '../../wire/value.ts'
import { toolsOf } from '../playbook-tools.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { brief, paintState, placeOf, span } from '../terminal/words.ts'

export interface TraceStep {
  /** Since the instance was created. */
  readonly at_ms: number
  readonly instance: string
  /** Of the instance. */
  readonly name: string
  readonly child: boolean
  readonly node: string | null
  readonly item: number | null
  readonly role: 'work' | 'undo' | 'final' | null
  readonly type: string | null
  readonly attempt: number | null
  readonly outcome: string
  readonly detail: string | null
}

const RUN_EVENTS: { readonly [type: string]: string } = {
  succeeded: 'succeeded',
  failed: 'failed',
  retried: 'retrying',
  cancelled: 'cancelled',
  deferred: 'deferred',
  redriven: 'redriven',
  late_success: 'late success',
}

const OTHER_EVENTS: { readonly [type: string]: string } = {
  'gate.opened': 'waiting',
  'gate.escalated': 'escalated',
  'gate.approved': 'approved',
  'gate.rejected': 'rejected',
  'gate.closed': 'closed',
  'node.held': 'held',
  'node.discarded': 'discarded',
  'node.skipped': 'skipped',
  'node.rerun': 'once more',
  'node.final_failed': 'final failed',
  'instance.started': 'started',
  'instance.draining': 'stopping',
  'instance.compensating': 'compensating',
  'instance.completed': 'completed',
  'instance.failed': 'failed',
  'instance.cancelled': 'cancelled',
  'instance.compensated': 'compensated',
}

/** Events that a playbook shares with other notations, and those that only it has. */
const PLAYBOOK_EVENTS: { readonly [type: string]: string } = {
  ...OTHER_EVENTS,
  succeeded: 'done',
  returned: 'postponed',
  'node.fired': 'done',
  'each.opened': 'loop started',
  'each.closed': 'loop done',
  'instance.waiting': 'waiting',
}

/** Items of longer loops are summarised in numbers, and shown one by one only if something went wrong. */
const TOLD_ITEMS = 100

interface EventData {
  readonly attempt?: number
  readonly error?: { readonly code?: string; readonly message?: string } | null
  readonly run_at?: string
  readonly reason?: string
  readonly outcome?: string
  readonly gate?: string
  readonly kind?: string
  readonly total?: number
  readonly success?: number
  readonly failed?: number
}

/** Turns events into steps. Runs are read once per batch for their item, role and type, children once for their name. */
export class Tracer {
  readonly #store: Store
  readonly #root: InstanceRow
  readonly #names = new Map<string, string>()
  readonly #playbooks = new Map<string, Playbook | null>()

  constructor(store: Store, root: InstanceRow) {
    this.#store = store
    this.#root = root
    this.#names.set(root.id, root.name)
  }

  /** Steps worth a line, in the order in which they happened. */
  async steps(events: readonly StoredEvent[]): Promise<readonly TraceStep[]> {
    const told = (type: string): boolean => RUN_EVENTS[type] !== undefined || type === 'returned'
    const ids = events.filter((e) => e.runId !== null && told(e.type)).map((e) => e.runId as string)
    const runs = new Map((await this.#store.read.runs({ ids: [...new Set(ids)] })).map((run) => [run.id, run]))
    const steps: TraceStep[] = []
    for (const event of events) {
      const step = await this.#step(event, event.runId === null ? undefined : runs.get(event.runId))
      if (step !== null) steps.push(step)
    }
    return steps
  }

  async #step(event: StoredEvent, run: RunRow | undefined): Promise<TraceStep | null> {
    if (event.instanceId === null) return null
    const data = (json(event.data) ?? {}) as EventData
    const playbook = await this.#playbook(event.instanceId)
    const outcome =
      playbook === null
        ? (event.runId === null ? OTHER_EVENTS : RUN_EVENTS)[event.type]
        : playbookOutcome(event, data, run, playbook)
    if (outcome === undefined) return null
    const timedOut = event.runId !== null && data.error?.code === 'timeout'
    return {
      at_ms: event.at - this.#root.createdAt,
      instance: event.instanceId,
      name: await this.#nameOf(event.instanceId),
      child: event.instanceId !== this.#root.id,
      node: event.node,
      item: run === undefined || run.item < 0 ? null : run.item,
      role: run?.role ?? null,
      type: (playbook === null || event.node === null ? run?.type : playbook.tools.get(event.node)) ?? null,
      attempt: run === undefined ? null : attemptOf(event, data, run),
      outcome: timedOut && outcome === 'failed' ? 'timed out' : outcome,
      detail: detailOf(event, data),
    }
  }

  /** null: of another notation. */
  async #playbook(id: string): Promise<Playbook | null> {
    const known = this.#playbooks.get(id)
    if (known !== undefined) return known
    const row = await this.#store.read.instance(id)
    const stored = row?.dialect === 'playbook' ? await this.#store.read.net(row.netHash) : null
    const playbook = stored === null ? null : playbookOf(JSON.parse(stored.net) as Net)
    this.#playbooks.set(id, playbook)
    return playbook
  }

  async #nameOf(id: string): Promise<string> {
    const known = this.#names.get(id)
    if (known !== undefined) return known
    const name = (await this.#store.read.instance(id))?.name ?? ''
    this.#names.set(id, name)
    return name
  }
}

interface Playbook {
  /** By step. */
  readonly tools: ReadonlyMap<string, string>
  /** Lengths of the loops under way, by step. */
  readonly loops: Map<string, number>
}

function playbookOf(net: Net): Playbook {
  return { tools: new Map(net.nodes.map((node) => [node.key, toolsOf(node)])), loops: new Map() }
}

/** In the notation's own terms; undefined: not worth a line. */
function playbookOutcome(
  event: StoredEvent,
  data: EventData,
  run: RunRow | undefined,
  { loops }: Playbook,
): string | undefined {
  const { type, node } = event
  if (node !== null && !isStep(node)) return undefined
  if (type === 'each.opened' && node !== null) loops.set(node, data.total ?? 0)
  if (type === 'node.fired' && data.kind !== 'pass') return undefined
  // Its first run has begun; its first line shows that it was started.
  if (type === 'instance.started') return undefined
  if (type === 'returned' && data.run_at === undefined) return undefined
  if (type === 'instance.completed') return data.outcome === 'partial' ? 'partial' : 'success'
  const item = run !== undefined && run.item >= 0
  if (item && type === 'succeeded' && (loops.get(run.node ?? '') ?? 0) > TOLD_ITEMS) return undefined
  return PLAYBOOK_EVENTS[type] ?? (event.runId === null ? undefined : RUN_EVENTS[type])
}

/** The execution the event ends: failures are counted after it, a success is not one of them. */
function attemptOf(event: StoredEvent, data: EventData, run: RunRow): number {
  if (event.type === 'retried') return data.attempt ?? run.attempt
  if (event.type === 'failed') return Math.max(1, run.attempt)
  return run.attempt + 1
}

function detailOf(event: StoredEvent, data: EventData): string | null {
  const error = data.error?.message ?? null
  if (event.type === 'retried' && data.run_at !== undefined) {
    return `${error ?? 'failed'}; again in ${span(Math.max(0, Date.parse(data.run_at) - event.at))}`
  }
  if (event.type === 'gate.opened') return data.gate === undefined ? null : `gate ${data.gate}`
  if (event.type === 'instance.draining') return error ?? data.reason ?? null
  if (event.type === 'returned' && data.run_at !== undefined)
    return `goes on in ${span(Math.max(0, Date.parse(data.run_at) - event.at))}`
  if (event.type === 'each.opened') return `${data.total} items`
  if (event.type === 'each.closed') return `${data.success} of ${data.total} done, ${data.failed} failed`
  if (event.type.startsWith('instance.') && data.outcome === 'partial') return 'partial'
  return error
}

export function traceLine(terminal: Terminal, step: TraceStep): string {
  const time = `+${span(step.at_ms)}`.padStart(12)
  const place =
    step.node === null ? step.name : placeOf({ node: step.node, item: step.item ?? -1, role: step.role ?? 'work' })
  const attempt = step.attempt !== null && step.attempt > 1 ? ` (attempt ${step.attempt})` : ''
  const detail = step.detail === null ? '' : `  ${brief(step.detail, 80)}`
  const where = `${step.child ? '  ' : ''}${place}`.padEnd(16)
  const type = (step.type ?? '').padEnd(18)
  return `${terminal.paint('dim', time)}  ${where} ${terminal.paint('dim', type)} ${paintState(terminal, step.outcome)}${attempt}${terminal.paint('dim', detail)}`.trimEnd()
}
