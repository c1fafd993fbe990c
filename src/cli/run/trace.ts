/** Events of an instance and its children as readable lines: node, attempt, outcome, time. */

import type { Queries } from '../../model/queries/queries.ts'
import type { InstanceRow, RunRow, StoredEvent } from '../../model/rows.ts'
import type { Net } from '../../net/net.ts'
import { plainOutcome, plainTrace, type Trace, type TracedData } from '../../notations/interface/trace.ts'
import { projectionOf } from '../../notations/notations.ts'
import { span } from '../../views/words.ts'
import { json } from '../../wire/value.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { brief, paintState, placeOf } from '../terminal/words.ts'

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

/** Turns events into steps. Runs are read once per batch for their item, role and type, children once for their name. */
export class Tracer {
  readonly #queries: Queries
  readonly #root: InstanceRow
  readonly #names = new Map<string, string>()
  readonly #traces = new Map<string, Trace>()

  constructor(queries: Queries, root: InstanceRow) {
    this.#queries = queries
    this.#root = root
    this.#names.set(root.id, root.name)
  }

  /** Steps worth a line, in the order in which they happened. */
  async steps(events: readonly StoredEvent[]): Promise<readonly TraceStep[]> {
    const shown = (event: StoredEvent): boolean => plainOutcome(event) !== undefined || event.type === 'returned'
    const ids = events.filter((e) => e.runId !== null && shown(e)).map((e) => e.runId as string)
    const runs = new Map((await this.#queries.runs({ ids: [...new Set(ids)] })).map((run) => [run.id, run]))
    const steps: TraceStep[] = []
    for (const event of events) {
      const step = await this.#step(event, event.runId === null ? undefined : runs.get(event.runId))
      if (step !== null) steps.push(step)
    }
    return steps
  }

  async #step(event: StoredEvent, run: RunRow | undefined): Promise<TraceStep | null> {
    if (event.instanceId === null) return null
    const data = (json(event.data) ?? {}) as TracedData
    const trace = await this.#trace(event.instanceId)
    const outcome = trace.outcome(event, data, run)
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
      type: (event.node === null ? undefined : trace.toolsAt(event.node)) ?? run?.type ?? null,
      attempt: run === undefined ? null : attemptOf(event, data, run),
      outcome: timedOut && outcome === 'failed' ? 'timed out' : outcome,
      detail: detailOf(event, data),
    }
  }

  async #trace(id: string): Promise<Trace> {
    const known = this.#traces.get(id)
    if (known !== undefined) return known
    const row = await this.#queries.instance(id)
    const make = row === null ? undefined : projectionOf(row).trace
    const stored = row === null || make === undefined ? null : await this.#queries.net(row.netHash)
    const trace = stored === null || make === undefined ? plainTrace : make(JSON.parse(stored.net) as Net)
    this.#traces.set(id, trace)
    return trace
  }

  async #nameOf(id: string): Promise<string> {
    const known = this.#names.get(id)
    if (known !== undefined) return known
    const name = (await this.#queries.instance(id))?.name ?? ''
    this.#names.set(id, name)
    return name
  }
}

/** The execution the event ends: failures are counted after it, a success is not one of them. */
function attemptOf(event: StoredEvent, data: TracedData, run: RunRow): number {
  if (event.type === 'retried') return data.attempt ?? run.attempt
  if (event.type === 'failed') return Math.max(1, run.attempt)
  return run.attempt + 1
}

function detailOf(event: StoredEvent, data: TracedData): string | null {
  const error = data.error?.message ?? null
  if (event.type === 'retried' && data.run_at !== undefined) {
    return `${error ?? 'failed'}; again in ${span(Math.max(0, Date.parse(data.run_at) - event.at))}`
  }
  if (event.type === 'gate.opened') return data.gate === undefined ? null : `gate ${data.gate}`
  if (event.type === 'instance.draining') return error ?? data.reason ?? null
  if (event.type === 'returned' && data.run_at !== undefined)
    return `continues in ${span(Math.max(0, Date.parse(data.run_at) - event.at))}`
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
