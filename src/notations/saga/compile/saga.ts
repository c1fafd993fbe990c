/** A saga as its author wrote it: checked part by part, not yet a net. */
import type { Json } from '../../../net/net.ts'
import type { Path } from '../../source/mistakes.ts'

export const API_VERSION = 'petrel.dev/v1'

/** Work unanswered for so long: is it still wanted? */
export const DEADLINE_MS = 15 * 60_000
/** A command that was published and not answered is published again after this. */
export const RESEND_MS = 30_000

export const FAILURE_POLICIES = ['compensate', 'stop'] as const
export const SILENCE_POLICIES = ['stop', 'compensate'] as const

export interface Saga {
  readonly name: string
  readonly version: string
  /** code: bodies are built by the process that registered this version. template: they stand in the definition. */
  readonly build: 'code' | 'template'
  /** compensate: what was done is undone. stop: it stays, and an operator resumes at the failed step. */
  readonly onFailure: (typeof FAILURE_POLICIES)[number]
  readonly timeoutMs: number | null
  readonly steps: readonly Step[]
}

export interface Step {
  readonly name: string
  readonly command: Message
  /** null: there is nothing to undo. */
  readonly compensation: Message | null
  /** null: as every step of this saga, the one before it. */
  readonly dependsOn: readonly string[] | null
  readonly onSilence: (typeof SILENCE_POLICIES)[number]
  readonly path: Path
}

export interface Message {
  readonly subject: string
  /** A template; undefined: built by code, or the whole request (of a compensation: the whole result). */
  readonly body: Json | undefined
  /** How long it may stay unanswered. */
  readonly deadlineMs: number
  readonly resendMs: number
  /** Failures that are answered by sending the command again. */
  readonly retries: Retries
  readonly path: Path
}

export interface Retries {
  /** Times it is sent again, beside the first. */
  readonly max: number
  readonly delayMs: number
  readonly maxDelayMs: number
}
