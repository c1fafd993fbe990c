/** A workflow of steps as `petrel show` prints it: its state and the way there, its steps, its conditions. */

import type { EngineApi } from '../engine/api.ts'
import type { InstanceRow } from '../model/rows.ts'
import { indexNet } from '../net/compile.ts'
import { dagNodes, loadStatus } from '../notations/dag/project/load.ts'
import type { DagStatus } from '../notations/dag/project/status.ts'
import { loadSteps, nodesBefore, type StepView } from '../views/steps.ts'
import { harmless, type Terminal } from './terminal/terminal.ts'
import { brief, paintState, span } from './terminal/words.ts'

/** The most lines of steps; if there are more, those that have not simply completed come first. */
const MOST_STEPS = 200

export interface DagView {
  readonly status: DagStatus
  readonly steps: readonly StepView[]
  readonly before: (step: string) => readonly string[]
}

/** null: it is of another notation. */
export async function dagView(engine: EngineApi, instance: InstanceRow): Promise<DagView | null> {
  const status = await loadStatus(engine, instance)
  const net = status === null ? null : await engine.net(instance.netHash)
  if (status === null || net === null) return null
  const compiled = indexNet(net)
  const steps = await loadSteps(engine.store.read, compiled, instance, dagNodes(net))
  return { status, steps, before: (key) => nodesBefore(compiled, key) }
}

/** `completed (RolledBack)`: the state, and conditions that it does not express. */
export function printDagState(terminal: Terminal, { status }: DagView): string {
  const told = status.conditions.filter(({ status, type }) => status === 'True' && type !== 'Blocked')
  const more = told.length === 0 ? '' : ` (${told.map(({ type }) => type).join(', ')})`
  return `${paintState(terminal, status.state)}${more}`
}

export function printDag(terminal: Terminal, view: DagView, now: number): void {
  const { status, steps } = view
  terminal.print(`path     ${status.transitions.map(({ state }) => state).join(' → ')}`)
  const { tokens, cost, currency } = status.costAccumulated
  if (tokens > 0 || cost !== 0)
    terminal.print(`cost     ${tokens} tokens, ${cost ?? 'several currencies'} ${currency ?? ''}`.trimEnd())
  for (const { type, status: holds, message } of status.conditions) {
    terminal.print(`${terminal.paint('bold', type)} ${holds}: ${brief(message, 300)}`)
  }
  const shown = steps.length <= MOST_STEPS ? steps : mostTelling(steps)
  terminal.print()
  terminal.table(
    [
      { title: 'STEP' },
      { title: 'STATE' },
      { title: 'AFTER' },
      { title: 'TRIES', align: 'right' },
      { title: 'TOOK', align: 'right' },
      { title: 'NOTE' },
    ],
    shown.map((step) => lineOf(terminal, step, view.before(step.node.key), now)),
  )
  if (shown.length < steps.length) terminal.print(`${steps.length - shown.length} more steps have completed or wait`)
}

function mostTelling(steps: readonly StepView[]): readonly StepView[] {
  const rank = ({ state, undo }: StepView): number =>
    state === 'failed' || undo !== null
      ? 0
      : state === 'running'
        ? 1
        : state === 'skipped'
          ? 2
          : state === 'pending'
            ? 3
            : 4
  return steps.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST_STEPS)
}

function lineOf(terminal: Terminal, step: StepView, sources: readonly string[], now: number): readonly string[] {
  const { node, run, startedAt, endedAt } = step
  const tries =
    run === null ? '' : String(run.attempt + (run.status === 'leased' || run.status === 'succeeded' ? 1 : 0))
  const took = startedAt === null ? '' : span(Math.max(0, (endedAt ?? now) - startedAt))
  return [
    harmless(node.key),
    paintState(terminal, step.state),
    brief(sources.join(', '), 40),
    tries === '0' ? '' : tries,
    took,
    noteOf(step),
  ]
}

function noteOf({ state, error, undo, gate, child, run, node }: StepView): string {
  const notes: string[] = []
  if (error !== null && state !== 'completed') notes.push(brief(error.message))
  if (gate?.state === 'open') notes.push(`gate ${gate.id}`)
  if (gate?.state === 'approved' && gate.answeredBy !== null && node.work.kind === 'gate')
    notes.push(`by ${brief(gate.answeredBy)}`)
  if (child !== null) notes.push(`${brief(child.name, 30)} ${child.id}`)
  if (run?.status === 'leased')
    notes.push(run.deferred ? 'deferred' : `held by ${brief(run.leasedBy ?? 'somebody', 30)}`)
  if (undo !== null) notes.push(undoNote(undo.status, undo.lastError))
  return notes.join('; ')
}

function undoNote(status: string, error: string | null): string {
  if (status === 'succeeded') return 'undone'
  if (status === 'failed') return `its undo failed: ${brief(error ?? '')}`
  return status === 'cancelled' ? 'its undo was stopped' : 'being undone'
}
