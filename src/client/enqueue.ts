import type { CallerTransaction } from '../engine/api.ts'
import type { EnqueueParams, UniqueParams } from '../model/enqueue.ts'
import { checkJob, retryOf } from '../notations/ojs/compile/tree.ts'
import type { Job, StepOptions } from './builders.ts'

/** An open transaction of the caller's on the same Postgres, e.g. a `pg` client after BEGIN. */
export type TransactionClient = CallerTransaction['client']

export interface EnqueueOptions extends StepOptions {
  readonly id?: string
  /** Milliseconds since the epoch. */
  readonly runAt?: number
  /** Discarded if not started by then. */
  readonly expiresAt?: number
  /** Unique permanently: a second enqueue answers with the first run. */
  readonly idempotencyKey?: string
  readonly unique?: UniqueParams
  /** Queries find the run by them: `tag:eu`. */
  readonly tags?: readonly string[]
  readonly tenant?: string
  /** The run exists if and when this transaction commits. */
  readonly tx?: TransactionClient
}

/** A job of enqueueMany with options of its own. */
export interface EnqueueEntry extends Omit<EnqueueOptions, 'tx'> {
  readonly job: Job<null>
}

/** `path` begins the message about a mistake. */
export function enqueueParams(
  given: Pick<Job<never>, 'tree'>,
  options: Omit<EnqueueOptions, 'tx'>,
  path: string,
): EnqueueParams {
  const { type, args, options: own } = given.tree
  const merged = { ...options, ...own }
  checkJob({ type, options: merged }, path)
  const { retry, ...rest } = merged
  const policy = retryOf(retry)
  return { ...rest, type, payload: args, maxAttempts: policy.maxAttempts, retry: policy }
}

export function onTransaction(tx: TransactionClient | undefined): CallerTransaction | undefined {
  return tx === undefined ? undefined : { client: tx }
}
