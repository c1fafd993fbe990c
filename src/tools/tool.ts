/**
 * What a task of a pipeline can do: one tool per kind. A tool receives its fields rendered and answers with an
 * envelope; an external error is an envelope of status error, never an exception.
 */
import type { Logger } from '../kernel/logger.ts'
import type { Json } from '../net/net.ts'

export type Fields = { readonly [field: string]: Json }

export interface Tool {
  readonly kind: string
  /** Fields passed on as they were written, without rendering. */
  readonly verbatim?: readonly string[]
  /** Problems of a task's fields, at validation: unknown field, missing field; path below the task. */
  check(config: Fields): readonly Problem[]
  /** config and input are rendered. Never throws for an external error: that is an outcome. */
  run(task: ToolCall): Promise<Envelope>
}

export interface Problem {
  readonly path: readonly string[]
  readonly message: string
  readonly hint?: string
  readonly warning?: true
}

export interface ToolCall {
  readonly config: Fields
  readonly input: Fields
  readonly context: Fields
  /** The run's tenant; null: none. */
  readonly tenant: string | null
  readonly signal: AbortSignal
  /** The task's limit, which overrides its fields; null: only the fields or the tool's default apply. */
  readonly timeoutMs: number | null
  /** Idempotency key of the run and the label of the task. */
  readonly key: string
  readonly logger: Logger
  /** Takes each line that the task prints, as soon as it is complete. */
  readonly print?: (stream: 'stdout' | 'stderr', line: string) => void
  /**
   * Registers a secret that is not among the tool's fields: it is redacted from all results, errors and logs of this
   * step.
   */
  conceal(secret: string): void
}

export interface Envelope {
  readonly status: 'ok' | 'error'
  readonly result: Json
  readonly error: ToolError | null
  readonly http?: { readonly status: number; readonly headers: { readonly [name: string]: string } }
  readonly pg?: { readonly code: string; readonly sqlstate: string }
  readonly py?: { readonly exception_type: string }
}

export interface ToolError {
  readonly kind: ErrorKind
  readonly retryable: boolean
  readonly code: string | null
  readonly message: string
  readonly details?: Json
}

/** The values for `error.kind` that rules may compare with; a custom tool may have more. */
export type ErrorKind =
  | 'connection'
  | 'timeout'
  | 'rate_limit'
  | 'auth'
  | 'not_found'
  | 'client_error'
  | 'server_error'
  | 'schema'
  | 'parse'
  | 'transform'
  | 'db_connection'
  | 'db_constraint'
  | 'db_deadlock'
  | 'db_timeout'
  | 'storage_quota'
  | 'storage_access'
  | 'cancelled'
  | 'unsupported'
  | 'unknown'
  | (string & {})
