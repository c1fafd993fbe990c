/** Numbers of the whole server: /ojs/v1/admin/stats and its history, /unique-jobs, /admin/tenants. */
import type { FastifyInstance } from 'fastify'
import { listParam, onlyKnown, type Query, textParam } from '../../../../http/query.ts'
import { notFound, RequestError } from '../../../../http/request-error.ts'
import { unscopedName } from '../../../../kernel/scoped-names.ts'
import { jobState } from '../../project/state.ts'
import { timeText } from '../../project/time.ts'
import type { OjsContext } from '../context.ts'
import { JOB_FILTERS, readJobFilter, readTime } from '../jobs/job-query.ts'
import { PAGE_PARAMS, readPage } from '../paging.ts'
import { list } from './admin-jobs.ts'
import { countsOf, RECENT_MINUTES, throughputOf } from './queue-wire.ts'

type ById = { Params: { readonly id: string } }

const MINUTE = 60_000
const PERIODS = { '1m': MINUTE, '5m': 5 * MINUTE, '1h': 60 * MINUTE, '1d': 24 * 60 * MINUTE } as const
const MOST_POINTS = 1_500
/** How long the store keeps single minutes. */
const KEPT_MS = 3 * 24 * 60 * MINUTE
const MOST_COUNTED = 100_000

export function adminStatsRoutes(app: FastifyInstance, context: OjsContext): void {
  const { engine } = context

  app.get('/ojs/v1/admin/stats', async () => {
    const [queues, workers, now] = await Promise.all([
      engine.queueStats({ queue: null, minutes: RECENT_MINUTES }),
      engine.queries.workers(),
      engine.queries.now(),
    ])
    return {
      queues: queues.length,
      workers: workers.filter(({ state }) => state !== 'dead').length,
      jobs: countsOf(queues),
      throughput: throughputOf(queues, now),
      uptime_seconds: Math.floor(process.uptime()),
      computed_at: timeText(now),
    }
  })

  app.get('/ojs/v1/admin/stats/history', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['period', 'since', 'until', 'queue'])
    const period = (listParam(query, 'period', Object.keys(PERIODS))?.[0] ?? '5m') as keyof typeof PERIODS
    const size = PERIODS[period]
    const now = await engine.queries.now()
    const until = readTime(query['until'], 'until') ?? now
    const since = readTime(query['since'], 'since') ?? until - Math.max(60 * MINUTE, size)
    // Older minutes are kept as one sum only: of them there is nothing to tell.
    const first = Math.max(Math.floor(since / size) * size, Math.ceil((now - KEPT_MS) / size) * size)
    const points = Math.max(0, Math.ceil((until - first) / size))
    if (points > MOST_POINTS) {
      throw new RequestError('invalid_request', `that is ${points} points; at most ${MOST_POINTS} are told`, {
        details: { parameter: 'since' },
        hint: 'Ask for a longer period, or for less time.',
      })
    }
    // What ended in the last second may not be written yet.
    await engine.queueStats({ queue: 'default', minutes: 0 })
    const rows = await engine.queries.totals({ queue: textParam(query, 'queue'), since: first })
    const data = Array.from({ length: points }, (_, i) => ({
      at: first + i * size,
      processed: 0,
      failed: 0,
      cancelled: 0,
      retried: 0,
    }))
    for (const row of rows) {
      const point = row.minute < first ? undefined : data[Math.floor((row.minute - first) / size)]
      if (point === undefined) continue
      point.processed += row.succeeded
      point.failed += row.failed
      point.cancelled += row.cancelled
      point.retried += row.retried
    }
    return { period, data: data.map(({ at, ...counts }) => ({ timestamp: timeText(at), ...counts })) }
  })

  app.get('/ojs/v1/unique-jobs', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['limit', 'offset', 'page', 'per_page'])
    const { limit, offset } = readPage(query)
    const [rows, now] = await Promise.all([
      engine.queries.overview.uniques({ tenant: request.caller.tenant, limit: limit + 1, offset }),
      engine.queries.now(),
    ])
    const items = rows.slice(0, limit).map((row) => ({
      key: unscopedName(row.key).replace(/^ojs:[^:]*:/, ''),
      job_id: row.runId,
      type: row.type,
      queue: row.queue,
      state: jobState(row, now),
      ...(row.expiresAt === null ? {} : { locked_until: timeText(row.expiresAt) }),
    }))
    return {
      items,
      pagination: {
        limit,
        offset,
        page: Math.floor(offset / limit) + 1,
        per_page: limit,
        has_more: rows.length > limit,
        total: offset + rows.length,
        ...(rows.length > limit ? { total_is_at_least: true } : {}),
      },
    }
  })

  app.get('/ojs/v1/admin/tenants', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['limit', 'offset', 'page', 'per_page'])
    const { limit, offset } = readPage(query)
    const all = await engine.queries.overview.tenants()
    const items = all
      .slice(offset, offset + limit)
      .map(({ tenant, runs }) => ({ id: tenant, name: tenant, total_jobs: runs }))
    const page = { total: all.length, limit, offset, page: Math.floor(offset / limit) + 1, per_page: limit }
    return { items, pagination: { ...page, has_more: offset + items.length < all.length } }
  })

  const stats = async (tenant: string): Promise<object> => {
    const { queries } = engine
    const count = (states: readonly string[]): Promise<number> => {
      const { filter } = readJobFilter({ states }, { tenant })
      return queries.countListedRuns({ ...filter, limit: 0, before: null }, MOST_COUNTED)
    }
    const states = ['available', 'scheduled', 'retryable', 'pending', 'active', 'completed', 'discarded', 'cancelled']
    const counts = await Promise.all(states.map((state) => count([state])))
    const total = counts.reduce((sum, n) => sum + n, 0)
    if (total === 0) throw notFound('tenant', tenant, 'A tenant is known by its jobs, and there are none of this one.')
    return {
      tenant_id: tenant,
      total_jobs: total,
      jobs: Object.fromEntries(states.map((state, i) => [state, counts[i]])),
      ...(counts.some((n) => n >= MOST_COUNTED) ? { counts_are_at_least: true } : {}),
    }
  }

  app.get<ById>('/ojs/v1/admin/tenants/:id', async (request) => {
    const { id } = request.params
    return { id, name: id, stats: await stats(id) }
  })
  app.get<ById>('/ojs/v1/admin/tenants/:id/stats', (request) => stats(request.params.id))
  app.get<ById>('/ojs/v1/admin/tenants/:id/jobs', async (request) => {
    const query = request.query as Query
    onlyKnown(query, [...JOB_FILTERS, ...PAGE_PARAMS])
    await stats(request.params.id)
    return list(context, request, readJobFilter(query, { tenant: request.params.id }).filter)
  })
}
