/** Options of a job, whether it is in a workflow or not. */

import { LONGEST_MS } from '../../../kernel/duration.ts'
import { MAX_FAIR_KEY_LENGTH } from '../../../kernel/limits.ts'
import { isRelative } from '../../../kernel/moments.ts'
import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { LimitParams } from '../../../model/limits.ts'
import { HELD_AT } from '../../../model/rows.ts'
import type { Json } from '../../../net/net.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import { type Envelope, unknownOptions } from '../project/envelope.ts'
import { readMoment } from '../project/time.ts'
import { readRateLimit } from './limit.ts'
import { readQueue } from './names.ts'
import { readRetry, retryWire } from './retry.ts'
import { retryOf } from './tree.ts'

export interface OptionsAsked {
  readonly queue: string
  /** As stored: smaller runs earlier. */
  readonly priority: number
  /** HELD_AT: held until `activate`. null: at once, or after delayMs. */
  readonly runAt: number | null
  readonly delayMs: number | null
  readonly expiresAt: number | null
  /** runAt and expiresAt, if they were counted from now. */
  readonly runInMs: number | null
  readonly expiresInMs: number | null
  /** Per attempt, its grace period included: when the server ends it. */
  readonly timeoutMs: number | null
  /** How long before that the handler should stop. */
  readonly graceMs: number
  readonly retry: Retry
  readonly limitKey: string | null
  readonly fairKey: string | null
  /** Limits that are set with the job, or not at all. */
  readonly limits: readonly LimitParams[]
}

export interface OptionsRead {
  readonly options: OptionsAsked
  readonly envelope: Envelope
}

const MAX_TAGS = 100
const MOMENTS = ['scheduled_at', 'delay_until', 'expires_at']

/** Options of the job at `job`: under `options`, or beside its type. Every mistake is noted. */
export function readJobOptions(job: Part, now: number): OptionsRead {
  const inside = job.get('options')
  if (inside.given && !inside.isObject) inside.wrong(`options must be an object, not ${kindOf(inside.value)}`)
  const get = (name: string): Part => optionOf(job, name)
  const queue = readQueue(get('queue')) ?? 'default'
  const scheduled = readMoment(get(get('scheduled_at').given ? 'scheduled_at' : 'delay_until'), 'scheduled_at', now)
  const expires = readMoment(get('expires_at'), 'expires_at', now)
  const held = get('pending').flag('pending') ?? false
  const policy = get(get('retry').given ? 'retry' : 'retry_policy')
  const retry = retryOf(policy.given ? readRetry(policy, 'wire') : undefined)
  const visibility = get('visibility_timeout_ms').whole('visibility_timeout_ms', { least: 1, most: LONGEST_MS })
  const tags = readTags(get('tags'))
  const limit = readRateLimit(get('rate_limit'), queue)
  const unknown = unknownOptions(inside)
  const timeoutMs = readTimeout(get('timeout_ms'), get('timeout'))
  const graceMs = timeoutMs === null ? 0 : readGrace(get('grace_period_ms'), get('grace_period'))
  return {
    options: {
      queue,
      // OJS: greater is more urgent, 0 is the default. Stored: smaller is earlier, 100 is the default.
      priority: 100 - (get('priority').whole('priority', { least: -100, most: 100 }) ?? 0),
      runAt: held ? HELD_AT : (scheduled?.at ?? null),
      delayMs: get('delay').duration('delay'),
      expiresAt: expires?.at ?? null,
      runInMs: held ? null : (scheduled?.inMs ?? null),
      expiresInMs: expires?.inMs ?? null,
      timeoutMs: timeoutMs === null ? null : timeoutMs + graceMs,
      graceMs,
      retry,
      limitKey: limit?.limitKey ?? null,
      fairKey: readFairKey(get('fair_key')),
      limits: limit?.limits ?? [],
    },
    envelope: {
      ...(tags.length === 0 ? {} : { tags }),
      ...(policy.given ? { retry: retryWire(retry) } : {}),
      ...kept('unique', get('unique')),
      ...kept('rateLimit', get('rate_limit')),
      ...(scheduled === null ? {} : { scheduledAt: scheduled.text }),
      ...(expires === null || expires.inMs !== null ? {} : { expiresAt: expires.text }),
      ...(visibility === null ? {} : { visibilityTimeoutMs: visibility }),
      ...kept('metadata', get('metadata')),
      ...(unknown === null ? {} : { options: unknown }),
    },
  }
}

export function optionOf(job: Part, name: string): Part {
  const inside = job.get('options')
  return inside.has(name) || !job.has(name) ? inside.get(name) : job.get(name)
}

/** Whether reading this job requires the store's clock, because it has a time counted from now. */
export function needsClock(job: unknown): boolean {
  if (job === null || typeof job !== 'object') return false
  const { options } = job as { readonly options?: unknown }
  return [job, options].some(
    (holder) =>
      holder !== null &&
      typeof holder === 'object' &&
      MOMENTS.some((name) => isRelative((holder as { readonly [name: string]: unknown })[name])),
  )
}

/** timeout_ms in milliseconds; `timeout` is the core specification's name for it, in seconds. */
function readTimeout(ms: Part, seconds: Part): number | null {
  const exact = ms.whole('timeout_ms', { least: 1, most: LONGEST_MS })
  if (exact !== null || ms.given) return exact
  if (typeof seconds.value === 'string') return seconds.isoDuration('timeout')
  const given = seconds.number('timeout (seconds)', 0.001, LONGEST_MS / 1000)
  return given === null ? null : Math.round(given * 1000)
}

/** Time to clean up after the timeout, before the server ends the attempt. Default: none. */
function readGrace(ms: Part, seconds: Part): number {
  if (ms.given) return ms.whole('grace_period_ms', { least: 0, most: LONGEST_MS }) ?? 0
  if (typeof seconds.value === 'string') return seconds.isoDuration('grace_period') ?? 0
  return Math.round((seconds.number('grace_period (seconds)', 0, LONGEST_MS / 1000) ?? 0) * 1000)
}

function readFairKey(part: Part): string | null {
  const key = part.text('fair_key')
  if (key === null || (key !== '' && [...key].length <= MAX_FAIR_KEY_LENGTH)) return key
  part.wrong(`fair_key must have 1 to ${MAX_FAIR_KEY_LENGTH} characters`)
  return null
}

function readTags(part: Part): readonly string[] {
  const tags = part.items('tags').flatMap((item) => item.text('a tag') ?? [])
  if (tags.length > MAX_TAGS) part.wrong(`at most ${MAX_TAGS} tags, these are ${tags.length}`)
  return tags
}

function kept<K extends string>(name: K, part: Part): { readonly [key in K]?: Json } {
  return (part.given ? { [name]: part.value as Json } : {}) as { readonly [key in K]?: Json }
}
