/**
 * A playbook in one form, whatever its spelling. `path` is the place of a part in the file, for mistakes that are found
 * later.
 */

import type { Path } from '../../../kernel/reading/mistakes.ts'
import type { Json } from '../../../net/net.ts'
import type { BACKOFFS } from '../runtime/program.ts'

export type Templates = { readonly [name: string]: Json }

export interface Playbook {
  readonly name: string
  readonly keychain: readonly Secret[]
  readonly executor: Executor
  readonly workload: Templates
  readonly steps: readonly Step[]
}

export interface Executor {
  readonly entry: string | null
  readonly final: string | null
  readonly noNextIsError: boolean
  readonly queue: string | null
  readonly timeoutMs: number | null
  readonly failedOn: 'unhandled' | 'any' | 'fail_fast'
  readonly partial: boolean
  readonly pending: 'wait' | 'complete'
  readonly finalStepFailure: 'fail' | 'partial'
  /** all: every step that several arcs lead to waits for all tokens of the fork. */
  readonly join: 'each' | 'all'
  readonly maxPayloadBytes: number
  /** Kinds of tools that workers provide: their fields are not known here. */
  readonly requires: readonly string[]
  readonly path: Path
}

/** One declared entry of the keychain. */
export interface Secret {
  readonly name: string
  /** null: a kind that Petrel cannot read. A mistake only where a task names the entry. */
  readonly kind: 'env' | 'file' | null
  readonly map: { readonly [key: string]: string } | null
  readonly ref: string | null
  readonly path: Path
}

export interface Step {
  readonly name: string
  /** Rendered by the worker when a run starts; the arc's arguments take precedence. */
  readonly input: Templates | null
  readonly loop: Loop | null
  /** Empty: the step only routes. */
  readonly tasks: readonly Task[]
  /** Context entries written when the step has succeeded. */
  readonly set: Templates | null
  readonly next: Router
  readonly admit: Admit | null
  /** null: according to the executor's policy. */
  readonly join: 'each' | 'all' | null
  readonly queue: string | null
  readonly timeoutMs: number | null
  /** How a loop reacts when an item fails. */
  readonly failureMode: 'fail_fast' | 'best_effort'
  readonly path: Path
}

export interface Loop {
  /** An expression; null: a mistake that was noted. */
  readonly in: string | null
  /** The list itself, if the author wrote one. */
  readonly literal: readonly Json[] | null
  readonly iterator: string
  /** null: all at once. A text: an expression. */
  readonly maxInFlight: number | string | null
  readonly path: Path
}

export interface Task {
  readonly label: string
  readonly kind: string
  /** The tool's own fields. */
  readonly config: Templates
  /** The place of each field: some authors put them into `spec`. */
  readonly places: { readonly [field: string]: Path }
  readonly input: Templates | null
  readonly inputPath: Path
  readonly rules: readonly Rule[]
  readonly onUnmatched: 'fail' | 'continue'
  /** Targets: `ctx.x`, `iter.x`, `step.x`. */
  readonly set: Templates | null
  readonly timeoutMs: number | null
  readonly path: Path
}

export const ACTIONS = ['continue', 'retry', 'jump', 'break', 'fail'] as const

export interface Rule {
  readonly when: string | null
  readonly do: (typeof ACTIONS)[number]
  readonly attempts: number
  readonly backoff: keyof typeof BACKOFFS
  readonly delayS: number | string
  readonly to: string | null
  readonly set: Templates | null
  /** The place of `when`, or of the rule if it has none. */
  readonly path: Path
  /** The place of the action. */
  readonly thenPath: Path
}

export interface Router {
  readonly mode: 'exclusive' | 'inclusive'
  readonly arcs: readonly Arc[]
  readonly path: Path
}

export interface Arc {
  readonly to: string
  readonly when: string | null
  readonly args: Templates | null
  readonly set: Templates | null
  readonly path: Path
  /** The place of the step's name. */
  readonly toPath: Path
}

export interface Admit {
  readonly rules: readonly { readonly when: string | null; readonly allow: boolean; readonly path: Path }[]
  readonly onDeny: 'hold' | 'discard'
  readonly path: Path
}

/** The value of a guard that does not depend on anything; null: it does. */
export function constantOf(when: string | null): boolean | null {
  if (when === null) return true
  const word = /^(?:\{\{-?)?\s*(true|false|1|0)\s*(?:-?\}\})?$/i.exec(when.trim())?.[1]?.toLowerCase()
  return word === undefined ? null : word === 'true' || word === '1'
}
