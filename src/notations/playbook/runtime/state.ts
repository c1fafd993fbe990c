/** The state of a pipeline: plain JSON, so that it can be saved as a checkpoint and continued by another process. */
import type { Json } from '../../../net/net.ts'
import type { Program } from './program.ts'

export interface Fields {
  readonly [name: string]: Json
}

/** Version of the form below. A checkpoint of any other version is not read: the pipeline begins from the start. */
export const STATE_VERSION = 1

export interface State {
  readonly version: typeof STATE_VERSION
  /** Index of the task that is being tried, or was tried last. */
  readonly at: number
  /** Tries of this visit of the task, this one included, from 1. */
  readonly attempt: number
  /** Visits of tasks so far, this one included; a retry is no new visit. */
  readonly visit: number
  /** Visits by label: makes the idempotency key of a second visit differ from the first's. */
  readonly visits: { readonly [label: string]: number }
  /** Tries of tasks so far, all together. */
  readonly executions: number
  /** Result of the task that last succeeded. */
  readonly prev: Json
  /** Results by label, of tasks that succeeded. */
  readonly results: Fields
  /** The entries it has set, which override the given ones. */
  readonly ctx: Fields
  readonly iter: Fields
  readonly step: Fields
}

export function freshState(): State {
  return {
    version: STATE_VERSION,
    at: 0,
    attempt: 1,
    visit: 0,
    visits: {},
    executions: 0,
    prev: null,
    results: {},
    ctx: {},
    iter: {},
    step: {},
  }
}

/** The saved value, if it is a state of this program; null: it cannot be read. */
export function readState(saved: unknown, program: Program): State | null {
  if (!isFields(saved) || saved['version'] !== STATE_VERSION) return null
  const { at, attempt, visit, executions, visits, prev, results, ctx, iter, step } = saved
  const counts = isCount(at, 0) && isCount(attempt, 1) && isCount(visit, 1) && isCount(executions, 1)
  if (!counts || (at as number) >= program.tasks.length || prev === undefined) return null
  if (![visits, results, ctx, iter, step].every(isFields)) return null
  if (!Object.values(visits as Fields).every((count) => isCount(count, 1))) return null
  return saved as unknown as State
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least
}
