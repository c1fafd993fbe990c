/** /ojs/v1/rate-limits: limits by the key that jobs name in `rate_limit`, or `queue:NAME` for those of a queue. */
import type { FastifyInstance } from 'fastify'
import { isoDuration } from '../../dialects/duration.ts'
import { timeText } from '../../dialects/ojs/time.ts'
import type { LimitParams } from '../../engine/api.ts'
import { isSlotKey } from '../../engine/slots.ts'
import type { LimitRow } from '../../store/rows.ts'
import { onlyKnown, type Query } from '../query.ts'
import { notFound } from '../request-error.ts'
import type { OjsContext } from './context.ts'
import { PAGE_PARAMS, pageWire, readPage } from './paging.ts'

export function rateLimitRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  app.get('/ojs/v1/rate-limits', async (request) => {
    const query = request.query as Query
    onlyKnown(query, PAGE_PARAMS)
    const page = readPage(query)
    const { after } = page
    const [rows, now] = await Promise.all([engine.store.read.limits(), engine.store.now()])
    // Slots of workflows are no limits of jobs.
    const ofJobs = rows.filter((row) => !isSlotKey(row.key))
    const all = ofJobs.map((row) => limitWire(row, now)).sort((a, b) => (a.key < b.key ? -1 : 1))
    const rest = (after === null ? all : all.filter(({ key }) => key > after)).slice(page.offset)
    const shown = rest.slice(0, page.limit)
    const last = shown.at(-1)?.key ?? null
    return {
      items: shown,
      rate_limits: shown,
      pagination: pageWire({ page, total: all.length, hasMore: rest.length > shown.length, last }),
    }
  })

  app.get<{ Params: { readonly key: string } }>('/ojs/v1/rate-limits/:key', async (request) => {
    const { key } = request.params
    const [rows, now] = await Promise.all([engine.store.read.limits(), engine.store.now()])
    const row = rows.find((limit) => limit.key === `key:${key}` || (limit.key === key && key.startsWith('queue:')))
    if (row === undefined) {
      throw notFound('rate_limit', key, 'A limit is there from the first job on that names it in options.rate_limit.')
    }
    return limitWire(row, now)
  })
}

interface LimitWire {
  readonly key: string
  readonly [name: string]: unknown
}

function limitWire(row: LimitRow, now: number): LimitWire {
  const { maxConcurrent, inUse, ratePer, periodMs, windowStart, windowUsed } = row
  const open = periodMs !== null && windowStart + periodMs > now
  return {
    key: row.key.replace(/^key:/, ''),
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

/** What a job says of its own limit, for whoever enqueues it. */
export function limitHeaders(limits: readonly LimitParams[]): Readonly<Record<string, string>> {
  const [limit] = limits.flatMap(({ ratePer, maxConcurrent }) => ratePer ?? maxConcurrent ?? [])
  return limit === undefined ? {} : { 'x-ratelimit-limit': String(limit) }
}
