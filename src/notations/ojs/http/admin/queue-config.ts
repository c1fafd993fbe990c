/** What an operator sets for a queue, as JSON. */
import { RequestError } from '../../../../http/request-error.ts'
import { isoDuration, parseDuration } from '../../../../kernel/duration.ts'
import type { Backpressure, ConfigAsked, Configured, Rate } from '../../../../operations/queues/config.ts'
import {
  anything,
  asked,
  flag,
  named,
  number,
  object,
  optional,
  type Schema,
  text,
  type Value,
  whole,
  word,
} from '../../../../wire/schema.ts'

const GREATEST = 1_000_000_000

/** Also of a rate limit by itself. */
export const RATE = {
  limit: whole({ description: 'Starts per period.', minimum: 1, maximum: GREATEST }),
  period: period(),
}

export const QueueSettings = named(
  'QueueSettings',
  asked('the configuration of a queue', {
    backpressure: optional(
      asked('backpressure', {
        max_depth: whole({
          description: 'Jobs that have not ended; 0: unlimited.',
          hint: 'a whole number; 0: unbounded',
          minimum: 0,
          maximum: GREATEST,
        }),
        strategy: optional(word(['reject'])),
        warning_threshold: optional(number({ minimum: 0, maximum: 1, default: 0.8 })),
      }),
    ),
    concurrency: optional(whole({ description: 'Active at the same time.', minimum: 0, maximum: GREATEST })),
    rate_limit: optional(asked('rate_limit', RATE)),
    retention: optional(anything('Refused: one applies to the whole store.')),
  }),
)

export const QueueConfiguration = named(
  'QueueConfiguration',
  object({
    backpressure: optional(
      object({
        enabled: flag(),
        max_depth: whole(),
        strategy: word(['reject']),
        warning_threshold: number(),
      }),
    ),
    concurrency: optional(whole()),
    rate_limit: optional(object({ limit: whole(), period: text('ISO 8601, such as PT1H.') })),
  }),
)

export const QueueConfig = named('QueueConfig', object({ name: text(), configuration: QueueConfiguration }))

export function configAsked({
  backpressure,
  concurrency,
  rate_limit: rate,
  retention = null,
}: Value<typeof QueueSettings>): ConfigAsked {
  // Trees of workflows span queues and are removed as a whole, so there is one retention for the store.
  if (retention !== null) {
    throw new RequestError('unsupported', 'a queue has no retention of its own: one counts for the whole store', {
      details: { field: 'retention' },
      hint: 'Leave retention out; nothing of this configuration was applied. How long ended jobs are kept is an option of the engine.',
    })
  }
  return {
    ...(backpressure === undefined ? {} : { backpressure: boundOf(backpressure) }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate: rate === null ? null : rateOf(rate) }),
  }
}

function boundOf(given: Value<typeof QueueSettings>['backpressure']): Backpressure | null {
  if (given == null || given.max_depth === 0) return null
  return { maxDepth: given.max_depth, strategy: 'reject', warningThreshold: given.warning_threshold ?? 0.8 }
}

export function rateOf({ limit, period: given }: { readonly limit: number; readonly period: string }): Rate {
  return { ratePer: limit, periodMs: parseDuration(given) as number }
}

export function configWire({ config: { backpressure }, limit }: Configured): Value<typeof QueueConfiguration> {
  return {
    ...(backpressure === undefined
      ? {}
      : {
          backpressure: {
            enabled: true,
            max_depth: backpressure.maxDepth,
            strategy: backpressure.strategy,
            warning_threshold: backpressure.warningThreshold,
          },
        }),
    ...(limit === null || limit.maxConcurrent === null ? {} : { concurrency: limit.maxConcurrent }),
    ...(limit === null || limit.ratePer === null || limit.periodMs === null
      ? {}
      : { rate_limit: { limit: limit.ratePer, period: isoDuration(limit.periodMs) } }),
  }
}

/** `1m` as the admin pages write it, or PT1M. */
function period(): Schema<string> {
  return text({
    description: 'Such as 1m, or ISO 8601 such as PT1H.',
    is: 'a duration longer than 0, as a string',
    hint: 'for example "30s", "1m", "1h" or "PT1M"; at most 100 years',
    fits: (value: string) => (parseDuration(value) ?? 0) > 0,
  })
}
