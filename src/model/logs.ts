/**
 * What executions log: lines, in parts as they were written. A part belongs to one execution of a run, and a run keeps the
 * first part and the newest lines of each execution, up to a number of bytes.
 */
import type { LogLine } from '../kernel/log-lines.ts'

export interface NewLogPart {
  readonly runId: string
  /** The lease under which it is written; any other is stale. */
  readonly epoch: number
  /** The holder of the lease by its stored name; null: the epoch is enough. */
  readonly holder: string | null
  /** The number of its first line among those of its execution, from 0; null: it follows the last part. */
  readonly first: number | null
  readonly lines: readonly LogLine[]
}

export interface LogPart {
  readonly id: number
  readonly runId: string
  readonly node: string | null
  readonly item: number
  /** Number of the execution, from 1. */
  readonly attempt: number
  readonly epoch: number
  /** A difference to the end of the part before it is the number of lines that were not kept. */
  readonly first: number
  readonly lines: readonly LogLine[]
}

export interface LogQuery {
  /** Of one run, or of all runs of one instance. */
  readonly of: { readonly runId: string } | { readonly instanceId: string }
  /** Only this execution. */
  readonly attempt: number | null
  readonly after: number
  /** Parts. */
  readonly limit: number
}

export interface Logs {
  /** How many parts were stored; those of leases that have ended are dropped. */
  append(parts: readonly NewLogPart[]): Promise<number>
  /** Oldest first. */
  read(query: LogQuery): Promise<readonly LogPart[]>
}

/** Kept of one execution, and of one run, besides the first part. */
export const EXECUTION_LOG_BYTES = 256 * 1024
export const RUN_LOG_BYTES = 1024 * 1024
