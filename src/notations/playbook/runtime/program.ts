/**
 * The program of one step: its tasks in order, with their rules. Compiled from a notation, stored in the net as the
 * opaque `program` of a run's work, and read by the worker. Templates and conditions are the author's text; defaults of
 * rules and tasks are already filled in.
 */

import { filterOfTools, typeOfTools, typeWithTools } from '../../../kernel/type-filters.ts'
import type { Json } from '../../../net/net.ts'
import type { Backoff } from '../../../net/retry/strategies.ts'

/** The type of runs that execute programs; the tools that a program needs follow it (kernel/type-filters.ts). */
export const STEP_TYPE = 'playbook.step'

/** The type for a program whose tasks are of these kinds. */
export function stepType(kinds: Iterable<string>): string {
  return typeWithTools(STEP_TYPE, kinds) ?? STEP_TYPE
}

/**
 * The types for a worker with tools of these kinds. Runs of the bare type are older than types with tools, or need very
 * many.
 */
export function stepTypes(kinds: Iterable<string>): readonly string[] {
  return [STEP_TYPE, filterOfTools(STEP_TYPE, kinds)]
}

export function isStepType(type: string): boolean {
  return typeOfTools(type) === STEP_TYPE
}

export interface Program {
  readonly step: string
  /** The name of an item (`loop.iterator`); null: the step is not a loop. */
  readonly iterator: string | null
  /** The step's own input: templates, rendered when the run starts. The arc's arguments take precedence. */
  readonly input: { readonly [name: string]: Json } | null
  readonly tasks: readonly Task[]
  /** Only the entries that the tasks name. */
  readonly keychain: readonly KeychainEntry[]
}

export interface Task {
  readonly label: string
  readonly kind: string
  /** The tool's own fields (url, method, code, cmds …), unrendered; not name, kind, input, set or policy. */
  readonly config: { readonly [field: string]: Json }
  readonly input: { readonly [name: string]: Json } | null
  /** Empty: ok continues, an error fails. */
  readonly rules: readonly Rule[]
  /** For an error that no rule matched. An ok outcome always continues. */
  readonly onUnmatched: 'fail' | 'continue'
  /**
   * The sets of the task, evaluated after it, when `output` is the raw result. Targets: `ctx.x`, `iter.x`, `step.x`.
   */
  readonly set: { readonly [target: string]: Json } | null
  readonly timeoutMs: number | null
  readonly line: number
}

/** The backoff strategies by their names in a playbook. */
export const BACKOFFS = {
  none: 'constant',
  linear: 'linear',
  exponential: 'exponential',
} as const satisfies Readonly<Record<string, Backoff>>

export interface Rule {
  /** null: always (`else`). */
  readonly when: string | null
  readonly do: 'continue' | 'retry' | 'jump' | 'break' | 'fail'
  /** Tries in all, the first included. */
  readonly attempts: number
  readonly backoff: keyof typeof BACKOFFS
  /** Seconds after the first failure; a text is a template. */
  readonly delayS: number | string
  /** A label, or `previous`. */
  readonly to: string | null
  readonly set: { readonly [target: string]: Json } | null
  readonly line: number
}

export interface KeychainEntry {
  readonly name: string
  readonly kind: 'env' | 'file'
  /** env: key → variable. */
  readonly map: { readonly [key: string]: string } | null
  /** env: the one variable; file: the path (JSON or YAML gives keys, anything else is one text). */
  readonly ref: string | null
}

/** The part that varies from run to run. References to large parts are resolved before a handler receives it. */
export interface StepPayload {
  readonly execution_id: string
  /** Only the keys that are used, or all where it is used whole. */
  readonly workload: { readonly [key: string]: Json }
  readonly ctx: { readonly [key: string]: Json }
  /** Raw results of the steps that the program names. */
  readonly steps: { readonly [step: string]: Json }
  /** Of the token; in a final step: the summary. */
  readonly args: { readonly [key: string]: Json } | null
  /** In a loop. `ctx`: entries that earlier items may have written, as they were when this item began. */
  readonly item?: {
    readonly value: Json
    readonly index: number
    readonly total: number
    readonly ctx?: { readonly [key: string]: Json }
  }
}
