/** A workflow in the terms of OJS: jobs, composed by chains, groups and batches that may be nested. */
import { PetrelError } from '../../../kernel/errors.ts'
import { MAX_FAIR_KEY_LENGTH } from '../../../kernel/limits.ts'
import type { Json } from '../../../net/net.ts'
import { problemsOfRetry, type Retry } from '../../../net/retry/retry.ts'

export const KINDS = ['chain', 'group', 'batch'] as const
export type Kind = (typeof KINDS)[number]

/** The callbacks of a batch: their names on the wire, which are also the keys of their nodes. */
export const CALLBACKS = ['on_complete', 'on_success', 'on_failure'] as const

export type Tree = JobTree | ChainTree | GroupTree | BatchTree

export interface JobTree {
  readonly kind: 'job'
  readonly type: string
  readonly args: Json
  readonly options: JobOptions
}

export interface ChainTree {
  readonly kind: 'chain'
  /** Its author's name for it, unique among all workflows. */
  readonly id?: string
  readonly name?: string
  readonly steps: readonly Tree[]
}

export interface GroupTree {
  readonly kind: 'group'
  /** Its author's name for it, unique among all workflows. */
  readonly id?: string
  readonly name?: string
  readonly jobs: readonly Tree[]
}

export interface BatchTree {
  readonly kind: 'batch'
  /** Its author's name for it, unique among all workflows. */
  readonly id?: string
  readonly name?: string
  readonly jobs: readonly Tree[]
  readonly onComplete: Tree | null
  readonly onSuccess: Tree | null
  readonly onFailure: Tree | null
}

export interface JobOptions {
  readonly queue?: string
  /** Smaller runs earlier; default 100. */
  readonly priority?: number
  readonly delayMs?: number
  /** Not before this moment. */
  readonly runAt?: number
  /** If it has not started by then, it fails. */
  readonly expiresAt?: number
  readonly retry?: Partial<Retry>
  /** Per attempt, its grace period included. */
  readonly timeoutMs?: number
  /** How long before that its handler should stop. Kept as meta.petrel.grace_ms of its run. */
  readonly graceMs?: number
  readonly limitKey?: string
  /** Runs of a queue and priority are handed out by turns of their keys, such as those of its customers. */
  readonly fairKey?: string
  readonly meta?: { readonly [key: string]: Json }
  /**
   * For a job that came over the wire: the parts of its envelope that have no field here. Kept as meta.petrel.ojs of
   * its run.
   */
  readonly envelope?: Json
}

export const DEFAULT_RETRY: Retry = {
  maxAttempts: 3,
  backoff: 'exponential',
  initialMs: 1_000,
  coefficient: 2,
  maxMs: 300_000,
  jitter: 0.5,
  nonRetryable: [],
  retryOn: null,
  deadLetter: false,
}

/** Partial policies are completed by the default. */
export function retryOf(retry: Partial<Retry> | undefined): Retry {
  return retry === undefined ? DEFAULT_RETRY : { ...DEFAULT_RETRY, ...retry }
}

/** Refuses values that no run can have; `path` is the place of the job in the workflow. */
export function checkJob(job: Pick<JobTree, 'type' | 'options'>, path: string): void {
  const problem = problemOf(job)
  if (problem === null) return
  throw new PetrelError('invalid_request', `${path}${problem}`, { path: path.replace(/: $/, ''), problem })
}

function problemOf({ type, options }: Pick<JobTree, 'type' | 'options'>): string | null {
  if (typeof type !== 'string' || type === '' || type.length > 255)
    return 'a type must be a string of 1 to 255 characters'
  if (type.includes('%')) return `a job has one type; '${type}' is a pattern`
  const { queue, priority, delayMs, timeoutMs, limitKey, fairKey, meta, retry } = options
  if (queue !== undefined && (typeof queue !== 'string' || queue === '')) return 'queue must be a string'
  if (limitKey !== undefined && (typeof limitKey !== 'string' || limitKey === '')) return 'limitKey must be a string'
  if (fairKey !== undefined && !isFairKey(fairKey)) {
    return `fairKey must be a string of 1 to ${MAX_FAIR_KEY_LENGTH} characters`
  }
  if (priority !== undefined && !Number.isInteger(priority)) return 'priority must be a whole number'
  if (delayMs !== undefined && !(Number.isFinite(delayMs) && delayMs >= 0)) return 'delayMs must be 0 or more'
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) return 'timeoutMs must be more than 0'
  if (meta !== undefined && (typeof meta !== 'object' || meta === null || Array.isArray(meta))) {
    return 'meta must be an object'
  }
  if (meta !== undefined && 'petrel' in meta) return "meta.petrel is the engine's own"
  return retry === undefined ? null : problemOfRetry(retry)
}

function isFairKey(key: unknown): boolean {
  return typeof key === 'string' && key !== '' && [...key].length <= MAX_FAIR_KEY_LENGTH
}

function problemOfRetry(retry: Partial<Retry>): string | null {
  const [first] = problemsOfRetry(retryOf(retry))
  return first === undefined ? null : `retry.${first.field} ${first.rule}`
}
