/** The saved state of a pipeline during a long rest: its position, and the end of the rest. */
import { longestDelayMs } from './delay.ts'
import type { Program } from './program.ts'
import { type Fields, readState, type State } from './state.ts'

export interface Checkpoint {
  /** Number of the execution that saved it. */
  readonly execution: number
  readonly restMs: number
  /** On the machine's clock, in ms since 1970. */
  readonly restsUntil: number
  /** The step's input as it was rendered when the run started. */
  readonly input: Fields
  readonly state: State
}

/** For a pipeline that failed: if it is executed again, it begins from the start. */
export const VOID_CHECKPOINT = { void: true }

/** Programs that never rest for long never save anything, and need no lookup. */
export function mayCheckpoint(program: Program, longRestMs: number): boolean {
  return program.tasks.some(({ rules }) => rules.some((rule) => longestDelayMs(rule) >= longRestMs))
}

/** null: no checkpoint to continue from. `unreadable`: there is one, by another version or damaged. */
export function readCheckpoint(saved: unknown, program: Program): Checkpoint | 'unreadable' | null {
  if (saved === null || saved === undefined) return null
  if (typeof saved !== 'object') return 'unreadable'
  if ('void' in saved) return null
  const { execution, restMs, restsUntil, input, state } = saved as { readonly [name: string]: unknown }
  const numbers = [execution, restMs, restsUntil].every((value) => Number.isFinite(value))
  const read = readState(state, program)
  if (!numbers || read === null || typeof input !== 'object' || input === null) return 'unreadable'
  return { ...(saved as Checkpoint), state: read }
}

/** How much of the rest is left for the execution with this number. */
export function restLeft(
  { execution, restMs, restsUntil }: Checkpoint,
  now: { readonly execution: number; readonly at: number },
): number {
  if (execution === now.execution) return 0
  return Math.min(Math.max(restsUntil - now.at, 0), restMs)
}
