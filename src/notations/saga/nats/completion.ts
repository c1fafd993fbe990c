/**
 * A service's report about a step: { workflow_instance_id, step_id, success, result_json, error_message, outcome?, log?
 * }.
 */
import type { Completion } from '../../../model/commands.ts'
import type { Json } from '../../../net/net.ts'
import { choiceOf, type Fields, flagOf, idOf, jsonOf, kind, need, textOf, wrong } from './body.ts'

export const OUTCOMES = ['completed', 'completed_with_warnings', 'failed'] as const
export type StepOutcome = (typeof OUTCOMES)[number]

const LEVELS = ['info', 'warn', 'error'] as const

/** A line of a step's log. */
export interface StepLogLine {
  readonly level: (typeof LEVELS)[number]
  readonly message: string
  readonly context?: Json
}

const MOST_LINES = 1000

export function readCompletion(fields: Fields): Completion & { readonly instanceId: string } {
  const instanceId = need(idOf(fields, 'workflow_instance_id'), 'workflow_instance_id')
  const runId = need(idOf(fields, 'step_id'), 'step_id')
  const outcome = readOutcome(fields)
  const log = readLog(fields['log'] ?? null)
  const result = jsonOf(fields, 'result_json')
  const message = textOf(fields, 'error_message', 100_000) || null
  const notes = [...(outcome === 'completed_with_warnings' ? [{ outcome }] : []), ...log]
  const about = { runId, instanceId, ...(notes.length === 0 ? {} : { notes: notes as unknown as readonly Json[] }) }
  if (outcome !== 'failed') return { ...about, outcome: { kind: 'succeeded', result } }
  const error = {
    code: 'step_failed',
    message: message ?? 'the service reported a failure without a reason',
    ...(result === null ? {} : { details: { result } }),
  }
  return { ...about, outcome: { kind: 'failed', error } }
}

/** `success` is the protocol's; `outcome` is more precise. Both may be given if they agree. */
function readOutcome(fields: Fields): StepOutcome {
  const success = flagOf(fields, 'success')
  const outcome = choiceOf(fields, 'outcome', OUTCOMES)
  if (outcome === undefined) return need(success, 'success') ? 'completed' : 'failed'
  if (success !== undefined && success !== (outcome !== 'failed')) {
    throw wrong('outcome', `${outcome}, but success is ${success}`)
  }
  return outcome
}

function readLog(log: Json): readonly StepLogLine[] {
  if (log === null) return []
  if (!Array.isArray(log)) throw wrong('log', `${kind(log)}, not a list`)
  if (log.length > MOST_LINES) throw wrong('log', `longer than ${MOST_LINES} lines`)
  return log.map((line, i): StepLogLine => {
    if (typeof line !== 'object' || line === null || Array.isArray(line)) throw wrong(`log[${i}]`, kind(line))
    const fields = line as Fields
    const level = choiceOf(fields, 'level', LEVELS) ?? 'info'
    const message = need(textOf(fields, 'message', 100_000), `log[${i}].message`)
    return { level, message, ...(fields['context'] == null ? {} : { context: fields['context'] }) }
  })
}
