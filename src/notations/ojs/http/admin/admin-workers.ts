/** Workers as operators see them: /ojs/v1/admin/workers, and GET /ojs/v1/workers/:id/health. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { onlyKnown, type Query } from '../../../../http/query.ts'
import { notFound } from '../../../../http/request-error.ts'
import { unscopedName } from '../../../../kernel/scoped-names.ts'
import type { RunRow, WorkerRow } from '../../../../model/rows.ts'
import { actorOf, holderOf } from '../../../../operations/caller.ts'
import { timeText } from '../../project/time.ts'
import type { OjsContext } from '../context.ts'
import { jobReplies, maySee } from '../jobs/job-reply.ts'
import { PAGE_PARAMS, pageWire, readPage } from '../paging.ts'

const ADMIN = { config: { access: { scope: 'admin' as const } } }

type ById = { Params: { readonly id: string } }

/** With more jobs active than this, how many each worker has is not told in the list. */
const MOST_COUNTED = 2_000

export const STATES = { running: 'running', quiet: 'quiet', terminate: 'terminate', dead: 'stale' } as const
const HEALTH = { running: 'running', quiet: 'draining', terminate: 'shutting_down', dead: 'dead' } as const

export function adminWorkerRoutes(app: FastifyInstance, context: OjsContext): void {
  const { engine } = context

  app.get('/ojs/v1/admin/workers', async (request) => {
    const query = request.query as Query
    onlyKnown(query, PAGE_PARAMS)
    const page = readPage(query)
    const { after } = page
    const [all, active] = await Promise.all([visible(context, request), activeRuns(context)])
    const rest = (after === null ? all : all.filter(({ id }) => id > after)).slice(page.offset)
    const shown = rest.slice(0, page.limit)
    const count = (state: WorkerRow['state']): number => all.filter((row) => row.state === state).length
    return {
      items: shown.map((row) => workerWire(row, active === null ? null : heldBy(row, active).length)),
      summary: {
        total: all.length,
        running: count('running'),
        quiet: count('quiet'),
        terminating: count('terminate'),
        stale: count('dead'),
      },
      pagination: pageWire({
        page,
        total: all.length,
        hasMore: rest.length > shown.length,
        last: shown.at(-1)?.id ?? null,
      }),
    }
  })

  app.get<ById>('/ojs/v1/admin/workers/:id', async (request) => {
    const row = await find(context, request)
    const [active, now] = await Promise.all([activeRuns(context), engine.queries.now()])
    const runs = active === null ? null : heldBy(row, active)
    return {
      ...workerWire(row, runs?.length ?? null),
      ...(runs === null ? {} : { jobs: await jobReplies(engine, runs.slice(0, 200), { now, results: false }) }),
    }
  })

  const directing = (verb: 'quiet' | 'terminate'): void => {
    app.post<ById>(`/ojs/v1/admin/workers/:id/${verb}`, async (request) => {
      const { id } = await find(context, request)
      const row = await engine.directWorker({ id, state: verb, actor: actorOf(request.caller) })
      return workerWire(row, null)
    })
  }
  directing('quiet')
  directing('terminate')

  /** One that holds leases of its own is over at once, and they with it; one of a Petrel process ends what it has. */
  app.delete<ById>('/ojs/v1/admin/workers/:id', ADMIN, async (request, reply) => {
    const row = await find(context, request)
    if (row.state !== 'dead') {
      await engine.directWorker({ id: row.id, state: 'terminate', actor: actorOf(request.caller), now: true })
    }
    reply.code(204)
  })

  app.get<ById>('/ojs/v1/workers/:id/health', async (request, reply) => {
    const row = await find(context, request)
    reply.code(row.state === 'dead' ? 503 : 200)
    return {
      worker_id: unscopedName(row.id),
      state: HEALTH[row.state],
      last_heartbeat_at: timeText(row.heartbeatAt),
      expires_at: timeText(row.expiresAt),
    }
  })
}

async function visible({ engine }: OjsContext, request: FastifyRequest): Promise<readonly WorkerRow[]> {
  const rows = await engine.queries.workers()
  return rows.filter((row) => maySee(request.caller, row)).sort((a, b) => (a.id < b.id ? -1 : 1))
}

async function find(context: OjsContext, request: FastifyRequest<ById>): Promise<WorkerRow> {
  const { id } = request.params
  const { tenant } = request.caller
  const stored = tenant === null ? id : holderOf(request.caller, id)
  const row = (await visible(context, request)).find((worker) => worker.id === stored || worker.id === id)
  if (row !== undefined) return row
  throw notFound('worker', id, 'Workers over HTTP are known from their first heartbeat on.')
}

/** null: too many to read. */
export async function activeRuns({ engine }: OjsContext): Promise<readonly RunRow[] | null> {
  const filter = { status: ['leased'] as const, queue: null, type: null, deadLetter: null, tenant: null, before: null }
  const runs = await engine.queries.listRuns({ ...filter, limit: MOST_COUNTED + 1, maxBytes: 0 })
  return runs.length > MOST_COUNTED ? null : runs
}

export function heldBy(worker: WorkerRow, runs: readonly RunRow[]): readonly RunRow[] {
  return runs.filter((run) =>
    worker.holds === 'session' ? run.sessionId === worker.id : run.sessionId === null && run.leasedBy === worker.id,
  )
}

function workerWire(row: WorkerRow, activeJobs: number | null): object {
  return {
    id: row.id,
    name: unscopedName(row.name),
    hostname: row.host,
    pid: row.pid,
    runtime: row.runtime,
    state: STATES[row.state],
    queues: row.queues,
    concurrency: row.concurrency,
    ...(activeJobs === null ? {} : { active_jobs: activeJobs }),
    started_at: timeText(row.startedAt),
    last_heartbeat_at: timeText(row.heartbeatAt),
    ...(row.tenant === null ? {} : { tenant: row.tenant }),
  }
}
