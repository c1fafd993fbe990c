/** /ojs/v1/admin/jobs and /dead-letter: search, look, retry, cancel, one and many. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bodyObject } from '../../../../http/body.ts'
import { notFound, RequestError } from '../../../../http/request-error.ts'
import { MAX_COUNTED } from '../../../../kernel/limits.ts'
import type { RunSort } from '../../../../model/queries/queries.ts'
import type { RunRow } from '../../../../model/rows.ts'
import { PAGE_BYTES } from '../../../../model/shown.ts'
import type { Failure } from '../../../../net/marking.ts'
import { actorOf } from '../../../../operations/caller.ts'
import { countTenant } from '../../../../operations/statistics/tenants.ts'
import type { Body } from '../../../../wire/mistaken.ts'
import { onlyKnown, type Query } from '../../../../wire/requests/query.ts'
import { stateBeforeCancel } from '../../project/state.ts'
import { timeText } from '../../project/time.ts'
import { BulkOperations, type BulkParams, type Operation, operationWire } from '../bulk.ts'
import type { OjsContext } from '../context.ts'
import { jobPage } from '../jobs/job-page.ts'
import { jobProblem } from '../jobs/job-problem.ts'
import { JOB_FILTERS, type JobFilter, readJobFilter, readTime, WAITING } from '../jobs/job-query.ts'
import { findRun, jobReplies } from '../jobs/job-reply.ts'
import { PAGE_PARAMS } from '../paging.ts'
import type { JobWire } from '../wire/job.ts'

const ADMIN = { config: { access: { scope: 'admin' as const } } }

type ById = { Params: { readonly id: string } }

/** Dead letters that are read to tell them apart; of more only the number is told. */
const MOST_SORTED = 1_000

export function adminJobRoutes(app: FastifyInstance, context: OjsContext): void {
  const { engine } = context
  const bulk = new BulkOperations(context)

  app.get('/ojs/v1/admin/jobs', (request) => {
    const { filter } = filterOf(request)
    return list(context, request, filter)
  })

  app.get<ById>('/ojs/v1/admin/jobs/:id', (request) => detail(context, request))

  app.patch<ById>('/ojs/v1/admin/jobs/:id', ADMIN, async (request) => {
    const { id } = await findRun(engine, request.params.id, request.caller)
    const { priority } = bodyObject(request, { empty: 'refused' })
    if (!Number.isInteger(priority) || Math.abs(priority as number) > 100) {
      throw new RequestError('invalid_request', 'priority is a whole number from -100 to 100', {
        details: { field: 'priority' },
      })
    }
    await engine
      .prioritize({ id, priority: 100 - (priority as number), actor: actorOf(request.caller) })
      .catch((error: unknown) => Promise.reject(jobProblem(error, id, 'not started')))
    return detail(context, request)
  })

  app.post<ById>('/ojs/v1/admin/jobs/:id/retry', async (request) => {
    const run = await findRun(engine, request.params.id, request.caller)
    return again(context, run, actorOf(request.caller))
  })

  app.post<ById>('/ojs/v1/admin/jobs/:id/cancel', (request) => cancel(context, request))
  app.post<ById>('/ojs/v1/jobs/:id/cancel', (request) => cancel(context, request))

  const many = async (reply: FastifyReply, params: BulkParams): Promise<object> => {
    const operation = await bulk.run(params)
    if (operation.status !== 'running') return operationWire(operation)
    reply.code(202).header('location', `/ojs/v1/admin/jobs/bulk/${operation.id}`)
    return operationWire(operation)
  }

  app.post('/ojs/v1/admin/jobs/bulk/retry', (request, reply) => {
    const { filter } = confirmed(request, ['discarded', 'cancelled'], ['discarded'])
    const actor = actorOf(request.caller)
    return many(reply, { action: 'retry', filter, act: (run) => engine.redrive({ runId: run.id, actor }) })
  })

  app.post('/ojs/v1/admin/jobs/bulk/cancel', (request, reply) => {
    const { filter } = confirmed(request, [...WAITING, 'active'], [...WAITING, 'active'])
    const actor = actorOf(request.caller)
    return many(reply, { action: 'cancel', filter, act: (run) => engine.cancelRun({ id: run.id, actor }) })
  })

  app.get<ById>('/ojs/v1/admin/jobs/bulk/:id', (request) => {
    const operation = bulk.find(request.params.id)
    if (operation === null || !sees(request, operation)) {
      throw notFound('bulk operation', request.params.id, 'The server that does it remembers the last hundred.')
    }
    return operationWire(operation)
  })

  /** Waiting jobs of a queue are cancelled: their history stays. */
  app.delete<{ Params: { readonly name: string } }>('/ojs/v1/admin/queues/:name/jobs', async (request, reply) => {
    const body = bodyObject(request, { empty: 'allowed' })
    const { filter, states } = confirmed(request, WAITING, WAITING, { ...body, queue: request.params.name })
    const actor = actorOf(request.caller)
    const wire = await many(reply, {
      action: 'purge',
      filter: { ...filter, createdBefore: readTime(body['older_than'], 'older_than') },
      act: (run) => engine.cancelRun({ id: run.id, actor }),
    })
    return { ...wire, purged_count: (wire as { readonly succeeded: number }).succeeded, states }
  })

  const dead = (filter: JobFilter): JobFilter => ({ ...filter, deadLetter: true, status: null, wait: null })

  app.get('/ojs/v1/admin/dead-letter', (request) => list(context, request, dead(filterOf(request).filter)))

  app.get('/ojs/v1/admin/dead-letter/stats', (request) => deadLetterStats(context, request))

  app.get<ById>('/ojs/v1/admin/dead-letter/:id', async (request) => {
    await findDead(context, request)
    return detail(context, request)
  })

  app.post<ById>('/ojs/v1/admin/dead-letter/:id/retry', async (request) =>
    again(context, await findDead(context, request), actorOf(request.caller)),
  )

  app.delete<ById>('/ojs/v1/admin/dead-letter/:id', async (request, reply) => {
    const { id } = await findDead(context, request)
    await engine
      .dismiss({ id, actor: actorOf(request.caller) })
      .catch((error: unknown) => Promise.reject(jobProblem(error, id, 'discarded')))
    reply.code(204)
  })

  app.post('/ojs/v1/admin/dead-letter/retry', (request, reply) => {
    const { filter } = confirmed(request, ['discarded'], ['discarded'])
    const actor = actorOf(request.caller)
    return many(reply, {
      action: 'retry',
      filter: dead(filter),
      act: (run) => engine.redrive({ runId: run.id, actor }),
    })
  })

  app.delete('/ojs/v1/admin/dead-letter', async (request, reply) => {
    const body = bodyObject(request, { empty: 'allowed' })
    const { filter } = confirmed(request, ['discarded'], ['discarded'])
    const actor = actorOf(request.caller)
    const before = readTime(body['older_than'], 'older_than')
    const wire = await many(reply, {
      action: 'purge',
      filter: dead(before === null ? filter : { ...filter, createdBefore: before }),
      act: (run) => engine.dismiss({ id: run.id, actor }),
    })
    return { ...wire, purged_count: (wire as { readonly succeeded: number }).succeeded }
  })
}

export function tenantJobRoute(app: FastifyInstance, context: OjsContext): void {
  app.get<ById>('/ojs/v1/admin/tenants/:id/jobs', async (request) => {
    const query = request.query as Query
    onlyKnown(query, [...JOB_FILTERS, ...PAGE_PARAMS])
    const { id: tenant } = request.params
    await context.operations.perform(request.caller, countTenant, { tenant })
    return list(context, request, readJobFilter(query, { tenant }).filter)
  })
}

function filterOf(request: FastifyRequest): ReturnType<typeof readJobFilter> {
  const query = request.query as Query
  onlyKnown(query, [...JOB_FILTERS, 'sort', 'order', ...PAGE_PARAMS])
  const { filter, states } = readJobFilter(query, { tenant: request.caller.tenant })
  return { filter: { ...filter, sort: readSort(query) }, states }
}

const SORTS = { created_at: 'created', scheduled_at: 'due', priority: 'priority' } as const

/** null: as it is stored, the newest first. */
function readSort(query: Query): RunSort | null {
  const sort = String(query['sort'] ?? 'created_at')
  const order = String(query['order'] ?? 'desc')
  const by = Object.hasOwn(SORTS, sort) ? SORTS[sort as keyof typeof SORTS] : null
  if (by === null || (order !== 'asc' && order !== 'desc')) {
    throw new RequestError('invalid_request', 'jobs are sorted by created_at, scheduled_at or priority, asc or desc', {
      details: { parameter: by === null ? 'sort' : 'order' },
    })
  }
  if (by === 'created' && order === 'desc') return null
  if (query['cursor'] !== undefined) {
    throw new RequestError('invalid_request', 'a sorted list has pages, and no cursor', {
      details: { parameter: 'cursor' },
    })
  }
  // Stored, a smaller number is more urgent.
  return { by, descending: (order === 'desc') !== (by === 'priority'), among: MAX_COUNTED }
}

type States = NonNullable<Parameters<typeof readJobFilter>[1]['states']>

/** What changes many jobs must be meant: `confirm: true`. The filter is under `filter` or beside it. */
function confirmed(
  request: FastifyRequest,
  allowed: States,
  fallback: States,
  given?: Body,
): ReturnType<typeof readJobFilter> {
  const body = given ?? bodyObject(request, { empty: 'allowed' })
  if (body['confirm'] !== true) {
    throw new RequestError('invalid_request', 'this changes many jobs and needs "confirm": true', {
      details: { field: 'confirm' },
      hint: 'Look first with GET /ojs/v1/admin/jobs and the same filter.',
    })
  }
  const filter = (body['filter'] ?? body) as Body
  if (filter === null || typeof filter !== 'object' || Array.isArray(filter)) {
    throw new RequestError('invalid_request', 'filter is an object', { details: { field: 'filter' } })
  }
  const { states, ...read } = readJobFilter(filter, { tenant: request.caller.tenant, states: allowed })
  const named = filter['state'] !== undefined || filter['states'] !== undefined
  if (named) return { states, ...read }
  return readJobFilter({ ...filter, states: fallback }, { tenant: request.caller.tenant, states: allowed })
}

function sees(request: FastifyRequest, operation: Operation): boolean {
  return request.caller.tenant === null || request.caller.tenant === operation.tenant
}

async function list({ engine }: OjsContext, request: FastifyRequest, filter: JobFilter): Promise<object> {
  const { jobs, total, pagination } = await jobPage(engine, request.query as Query, filter)
  const many = total >= MAX_COUNTED ? { total_is_at_least: true } : {}
  return { items: jobs, jobs, pagination: { ...pagination, ...many } }
}

async function detail({ engine }: OjsContext, request: FastifyRequest<ById>): Promise<JobWire> {
  const [run, now] = await Promise.all([findRun(engine, request.params.id, request.caller), engine.queries.now()])
  const [job] = await jobReplies(engine, [run], { now, results: true, saved: true })
  const { errors = [], retry } = job as JobWire
  return { ...(job as JobWire), errors, ...(retry === undefined ? {} : { retry_policy: retry }) }
}

async function again({ engine }: OjsContext, { id }: RunRow, actor: string | null): Promise<object> {
  const run = await engine
    .redrive({ runId: id, actor })
    .catch((error: unknown) => Promise.reject(jobProblem(error, id, 'discarded')))
  const [found] = await jobReplies(engine, [run], { now: run.runAt, results: false })
  const job = { ...found, re_enqueued_at: timeText(run.runAt) }
  return { ...job, job }
}

async function cancel({ engine }: OjsContext, request: FastifyRequest<ById>): Promise<object> {
  const { id } = await findRun(engine, request.params.id, request.caller)
  const run = await engine
    .cancelRun({ id, actor: actorOf(request.caller) })
    .catch((error: unknown) => Promise.reject(jobProblem(error, id, 'not ended')))
  const [found] = await jobReplies(engine, [run], { now: run.finishedAt ?? run.runAt, results: false })
  const job = { ...found, previous_state: stateBeforeCancel(run) }
  return { ...job, job }
}

async function findDead({ engine }: OjsContext, request: FastifyRequest<ById>): Promise<RunRow> {
  const { id } = request.params
  const run = await findRun(engine, id, request.caller).catch(() => null)
  if (run?.deadLetter === true) return run
  throw notFound('dead_letter_job', id, 'GET /ojs/v1/admin/dead-letter lists those there are.')
}

/** With more of them than can be read in one go, only the number is told. */
async function deadLetterStats({ engine }: OjsContext, request: FastifyRequest): Promise<object> {
  const { queries } = engine
  const query = {
    status: null,
    queue: null,
    type: null,
    deadLetter: true,
    tenant: request.caller.tenant,
    limit: MOST_SORTED,
    before: null,
    maxBytes: PAGE_BYTES,
  }
  const total = await queries.countListedRuns(query, MAX_COUNTED)
  if (total >= MAX_COUNTED) return { total, total_is_at_least: true }
  if (total > MOST_SORTED) return { total }
  const runs = await queries.listRuns(query)
  const times = runs.flatMap((run) => run.finishedAt ?? [])
  return {
    total: runs.length,
    by_queue: countBy(runs, (run) => run.queue),
    by_job_type: countBy(runs, (run) => run.type),
    by_error_type: countBy(runs, errorType),
    ...(times.length === 0 ? {} : { oldest_at: timeText(Math.min(...times)), newest_at: timeText(Math.max(...times)) }),
  }
}

function errorType(run: RunRow): string {
  if (run.error === null) return 'unknown'
  const { type, code } = JSON.parse(run.error) as Failure
  return type ?? code ?? 'unknown'
}

function countBy(runs: readonly RunRow[], wordOf: (run: RunRow) => string): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const run of runs) counts.set(wordOf(run), (counts.get(wordOf(run)) ?? 0) + 1)
  return Object.fromEntries(counts)
}
