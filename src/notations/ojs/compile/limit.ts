/**
 * `rate_limit` of a job. `max_per_second` limits its whole queue; with a `key`, `concurrency`, `rate` and `throttle`
 * limit all jobs that name the same key. A limit is a fixed window that opens with the first start in it; a throttle of
 * n per period is a window of one start per nth part of it, and replaces a rate given beside it.
 */

import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { LimitParams } from '../../../model/limits.ts'

export interface RateLimitAsked {
  /** What the run counts against, besides its queue; null: the queue alone. */
  readonly limitKey: string | null
  readonly limits: readonly LimitParams[]
}

const GREATEST = 1_000_000_000
/** Instead of an ISO duration. */
const PERIODS: { readonly [word: string]: number } = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }
const KEY = /^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,199}$/

export function readRateLimit(part: Part, queue: string): RateLimitAsked | null {
  if (!part.given) return null
  if (!part.isObject) {
    part.wrong(`rate_limit must be an object, not ${kindOf(part.value)}`, 'such as { "max_per_second": 10 }')
    return null
  }
  const perSecond = part.get('max_per_second').whole('max_per_second', { least: 1, most: GREATEST })
  // The concurrency of a queue is set elsewhere and does not change.
  const wide = perSecond === null ? [] : [{ key: `queue:${queue}`, ratePer: perSecond, periodMs: 1000 }]
  const keyed = readKeyed(part)
  return { limitKey: keyed?.limitKey ?? null, limits: [...wide, ...(keyed?.limits ?? [])] }
}

function readKeyed(part: Part): RateLimitAsked | null {
  const key = part.get('key')
  const concurrency = part.get('concurrency').whole('concurrency', { least: 1, most: GREATEST })
  const rate = readRate(part.get('rate'), 'rate') ?? readFlatRate(part)
  const throttle = readRate(part.get('throttle'), 'throttle')
  part.get('on_limit').choice('on_limit', ['wait'])
  if (!key.given) {
    if (concurrency !== null || rate !== null || throttle !== null) {
      part.wrong('rate_limit needs a key', 'name what is limited, such as "stripe-api"; max_per_second needs none')
    }
    return null
  }
  if (typeof key.value !== 'string' || !KEY.test(key.value)) {
    key.wrong(`key must be a name, not ${kindOf(key.value)}`, 'letters, digits, dots, colons, _ and -, at most 200')
    return null
  }
  if (concurrency === null && rate === null && throttle === null) return { limitKey: key.value, limits: [] }
  const window = throttle === null ? rate : { ratePer: 1, periodMs: Math.max(1, throttle.periodMs / throttle.ratePer) }
  return {
    limitKey: key.value,
    limits: [
      {
        key: `key:${key.value}`,
        maxConcurrent: concurrency,
        ratePer: window?.ratePer ?? null,
        periodMs: window === null ? null : Math.round(window.periodMs),
      },
    ],
  }
}

interface Rate {
  readonly ratePer: number
  readonly periodMs: number
}

/** { limit, period }; a bare number is readFlatRate's. */
function readRate(part: Part, what: string): Rate | null {
  if (!part.given || typeof part.value === 'number') return null
  if (!part.isObject) {
    part.wrong(`${what} must be an object, not ${kindOf(part.value)}`, '{ "limit": 100, "period": "PT1M" }')
    return null
  }
  return rateOf(part, part.get('limit'), what)
}

/** { rate: 100, period: "PT1M" } */
function readFlatRate(part: Part): Rate | null {
  return typeof part.get('rate').value === 'number' ? rateOf(part, part.get('rate'), 'rate') : null
}

function rateOf(holder: Part, limit: Part, what: string): Rate | null {
  const ratePer = limit.whole(what, { least: 1, most: GREATEST })
  const period = holder.get('period')
  const periodMs = PERIODS[String(period.value)] ?? period.isoDuration('period')
  if (!limit.given || !holder.get('period').given) holder.wrong(`${what} needs a limit and a period`)
  return ratePer === null || periodMs === null ? null : { ratePer, periodMs }
}
