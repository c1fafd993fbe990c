/** /ojs/v1/rate-limits: limits by the key that jobs name in `rate_limit`, or `queue:NAME` for those of a queue. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { bodyObject } from '../../../../http/body.ts'
import { onlyKnown, type Query } from '../../../../http/query.ts'
import { notFound, RequestError } from '../../../../http/request-error.ts'
import { isoDuration } from '../../../../kernel/duration.ts'
import { scopedName, unscopedName } from '../../../../kernel/scoped-names.ts'
import type { LimitParams } from '../../../../model/limits.ts'
import { isQuotaKey } from '../../../../model/limits.ts'
import type { LimitRow } from '../../../../model/rows.ts'
import { type Caller, mayDo } from '../../../../operations/caller.ts'
import { refuseMistakes } from '../../../../wire/mistaken.ts'
import { BodyNotes } from '../../../source/reader.ts'
import { timeText } from '../../project/time.ts'
import type { OjsContext } from '../context.ts'
import { PAGE_PARAMS, pageWire, readPage } from '../paging.ts'
import { readPeriod } from './queue-config.ts'

type ByKey = { Params: { readonly key: string } }

const ADMIN = { config: { access: { scope: 'admin' as const } } }
const MOST = 1_000_000_000

export function rateLimitRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  app.get('/ojs/v1/rate-limits', async (request) => {
    const query = request.query as Query
    onlyKnown(query, PAGE_PARAMS)
    const page = readPage(query)
    const { after } = page
    const [rows, now] = await Promise.all([engine.queries.limits(), engine.queries.now()])
    // Slots of workflows are no limits of jobs.
    const ofJobs = rows.filter((row) => !isQuotaKey(row.key) && maySeeLimit(request.caller, row))
    const all = ofJobs.map((row) => limitWire(row, now, request.caller)).sort((a, b) => (a.key < b.key ? -1 : 1))
    const rest = (after === null ? all : all.filter(({ key }) => key > after)).slice(page.offset)
    const shown = rest.slice(0, page.limit)
    const last = shown.at(-1)?.key ?? null
    return {
      items: shown,
      rate_limits: shown,
      pagination: pageWire({ page, total: all.length, hasMore: rest.length > shown.length, last }),
    }
  })

  /** The limit of a queue is everybody's: a key of one tenant reads it, and cannot change it. */
  const findToChange = async (request: FastifyRequest<ByKey>): Promise<LimitRow> => {
    const row = await findLimit(request)
    if (!request.caller.bound || !row.key.startsWith('queue:')) return row
    throw new RequestError('permission_denied', 'this key belongs to one tenant, and this limit is of a whole queue', {
      details: { tenant: request.caller.tenant },
      hint: 'Use a key that is bound to no tenant.',
    })
  }

  const findLimit = async (request: FastifyRequest<ByKey>): Promise<LimitRow> => {
    const { key } = request.params
    const rows = await engine.queries.limits()
    const keyed = `key:${request.caller.tenant === null ? key : scopedName(key, request.caller.tenant)}`
    const row = rows.find((limit) => limit.key === keyed || (limit.key === key && key.startsWith('queue:')))
    if (row === undefined) {
      throw notFound('rate_limit', key, 'A limit is there from the first job on that names it in options.rate_limit.')
    }
    return row
  }

  app.get<ByKey>('/ojs/v1/rate-limits/:key', async (request) =>
    limitWire(await findLimit(request), await engine.queries.now(), request.caller),
  )

  /** The limit that an operator sets counts until a job with another one comes. */
  app.put<ByKey>('/ojs/v1/rate-limits/:key', ADMIN, async (request) => {
    const notes = new BodyNotes()
    const body = notes.root(bodyObject(request, { empty: 'refused' }))
    const ratePer = body.get('limit').whole('limit', { least: 1, most: MOST })
    const periodMs = readPeriod(body.get('period'))
    if (!body.get('limit').given) body.get('limit').wrong('limit is missing', 'a whole number')
    if (!body.get('period').given) body.get('period').wrong('period is missing', '"1m" or "PT1M"')
    refuseMistakes(notes)
    const before = await findToChange(request)
    await engine.setLimit({ key: before.key, maxConcurrent: before.maxConcurrent, ratePer, periodMs })
    return limitWire(await findLimit(request), await engine.queries.now(), request.caller)
  })

  /** Takes the rate away; the next job that names one sets it again. */
  app.delete<ByKey>('/ojs/v1/rate-limits/:key/override', ADMIN, async (request, reply) => {
    const before = await findToChange(request)
    await engine.setLimit({ key: before.key, maxConcurrent: before.maxConcurrent, ratePer: null, periodMs: null })
    reply.code(204)
  })
}

interface LimitWire {
  readonly key: string
  readonly [name: string]: unknown
}

/** Those of queues are everybody's. */
function maySeeLimit({ tenant }: Caller, { key }: LimitRow): boolean {
  return tenant === null || key.startsWith('queue:') || key.startsWith(`key:${scopedName('', tenant)}`)
}

/** An operator sees whose key it is. */
function limitWire(row: LimitRow, now: number, { tenant }: Caller): LimitWire {
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

/** A job may limit what names its key, in its own tenant. What all tenants share, only an operator limits. */
export function refuseQueueLimits(caller: Caller, limits: readonly LimitParams[] = []): void {
  if (!limits.some(({ key }) => key.startsWith('queue:'))) return
  if (mayDo(caller, 'admin') && !caller.bound) return
  throw new RequestError('permission_denied', 'rate_limit.max_per_second limits the whole queue, for all who use it', {
    details: { field: 'rate_limit.max_per_second', required_scope: 'admin', scopes: [...caller.scopes] },
    hint: 'Use rate_limit.key with rate or concurrency, which limits the jobs of this tenant that name the key; or a key with the scope admin that is bound to no tenant.',
  })
}

/** What a job says of its own limit, for whoever enqueues it. */
export function limitHeaders(limits: readonly LimitParams[]): Readonly<Record<string, string>> {
  const [limit] = limits.flatMap(({ ratePer, maxConcurrent }) => ratePer ?? maxConcurrent ?? [])
  return limit === undefined ? {} : { 'x-ratelimit-limit': String(limit) }
}
