/** The time limit of a task. */
import { MAX_TIMER_MS } from '../kernel/limits.ts'
import { misfit } from './envelope.ts'
import { checkOneOf, given, isGiven, kindOf } from './fields.ts'
import type { Fields, Problem } from './tool.ts'

/** Seconds in a field, in ms; text of digits is accepted, because templates within text give text. */
export function secondsToMs(value: unknown, field: string): number {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) {
    throw misfit(
      `${field} must be a number of seconds above 0, not ${typeof value === 'string' ? `"${value}"` : kindOf(value)}`,
    )
  }
  return Math.min(Math.ceil(seconds * 1000), MAX_TIMER_MS)
}

/** The smaller limit of the fields and the task; if neither has one, the tool's default. */
export function timeLimit(config: Fields, task: number | null, defaultMs: number): number {
  const value = given(config, ...NAMES)
  if (value === undefined) return Math.min(task ?? defaultMs, MAX_TIMER_MS)
  return Math.min(secondsToMs(value, 'timeout'), task ?? MAX_TIMER_MS)
}

const NAMES = ['timeout_seconds', 'timeout']

export function checkTimeout(config: Fields): Problem[] {
  const problems = checkOneOf(config, NAMES, null)
  const name = NAMES.find((each) => isGiven(config, each))
  const value = name === undefined ? null : config[name]
  if (typeof value === 'number' && value <= 0) {
    problems.push({ path: [name!], message: `${name} must be above 0 seconds`, hint: `${name}: 30` })
  }
  return problems
}

export function spokenMs(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`
}
