/** /ojs/v1/rate-limits: limits by the key that jobs name in `rate_limit`, or `queue:NAME` for those of a queue. */
import { isoDuration } from '../../../../kernel/duration.ts'
import { unscopedName } from '../../../../kernel/scoped-names.ts'
import type { LimitParams } from '../../../../model/limits.ts'
import type { LimitRow } from '../../../../model/rows.ts'
import type { Caller } from '../../../../operations/caller.ts'
import { listLimits, setRate, showLimit } from '../../../../operations/queues/limits.ts'
import { list, named, object, optional, text, time, type Value, whole } from '../../../../wire/schema.ts'
import { timeText } from '../../project/time.ts'
import { route } from '../context.ts'
import { PAGE, Pagination, pageAsked, pageByName } from '../paging.ts'
import { RATE, rateOf } from './queue-config.ts'

const RateLimit = named(
  'RateLimit',
  object({
    key: text(),
    concurrency: optional(whole('Active at the same time.')),
    active: whole(),
    limit: optional(whole('Starts per period.')),
    period: optional(text('ISO 8601, such as PT1M.')),
    used: optional(whole('In the current period.')),
    remaining: optional(whole()),
    resets_at: optional(time('When the current period ends.')),
  }),
)

const THE_LIMIT = { '200': { description: 'The limit.', schema: RateLimit } }

export const RATE_LIMIT_ROUTES = [
  route(
    'GET /ojs/v1/rate-limits',
    {
      tag: 'Queues',
      summary: 'List limits',
      does: listLimits,
      query: PAGE,
      answers: {
        '200': {
          description: 'By key.',
          schema: object({ items: list(RateLimit), rate_limits: list(RateLimit), pagination: Pagination }),
        },
      },
    },
    async ({ query, caller, perform }) => {
      const { rows, now } = await perform(listLimits, {})
      const all = rows.map((row) => limitWire(row, now, caller))
      const { shown, pagination } = pageByName(all, pageAsked(query), ({ key }) => key)
      return { items: shown, rate_limits: shown, pagination }
    },
  ),

  route(
    'GET /ojs/v1/rate-limits/:key',
    {
      tag: 'Queues',
      summary: 'Get a limit',
      does: showLimit,
      otherQuery: 'ignored',
      answers: THE_LIMIT,
      errors: ['not_found'],
    },
    async ({ params, caller, perform }) => {
      const { row, now } = await perform(showLimit, params)
      return limitWire(row, now, caller)
    },
  ),

  route(
    'PUT /ojs/v1/rate-limits/:key',
    {
      tag: 'Queues',
      summary: 'Set the rate of a limit',
      description: 'It applies until a job names another one.',
      does: setRate,
      body: { schema: object(RATE), example: { limit: 100, period: 'PT1M' } },
      answers: THE_LIMIT,
      errors: ['not_found'],
    },
    async ({ params, body, caller, perform }) => {
      await perform(setRate, { ...params, rate: rateOf(body) })
      const { row, now } = await perform(showLimit, params)
      return limitWire(row, now, caller)
    },
  ),

  route(
    'DELETE /ojs/v1/rate-limits/:key/override',
    {
      tag: 'Queues',
      summary: 'Remove the rate of a limit',
      description: 'The next job that names one sets it again.',
      does: setRate,
      answers: { '204': { description: 'It is removed.' } },
      errors: ['not_found'],
    },
    async ({ params, perform, reply }) => {
      await perform(setRate, { ...params, rate: null })
      return reply.code(204).send()
    },
  ),
]

/** Only an operator sees whose key it is. */
function limitWire(row: LimitRow, now: number, { tenant }: Caller): Value<typeof RateLimit> {
  const key = row.key.replace(/^key:/, '')
  const { maxConcurrent, inUse, ratePer, periodMs, windowStart, windowUsed } = row
  const open = periodMs !== null && windowStart + periodMs > now
  return {
    key: tenant === null ? key : unscopedName(key),
    ...(maxConcurrent === null ? {} : { concurrency: maxConcurrent }),
    active: inUse,
    ...(ratePer === null || periodMs === null
      ? {}
      : {
          limit: ratePer,
          period: isoDuration(periodMs),
          used: open ? windowUsed : 0,
          remaining: Math.max(0, ratePer - (open ? windowUsed : 0)),
          ...(open ? { resets_at: timeText(windowStart + periodMs) } : {}),
        }),
  }
}

/** The limit that a job names, for the client that enqueues it. */
export function limitHeaders(limits: readonly LimitParams[]): Readonly<Record<string, string>> {
  const [limit] = limits.flatMap(({ ratePer, maxConcurrent }) => ratePer ?? maxConcurrent ?? [])
  return limit === undefined ? {} : { 'x-ratelimit-limit': String(limit) }
}
