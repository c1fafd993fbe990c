/**
 * What a task of a pipeline can do: one tool per kind. A tool is given its fields rendered and answers with an
 * envelope; what the outside does wrong is an envelope of status error, never an exception.
 */
import type { Logger } from '../kernel/logger.ts'
import type { Json } from '../net/net.ts'

export type Fields = { readonly [field: string]: Json }

export interface Tool {
  readonly kind: string
  /** Fields handed over as they were written, templates and all. */
  readonly verbatim?: readonly string[]
  /** Problems of a task's fields, at validation: unknown field, missing field; path below the task. */
  check(config: Fields): readonly Problem[]
  /** config and input are rendered. Never throws for what the outside does wrong: that is an outcome. */
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
  /** Whose run it is; null: of no tenant. */
  readonly tenant: string | null
  readonly signal: AbortSignal
  /** Of the task, over whatever its fields say; null: only what the fields or the tool's default say. */
  readonly timeoutMs: number | null
  /** Idempotency key of the run and the label of the task. */
  readonly key: string
  readonly logger: Logger
  /** A secret the tool has from elsewhere than its fields: struck out of all that this step gives, fails with and logs. */
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

/** The words rules may compare `error.kind` with; a tool of one's own may have more. */
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
