/** A workflow as its author wrote it: checked part by part, not yet a net. Every part has its place in the file. */

import type { Path } from '../../../kernel/reading/mistakes.ts'
import type { Json } from '../../../net/net.ts'
import type { Retry } from '../../../net/retry/retry.ts'

/** The categories of a step's error. An error without one counts as `agent`. */
export const CATEGORIES = ['transient', 'agent', 'timeout', 'validation', 'external', 'governance'] as const
/** The categories that a policy may name: another attempt would not change the others. */
export const RETRYABLE = ['transient', 'agent', 'external'] as const

export interface Workflow {
  readonly name: string
  readonly steps: readonly Step[]
  readonly compensation: readonly Compensation[]
  readonly timeoutMs: number | null
  readonly failurePolicy: FailurePolicy
  /** For steps without one. */
  readonly governance: Approval | null
  readonly path: Path
}

export const FAILURE_POLICIES = ['abort', 'compensate', 'retry'] as const
export type FailurePolicy = (typeof FAILURE_POLICIES)[number]

/** The agent and its instructions: the same for a step and for its compensation. */
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
  /** null: as in the workflow. */
  readonly onFailure: 'abort' | 'skip' | 'compensate' | null
  readonly readOnly: boolean
  readonly approval: Approval | null
  /** The approvers when governance forbids the step; null: any person. */
  readonly governance: Approval | null
  /** Validates `with`, or the workflow's input if there is none. */
  readonly inputSchema: Json | null
  readonly outputSchema: Json | null
  /** The nested workflow for this step. */
  readonly workflow: string | null
  readonly path: Path
}

export interface Approval {
  /** In the format of src/model/gates.ts. */
  readonly options: { readonly [key: string]: Json }
  readonly timeoutMs: number | null
  readonly onTimeout: 'approve' | 'reject'
}

export interface Compensation extends Task {
  readonly step: string
  readonly path: Path
}
