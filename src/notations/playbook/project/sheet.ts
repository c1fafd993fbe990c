/** An execution as text: its counts, its entry and end, what failed, and its steps. */

import type { InstanceRow } from '../../../model/rows.ts'
import { brief, count, span } from '../../../views/words.ts'
import type { Own, Reading } from '../../interface/projection.ts'
import type { Line, Progress, Sheet, Table } from '../../interface/sheet.ts'
import type { Execution } from './execution.ts'
import { type LoadedExecution, loadExecution } from './load.ts'
import type { PlaybookStep } from './steps.ts'
import { toolsOf } from './tools.ts'

const MOST_STEPS = 200
const MOST_FAILURES = 10

export function sheetOf({ execution, steps }: LoadedExecution, now: number): Sheet {
  const shown = steps.length <= MOST_STEPS ? steps : [...steps].sort(byInterest).slice(0, MOST_STEPS)
  return {
    state: [{ text: execution.status, as: 'state' }],
    facts: factsOf(execution, steps.length),
    blocked: execution.blocked_tokens,
    failures: failuresOf(execution),
    steps: tableOf(shown, now),
    more: shown.length < steps.length ? `and ${steps.length - shown.length} more steps` : null,
  }
}

/** One line for each step that has begun, or is held. */
export function progressOf({ steps }: LoadedExecution, now: number, most: number): Progress {
  const begun = steps.filter(({ state, held, run }) => state !== 'pending' || held > 0 || run !== null)
  const shown = begun.slice(-most)
  return {
    earlier: begun.length - shown.length,
    steps: tableOf(shown, now),
    children: shown.flatMap(({ child }) => child ?? []),
  }
}

function factsOf({ counts, entry_step: entry, final_step: final }: Execution, all: number): readonly Line[] {
  const parts = [`${count(counts.steps, 'step')} of ${all} begun`, `${counts.succeeded} done`]
  if (counts.failed > 0) parts.push(`${counts.failed} failed`, `${counts.unhandled} of them unhandled`)
  if (counts.open > 0) parts.push(`${counts.open} under way`)
  if (counts.branches !== null) parts.push(`${count(counts.branches, 'branch', 'branches')} ended`)
  const ended: readonly Line[] =
    final === null ? [] : [[`final    ${final.step}: `, { text: stepWord(final.state), as: 'state' }]]
  return [[`counts   ${parts.join(', ')}`], [`entry    ${entry ?? 'none'}`], ...ended]
}

function failuresOf({ failures }: Execution): readonly Line[] {
  const lines = failures.slice(0, MOST_FAILURES).map(({ step, code, message, handled }) => {
    const how = handled ? ' (handled)' : ''
    return [`failure  ${step ?? 'execution'}${how}: ${code}: ${brief(message, 200)}`]
  })
  return failures.length > MOST_FAILURES ? [...lines, [`failure  and ${failures.length - MOST_FAILURES} more`]] : lines
}

function tableOf(steps: readonly PlaybookStep[], now: number): Table {
  return {
    columns: [
      { title: 'STEP' },
      { title: 'STATE' },
      { title: 'TOOLS' },
      { title: 'TRIES', align: 'right' },
      { title: 'TOOK', align: 'right' },
      { title: 'NOTE' },
    ],
    rows: steps.map((step) => [
      step.node.key,
      { text: step.held > 0 && step.state === 'pending' ? 'held' : stepWord(step.state), as: 'state' },
      brief(toolsOf(step.node), 30),
      triesOf(step),
      tookOf(step, now),
      noteOf(step, now),
    ]),
  }
}

function byInterest(a: PlaybookStep, b: PlaybookStep): number {
  return rank(a) - rank(b)
}

function rank({ state, held }: PlaybookStep): number {
  if (state === 'failed' || held > 0) return 0
  return state === 'running' ? 1 : state === 'completed' ? 2 : 3
}

function stepWord(state: PlaybookStep['state']): string {
  return state === 'completed' ? 'done' : state
}

function triesOf({ run }: PlaybookStep): string {
  if (run === null) return ''
  const tries = run.attempt + (run.status === 'leased' || run.status === 'succeeded' ? 1 : 0)
  return tries === 0 ? '' : String(tries)
}

function tookOf({ startedAt, endedAt }: PlaybookStep, now: number): string {
  return startedAt === null ? '' : span(Math.max(0, (endedAt ?? now) - startedAt))
}

function noteOf(step: PlaybookStep, now: number): string {
  const { loop, held, error, state, run, child } = step
  const notes: string[] = []
  if (loop !== null) {
    const failed = loop.failed === 0 ? '' : `, ${loop.failed} failed`
    const open = loop.open === 0 ? '' : `, ${loop.open} under way`
    notes.push(`${loop.success} of ${loop.total} done${failed}${open}`)
  }
  if (held > 0) notes.push(`${count(held, 'token')} held`)
  if (error !== null && state !== 'completed') notes.push(`${error.code}: ${brief(error.message, 80)}`)
  if (child !== null) notes.push(`${brief(child.name, 30)} ${child.id}`)
  if (run?.status === 'leased') notes.push(`held by ${brief(run.leasedBy ?? 'an unnamed worker', 30)}`)
  if (run?.status === 'pending' && run.runAt > now) notes.push(`continues in ${span(run.runAt - now)}`)
  return notes.join('; ')
}

/** What only playbooks show: the execution. */
export async function ownOf(reading: Reading, instance: InstanceRow): Promise<Own | null> {
  const loaded = await loadExecution(reading, instance)
  if (loaded === null) return null
  const { execution } = loaded
  return { json: { execution }, counts: execution.counts, sheet: (now) => sheetOf(loaded, now) }
}

export async function progressAt(
  reading: Reading,
  instance: InstanceRow,
  { now, most }: { readonly now: number; readonly most: number },
): Promise<Progress | null> {
  const loaded = await loadExecution(reading, instance)
  return loaded === null ? null : progressOf(loaded, now, most)
}
