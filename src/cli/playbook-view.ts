/** A playbook as `petrel show`, `run` and `watch` print it: its state, its steps, what it waits for, its events. */

import type { EngineApi } from '../engine/api.ts'
import type { InstanceRow } from '../model/rows.ts'
import type { ExecutionEvent } from '../notations/playbook/project/envelope.ts'
import type { BlockedToken, Execution } from '../notations/playbook/project/execution.ts'
import { type LoadedExecution, loadExecution } from '../notations/playbook/project/load.ts'
import type { PlaybookStep } from '../notations/playbook/project/steps.ts'
import { namesAsked, rulesWords } from '../wire/why-words.ts'
import { toolsOf } from './playbook-tools.ts'
import { contextHint } from './terminal/hints.ts'
import { harmless, type Terminal } from './terminal/terminal.ts'
import { brief, count, paintState, span } from './terminal/words.ts'

const MOST_STEPS = 200
const MOST_FAILURES = 10

export type PlaybookView = LoadedExecution

/** null: it is of another notation. */
export function playbookView(engine: EngineApi, instance: InstanceRow): Promise<PlaybookView | null> {
  return loadExecution(engine, instance)
}

export function printPlaybook(terminal: Terminal, { execution, steps }: PlaybookView, now: number): void {
  const { counts, final_step: final, failures } = execution
  const parts = [`${count(counts.steps, 'step')} of ${steps.length} begun`, `${counts.succeeded} done`]
  if (counts.failed > 0) parts.push(`${counts.failed} failed`, `${counts.unhandled} of them unhandled`)
  if (counts.open > 0) parts.push(`${counts.open} under way`)
  if (counts.branches !== null) parts.push(`${count(counts.branches, 'branch', 'branches')} ended`)
  terminal.print(`counts   ${parts.join(', ')}`)
  terminal.print(`entry    ${harmless(execution.entry_step ?? 'none')}`)
  if (final !== null) terminal.print(`final    ${harmless(final.step)}: ${paintState(terminal, stepWord(final.state))}`)
  for (const line of blockedLines(execution)) terminal.print(line)
  for (const { step, code, message, handled } of failures.slice(0, MOST_FAILURES)) {
    const how = handled ? ' (handled)' : ''
    terminal.print(`failure  ${harmless(step ?? 'execution')}${how}: ${code}: ${brief(message, 200)}`)
  }
  if (failures.length > MOST_FAILURES) terminal.print(`failure  and ${failures.length - MOST_FAILURES} more`)
  const shown = steps.length <= MOST_STEPS ? steps : [...steps].sort(byInterest).slice(0, MOST_STEPS)
  terminal.print()
  for (const line of stepLines(terminal, shown, now)) terminal.print(line)
  if (shown.length < steps.length) terminal.print(`and ${steps.length - shown.length} more steps`)
}

/** The rules that hold tokens, and the context that would admit them. */
function blockedLines({ execution_id: id, blocked_tokens: blocked }: Execution): readonly string[] {
  return blocked.flatMap((token) => {
    const tokens = count(token.tokens, 'token')
    if (token.state === 'discarded') {
      return [`blocked  ${harmless(token.step)}: ${tokens} left over when it completed (${ruleText(token)})`]
    }
    return [
      `blocked  ${harmless(token.step)}: ${tokens} held (${ruleText(token)})`,
      `         ${contextHint(id, namesAsked(token.rules))}`,
    ]
  })
}

function ruleText({ rules }: BlockedToken): string {
  return brief(rulesWords(rules), 200)
}

export function stepLines(terminal: Terminal, steps: readonly PlaybookStep[], now: number): readonly string[] {
  return terminal.tableLines(
    [
      { title: 'STEP' },
      { title: 'STATE' },
      { title: 'TOOLS' },
      { title: 'TRIES', align: 'right' },
      { title: 'TOOK', align: 'right' },
      { title: 'NOTE' },
    ],
    steps.map((step) => [
      harmless(step.node.key),
      paintState(terminal, step.held > 0 && step.state === 'pending' ? 'held' : stepWord(step.state)),
      brief(toolsOf(step.node), 30),
      triesOf(step),
      tookOf(step, now),
      noteOf(step, now),
    ]),
  )
}

function byInterest(a: PlaybookStep, b: PlaybookStep): number {
  return rank(a) - rank(b)
}

function rank({ state, held }: PlaybookStep): number {
  if (state === 'failed' || held > 0) return 0
  return state === 'running' ? 1 : state === 'completed' ? 2 : 3
}

export function stepWord(state: PlaybookStep['state']): string {
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
  if (run?.status === 'leased') notes.push(`held by ${brief(run.leasedBy ?? 'somebody', 30)}`)
  if (run?.status === 'pending' && run.runAt > now) notes.push(`goes on in ${span(run.runAt - now)}`)
  return notes.join('; ')
}

/**
 * The event log as a table: time, event, place, and details. By time: the log itself has a step's beginning together
 * with its end.
 */
export function printEvents(terminal: Terminal, log: readonly ExecutionEvent[], since: number): void {
  const events = log.map((event) => ({ ...event, at: Date.parse(event.timestamp) - since })).sort((a, b) => a.at - b.at)
  terminal.table(
    [
      { title: 'AT', align: 'right' },
      { title: 'EVENT' },
      { title: 'OF' },
      { title: 'TRY', align: 'right' },
      { title: 'SAYS' },
    ],
    events.map((event) => [
      `+${span(Math.max(0, event.at))}`,
      eventWord(terminal, event),
      harmless(placeOf(event)),
      event.attempt !== null && event.attempt > 1 ? String(event.attempt) : '',
      brief(saidBy(event), 100),
    ]),
  )
}

function eventWord(terminal: Terminal, { event_type: type, status }: ExecutionEvent): string {
  return status === 'error' ? terminal.paint('red', type) : status === 'success' ? type : terminal.paint('dim', type)
}

function placeOf({ step, iteration, entity_type: entity, entity_id: id }: ExecutionEvent): string {
  if (step === null) return ''
  const item = iteration === null ? step : `${step}[${iteration}]`
  return entity === 'task' ? `${item} ${id.slice(step.length + 1)}` : item
}

/** The payload in a few words. */
function saidBy({ event_type: type, payload }: ExecutionEvent): string {
  const { error } = payload as {
    readonly error?: { readonly kind?: string; readonly code?: string; readonly message?: string }
  }
  if (error !== undefined && error !== null) return `${error.kind ?? error.code}: ${error.message ?? ''}`
  if (type === 'next.evaluated') {
    const steps = payload['steps'] as readonly string[]
    return steps.length === 0 ? 'no arc matched' : `→ ${steps.join(', ')}`
  }
  if (type === 'policy.task.evaluated') {
    const { do: verb, to, delay_s: delay } = payload
    return `${verb}${to === undefined ? '' : ` ${to}`}${delay === undefined ? '' : ` in ${delay} s`}`
  }
  if (type === 'policy.admit.evaluated')
    return payload['allow'] === true ? 'let in' : String(payload['token'] ?? 'kept out')
  if (type === 'loop.started') return `${payload['total']} items, ${payload['max_in_flight'] ?? 'all'} at a time`
  const { stats } = payload as {
    readonly stats?: { readonly total: number; readonly success: number; readonly failed: number }
  }
  if (stats !== undefined) return `${stats.success} of ${stats.total} done, ${stats.failed} failed`
  const { status, kind, duration_ms: ms, worker, actor } = payload
  return [
    status,
    kind,
    ms === undefined ? undefined : span(Number(ms)),
    worker,
    actor === undefined ? undefined : `by ${actor}`,
  ]
    .filter((part) => part !== undefined && part !== null)
    .join(', ')
}
