/** A workflow as its author wrote it: checked part by part, not yet a net. Every part knows its place in the file. */
import type { Json, Retry } from '../../../net/net.ts'
import type { Path } from '../../source/mistakes.ts'

/** What can go wrong with a step. An error that does not say counts as `agent`. */
export const CATEGORIES = ['transient', 'agent', 'timeout', 'validation', 'external', 'governance'] as const
/** Those a policy may name: trying the others again would give the same answer. */
export const RETRYABLE = ['transient', 'agent', 'external'] as const

export interface Workflow {
  readonly name: string
  readonly steps: readonly Step[]
  readonly compensation: readonly Compensation[]
  readonly timeoutMs: number | null
  readonly failurePolicy: FailurePolicy
  /** For steps that do not say. */
  readonly governance: Approval | null
  readonly path: Path
}

export const FAILURE_POLICIES = ['abort', 'compensate', 'retry'] as const
export type FailurePolicy = (typeof FAILURE_POLICIES)[number]

/** Who does it and what it is told: the same for a step and for what undoes it. */
export interface Task {
  readonly agent: string | null
  readonly action: string | null
  readonly uses: string | null
  readonly queue: string | null
  /** Further arguments, a template. */
  readonly with: Json | null
  readonly timeoutMs: number | null
  readonly retry: Retry
}

export interface Step extends Task {
  readonly name: string
  readonly dependsOn: readonly string[]
  /** null: as the workflow says. */
  readonly onFailure: 'abort' | 'skip' | 'compensate' | null
  readonly readOnly: boolean
  readonly approval: Approval | null
  /** Who is asked when governance forbids the step; null: anybody. */
  readonly governance: Approval | null
  /** Of `with`, or of the workflow's input where there is none. */
  readonly inputSchema: Json | null
  readonly outputSchema: Json | null
  /** The nested workflow that is this step. */
  readonly workflow: string | null
  readonly path: Path
}

export interface Approval {
  /** As src/model/gates.ts reads them. */
  readonly options: { readonly [key: string]: Json }
  readonly timeoutMs: number | null
  readonly onTimeout: 'approve' | 'reject'
}

export interface Compensation extends Task {
  readonly step: string
  readonly path: Path
}
