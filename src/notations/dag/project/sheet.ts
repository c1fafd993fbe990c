/** A workflow of steps as text: its state and the way there, its conditions, its steps. */

import type { InstanceRow } from '../../../model/rows.ts'
import type { StepView } from '../../../views/steps.ts'
import { brief, span } from '../../../views/words.ts'
import type { Own, Reading } from '../../interface/projection.ts'
import type { Line, Sheet } from '../../interface/sheet.ts'
import { loadShown } from './load.ts'
import type { DagStatus } from './status.ts'

/** The most lines of steps; if there are more, those that have not simply completed come first. */
const MOST_STEPS = 200

export interface Shown {
  readonly status: DagStatus
  readonly steps: readonly StepView[]
  readonly before: (step: string) => readonly string[]
}

export function sheetOf({ status, steps, before }: Shown, now: number): Sheet {
  const shown = steps.length <= MOST_STEPS ? steps : mostRelevant(steps)
  return {
    state: stateOf(status),
    facts: factsOf(status),
    blocked: null,
    failures: [],
    steps: {
      columns: [
        { title: 'STEP' },
        { title: 'STATE' },
        { title: 'AFTER' },
        { title: 'TRIES', align: 'right' },
        { title: 'TOOK', align: 'right' },
        { title: 'NOTE' },
      ],
      rows: shown.map((step) => rowOf(step, before(step.node.key), now)),
    },
    more: shown.length < steps.length ? `${steps.length - shown.length} more steps have completed or wait` : null,
  }
}

/** `completed (RolledBack)`: the state, and conditions that it does not express. */
function stateOf({ state, conditions }: DagStatus): Line {
  const holding = conditions.filter(({ status, type }) => status === 'True' && type !== 'Blocked')
  const more = holding.length === 0 ? '' : ` (${holding.map(({ type }) => type).join(', ')})`
  return [{ text: state, as: 'state' }, more]
}

function factsOf({ transitions, costAccumulated, conditions }: DagStatus): readonly Line[] {
  const { tokens, cost, currency } = costAccumulated
  const paid = `cost     ${tokens} tokens, ${cost ?? 'several currencies'} ${currency ?? ''}`.trimEnd()
  return [
    [`path     ${transitions.map(({ state }) => state).join(' → ')}`],
    ...(tokens > 0 || cost !== 0 ? [[paid]] : []),
    ...conditions.map(
      ({ type, status, message }): Line => [{ text: type, as: 'strong' }, ` ${status}: ${brief(message, 300)}`],
    ),
  ]
}

function mostRelevant(steps: readonly StepView[]): readonly StepView[] {
  return steps.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST_STEPS)
}

function rank({ state, undo }: StepView): number {
  if (state === 'failed' || undo !== null) return 0
  return ['running', 'skipped', 'pending', 'completed'].indexOf(state) + 1
}

function rowOf(step: StepView, sources: readonly string[], now: number): Line {
  const { node, run, startedAt, endedAt } = step
  const tries = run === null ? 0 : run.attempt + (run.status === 'leased' || run.status === 'succeeded' ? 1 : 0)
  return [
    node.key,
    { text: step.state, as: 'state' },
    brief(sources.join(', '), 40),
    tries === 0 ? '' : String(tries),
    startedAt === null ? '' : span(Math.max(0, (endedAt ?? now) - startedAt)),
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
    notes.push(run.deferred ? 'deferred' : `held by ${brief(run.leasedBy ?? 'an unnamed worker', 30)}`)
  if (undo !== null) notes.push(undoNote(undo.status, undo.lastError))
  return notes.join('; ')
}

function undoNote(status: string, error: string | null): string {
  if (status === 'succeeded') return 'undone'
  if (status === 'failed') return `its undo failed: ${brief(error ?? '')}`
  return status === 'cancelled' ? 'its undo was stopped' : 'being undone'
}

/** What only workflows of steps show: the status block. */
export async function ownOf(reading: Reading, instance: InstanceRow): Promise<Own | null> {
  const shown = await loadShown(reading, instance)
  if (shown === null) return null
  return { json: { status: shown.status }, counts: instance, sheet: (now) => sheetOf(shown, now) }
}
