/** A saga as its author wrote it: checked part by part, not yet a net. */

import type { Path } from '../../../kernel/reading/mistakes.ts'
import type { Json } from '../../../net/net.ts'

export const API_VERSION = 'petrel.dev/v1'

/** After this long without an answer, the work may no longer be wanted. */
export const DEADLINE_MS = 15 * 60_000
/** A command that was published and not answered is published again after this. */
export const RESEND_MS = 30_000

export const FAILURE_POLICIES = ['compensate', 'stop'] as const
export const SILENCE_POLICIES = ['stop', 'compensate'] as const

export interface Saga {
  readonly name: string
  readonly version: string
  /** code: bodies are built by the process that registered this version. template: they are in the definition. */
  readonly build: 'code' | 'template'
  /** compensate: completed steps are undone. stop: they stay, and an operator resumes at the failed step. */
  readonly onFailure: (typeof FAILURE_POLICIES)[number]
  readonly timeoutMs: number | null
  readonly steps: readonly Step[]
}

export interface Step {
  readonly name: string
  readonly command: Message
  /** null: nothing is undone. */
  readonly compensation: Message | null
  /** null: the previous step, as for every step of this saga. */
  readonly dependsOn: readonly string[] | null
  readonly onSilence: (typeof SILENCE_POLICIES)[number]
  readonly path: Path
}

export interface Message {
  readonly subject: string
  /** A template; undefined: built by code, or the whole request (for a compensation: the whole result). */
  readonly body: Json | undefined
  /** How long it may stay unanswered. */
  readonly deadlineMs: number
  readonly resendMs: number
  /** Retries: the command is sent again after a failure. */
  readonly retries: Retries
  readonly path: Path
}

export interface Retries {
  /** How many times it is sent again after the first. */
  readonly max: number
  readonly delayMs: number
  readonly maxDelayMs: number
}
